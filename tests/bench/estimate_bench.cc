// What a keystroke costs, request text to report text, natively. tests/bench/estimate_bench.mjs measures the same
// requests through the module.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/codec/api.h"
#include "core/codec/catalog.h"
#include "core/codec/request.h"
#include "core/memory/estimate.h"
#include "core/time/run.h"
#include "tests/support/bad_input.h"
#include "tests/support/files.h"

namespace {

void InitCatalog(benchmark::State& state) {
  const std::string catalog = tunefit::test::ReadFile(TUNEFIT_CATALOG);
  for (auto _ : state) benchmark::DoNotOptimize(tunefit::Init(catalog));
}
BENCHMARK(InitCatalog)->Unit(benchmark::kMillisecond);

void InitMarket(benchmark::State& state) {
  const std::string market = tunefit::test::ReadFile(TUNEFIT_MARKET);
  for (auto _ : state) benchmark::DoNotOptimize(tunefit::InitMarket(market));
}
BENCHMARK(InitMarket)->Unit(benchmark::kMillisecond);

void EstimateText(benchmark::State& state, const std::string& request) {
  for (auto _ : state) benchmark::DoNotOptimize(tunefit::Estimate(request));
}

/// The same without text: a typed workload to a typed estimate.
void EstimateTyped(benchmark::State& state, const std::string& request, tunefit::Detail detail) {
  tunefit::Issues issues;
  const tunefit::Catalog catalog = tunefit::ReadCatalog(tunefit::test::ReadFile(TUNEFIT_CATALOG), issues);
  const tunefit::RequestReading reading = tunefit::ReadRequest(request, catalog);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tunefit::EstimateMemory(reading.workload, reading.gpu, catalog.overheads, detail));
  }
}

/// And to its time, traced once for both.
void EstimateTypedTime(benchmark::State& state, const std::string& request) {
  tunefit::Issues issues;
  const tunefit::Catalog catalog = tunefit::ReadCatalog(tunefit::test::ReadFile(TUNEFIT_CATALOG), issues);
  const tunefit::RequestReading reading = tunefit::ReadRequest(request, catalog);
  for (auto _ : state) {
    const std::vector<tunefit::TracedRank> job = tunefit::TraceJob(reading.workload);
    benchmark::DoNotOptimize(
        tunefit::EstimateMemory(reading.workload, job, reading.gpu, catalog.overheads, tunefit::Detail::kSummary));
    benchmark::DoNotOptimize(tunefit::EstimateTime(reading.workload, job, *reading.gpu, reading.wiring,
                                                   catalog.efficiencies, reading.dataset));
  }
}

/// Every text of tests/golden/bad_input.jsonl to its report; the counter is the slowest of them.
void BadInput(benchmark::State& state) {
  tunefit::InitMarket(tunefit::test::ReadFile(TUNEFIT_MARKET));  // they name a server
  const auto inputs = tunefit::test::ReadBadInputs(TUNEFIT_SOURCE_DIR "/tests/golden/bad_input.jsonl");
  double slowest_seconds = 0;
  for (auto _ : state) {
    slowest_seconds = 0;
    for (const tunefit::test::BadInput& input : inputs) {
      const auto start = std::chrono::steady_clock::now();
      benchmark::DoNotOptimize(tunefit::Estimate(input.text));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      if (took.count() > slowest_seconds) {
        slowest_seconds = took.count();
        state.SetLabel(input.name);
      }
    }
  }
  state.counters["slowest_us"] = 1e6 * slowest_seconds;
  state.counters["mean_us"] =
      benchmark::Counter(1e-6 * static_cast<double>(inputs.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BadInput)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string status = tunefit::Init(tunefit::test::ReadFile(TUNEFIT_CATALOG));
  if (status != R"({"status":"ok","issues":[]})") {
    std::cerr << "the catalog cannot be read: " << status << '\n';
    return EXIT_FAILURE;
  }
  tunefit::InitMarket(tunefit::test::ReadFile(TUNEFIT_MARKET));
  const auto requests = tunefit::test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/bench/requests.jsonl");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    benchmark::RegisterBenchmark(("EstimateTyped/summary/" + std::to_string(i)).c_str(), EstimateTyped, requests[i],
                                 tunefit::Detail::kSummary)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("EstimateTyped/full/" + std::to_string(i)).c_str(), EstimateTyped, requests[i],
                                 tunefit::Detail::kFull)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("EstimateTypedTime/" + std::to_string(i)).c_str(), EstimateTypedTime, requests[i])
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("EstimateText/" + std::to_string(i)).c_str(), EstimateText, requests[i])
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks();
}
