// Whole training steps of small models, one of each class, that PyTorch executed on fake tensors with transformers'
// own code (tests/oracle/oracle.py), phase by phase.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "core/codec/catalog.h"
#include "core/codec/request.h"
#include "core/memory/estimate.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

double PhaseOf(const Phases& phases, const std::string& name) {
  if (name == "static") return phases.static_bytes;
  if (name == "between_steps") return phases.between_steps;
  if (name == "after_forward") return phases.after_forward;
  if (name == "peak_forward") return phases.peak_forward;
  if (name == "after_backward") return phases.after_backward;
  if (name == "peak_backward") return phases.peak_backward;
  if (name == "peak_optimizer") return phases.peak_optimizer;
  return phases.peak_step;
}

/// Phases that only count weights, gradients and states: equal whatever kernels the mixers run.
bool CountsOnly(const std::string& phase) {
  return phase == "static" || phase == "between_steps" || phase == "after_backward" || phase == "peak_optimizer";
}

TEST(Architectures, EveryPhaseIsPyTorchs) {
  Issues issues;
  const Catalog catalog = ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues);
  int compared = 0;
  for (const std::string& line : test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/architectures.jsonl")) {
    const Json row = Json::parse(line, nullptr, false);
    ASSERT_TRUE(row.is_object()) << line;
    const std::string id = row["id"].get<std::string>();
    const RequestReading reading = ReadRequest(row["request"].dump(), catalog);
    ASSERT_FALSE(HasError(reading.issues)) << id << ": " << reading.issues[0].message;
    const MemoryEstimate estimate = EstimateMemory(reading.workload, reading.gpu, catalog.overheads, Detail::kSummary);
    const bool fallback = row.value("torch_fallback", false);
    const double tolerance = row["tolerance"].get<double>();
    for (const auto& [phase, bytes] : row["measured"]["phases"].items()) {
      if (fallback && !CountsOnly(phase)) continue;
      const double measured = bytes.get<double>();
      const double error = PhaseOf(estimate.phases, phase) / measured - 1;
      EXPECT_LE(std::fabs(error), tolerance) << id << " " << phase << ": " << 100 * error << " %";
      ++compared;
    }
  }
  EXPECT_GT(compared, 80);
}

}  // namespace
}  // namespace tunefit
