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

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 1;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1];
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Of the group that is off by most, how far its middle is.
double WorstBias(const std::map<std::string, std::vector<double>>& groups) {
  double worst = 0;
  for (const auto& [name, ratios] : groups) worst = std::max(worst, std::abs(Median(ratios) - 1));
  return worst;
}

}  // namespace

std::vector<Bar> CheckTimeBars(const std::vector<TimedRow>& rows, const Efficiencies& efficiencies) {
  std::vector<double> errors, widths;
  std::map<std::string, std::vector<double>> by_generation, by_method;
  double inside = 0;
  for (const TimedRow& row : rows) {
    const StepTime time = TimeOf(row, efficiencies);
    const Range range = RangeOf(time, efficiencies);
    const double ratio = time.seconds / row.seconds;
    errors.push_back(std::abs(ratio - 1));
    widths.push_back((range.high - range.low) / 2 / range.expected);
    by_generation[row.card->architecture].push_back(ratio);
    by_method[row.method].push_back(ratio);
    if (row.seconds >= range.low && row.seconds <= range.high) inside += 1;
  }
  return {{"time median", Quantile(errors, 0.5), kMedian},
          {"time p90", Quantile(errors, 0.9), kP90},
          {"time inside", inside / static_cast<double>(std::max<std::size_t>(rows.size(), 1)), kInside, true},
          {"time half-width", Quantile(widths, 0.5), kHalfWidth},
          {"time bias by generation", WorstBias(by_generation), kBias},
          {"time bias by method", WorstBias(by_method), kBias}};
}

}  // namespace tunefit::validation
