// Any bytes as a request, for hours: what the seeded test beside it does not reach. Needs clang:
//   CC=clang CXX=clang++ cmake --preset debug -B build/fuzz
//   cmake --build build/fuzz --target api_fuzzer api_fuzzer_corpus
//   build/fuzz/tests/fuzz/api_fuzzer build/fuzz/tests/fuzz/corpus -max_len=20000 -max_total_time=3600

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace {

/// Aborts, so that libFuzzer keeps the input.
void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckReport(const std::string& text) {
  const auto report = nlohmann::json::parse(text, nullptr, false);
  Require(report.is_object() && text.find('\n') == std::string::npos);
  const auto& status = report["status"];
  Require(status == "ok" || status == "invalid");
  Require(status == "ok" || !report["issues"].empty());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  tunefit::Init(tunefit::test::ReadFile(TUNEFIT_CATALOG));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CheckReport(tunefit::Estimate({reinterpret_cast<const char*>(data), size}));
  return 0;
}
