#include "tests/validation/time_bars.h"

#include <algorithm>
#include <cmath>

namespace tunefit::validation {
namespace {

constexpr double kMedian = 0.12;
constexpr double kP90 = 0.35;
constexpr double kInside = 0.9;
constexpr double kHalfWidth = 0.25;
constexpr double kBias = 0.1;

/// Of the group that is off by most.
double WorstBias(const Summaries& groups) {
  double worst = 0;
  for (const auto& [name, summary] : groups) worst = std::max(worst, std::abs(summary.bias));
  return worst;
}

}  // namespace

std::vector<Bar> CheckTimeBars(const TimeFindings& findings) {
  const Summary& summary = findings.all;
  return {{"time median", summary.median, kMedian},
          {"time p90", summary.p90, kP90},
          {"time inside", summary.inside, kInside, true},
          {"time half-width", summary.half_width, kHalfWidth},
          {"time bias by generation", WorstBias(findings.by.at("generation")), kBias},
          {"time bias by method", WorstBias(findings.by.at("method")), kBias}};
}

}  // namespace tunefit::validation
