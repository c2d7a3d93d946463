// Any bytes as a request, after a C as a catalog, or after an M as a market, for hours: what the seeded test beside it
// does not reach.
//   CC=clang CXX=clang++ cmake --preset debug -B build/fuzz
//   cmake --build build/fuzz --target api_fuzzer api_fuzzer_corpus
//   cd build/fuzz/tests/fuzz
//   ./api_fuzzer corpus -dict=../../../../tests/fuzz/request.dict -max_len=20000 -max_total_time=3600

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/codec/api.h"
#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "tests/support/files.h"

namespace {

using Json = nlohmann::json;

/// Aborts, so that libFuzzer keeps the input.
void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckTerms(const Json& per_gpu) {
  double sum = 0;
  for (const Json& term : per_gpu["terms"]) sum += term["bytes"].get<double>();
  const double peak = per_gpu["phases"]["peak_step"].get<double>();
  Require(sum == peak || peak > 9e15);  // beyond that a double does not hold every whole number
}

/// A report on one line whose terms sum to the peak and whose completed request gives the same memory again.
void CheckReport(const std::string& text) {
  const Json report = Json::parse(text, nullptr, false);
  Require(report.is_object() && text.find('\n') == std::string::npos);
  if (report["status"] != "ok") {
    Require(report["status"] == "invalid" && !report["issues"].empty());
    return;
  }
  if (report["memory"]["per_gpu"].contains("terms")) CheckTerms(report["memory"]["per_gpu"]);
  const Json again = Json::parse(tunefit::Estimate(report["request"].dump()), nullptr, false);
  Require(again["status"] == "ok" && again["memory"] == report["memory"] && again["request"] == report["request"]);
}

const tunefit::Catalog& TheCatalog() {
  static tunefit::Issues issues;
  static const tunefit::Catalog catalog = tunefit::ReadCatalog(tunefit::test::ReadFile(TUNEFIT_CATALOG), issues);
  return catalog;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  tunefit::Init(tunefit::test::ReadFile(TUNEFIT_CATALOG));
  tunefit::InitMarket(tunefit::test::ReadFile(TUNEFIT_MARKET));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tunefit::Issues issues;
  if (text.substr(0, 1) == "C") {
    tunefit::ReadCatalog(text.substr(1), issues);
  } else if (text.substr(0, 1) == "M") {
    tunefit::ReadMarket(text.substr(1), TheCatalog(), issues);
  } else {
    CheckReport(tunefit::Estimate(text));
  }
  return 0;
}
