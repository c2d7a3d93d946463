#include "tests/validation/time_bars.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace tunefit::validation {
namespace {

constexpr double kMedian = 0.12;
constexpr double kP90 = 0.35;
constexpr double kInside = 0.9;
constexpr double kHalfWidth = 0.25;
constexpr double kBias = 0.1;

using Groups = std::map<std::string, std::vector<Sample>>;

/// Of the group that is off by most.
double WorstBias(const Groups& groups) {
  double worst = 0;
  for (const auto& [name, samples] : groups) worst = std::max(worst, std::abs(Summarize(samples).bias));
  return worst;
}

}  // namespace

std::vector<Bar> CheckTimeBars(const std::vector<TimedRow>& rows, const Efficiencies& efficiencies) {
  std::vector<Sample> samples;
  Groups by_generation, by_method;
  for (const TimedRow& row : rows) {
    samples.push_back(Compare(row, efficiencies));
    by_generation[row.card->architecture].push_back(samples.back());
    by_method[row.method].push_back(samples.back());
  }
  const Summary summary = Summarize(samples);
  return {{"time median", summary.median, kMedian},
          {"time p90", summary.p90, kP90},
          {"time inside", summary.inside, kInside, true},
          {"time half-width", summary.half_width, kHalfWidth},
          {"time bias by generation", WorstBias(by_generation), kBias},
          {"time bias by method", WorstBias(by_method), kBias}};
}

}  // namespace tunefit::validation
