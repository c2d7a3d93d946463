// What a keystroke costs, request text to report text, natively. tests/bench/estimate_bench.mjs measures the same
// requests through the module.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace {

void InitCatalog(benchmark::State& state) {
  const std::string catalog = tunefit::test::ReadFile(TUNEFIT_CATALOG);
  for (auto _ : state) benchmark::DoNotOptimize(tunefit::Init(catalog));
}
BENCHMARK(InitCatalog)->Unit(benchmark::kMillisecond);

void EstimateText(benchmark::State& state, const std::string& request) {
  for (auto _ : state) benchmark::DoNotOptimize(tunefit::Estimate(request));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  tunefit::Init(tunefit::test::ReadFile(TUNEFIT_CATALOG));
  const auto requests = tunefit::test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/bench/requests.jsonl");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    benchmark::RegisterBenchmark(("EstimateText/" + std::to_string(i)).c_str(), EstimateText, requests[i])
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
