#include "tests/validation/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace tunefit::validation {
namespace {

struct Weighted {
  double value;
  double weight;
};

/// The smallest value that at least `share` of the weight does not exceed.
double Quantile(std::vector<Weighted> values, double share) {
  if (values.empty()) return 0;
  std::stable_sort(values.begin(), values.end(),
                   [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& each : values) total += each.weight;
  double below = 0;
  for (const Weighted& each : values) {
    below += each.weight;
    if (below >= share * total * (1 - 1e-12)) return each.value;
  }
  return values.back().value;
}

/// `read` of every sample, with the sample's weight or one each.
template <typename Read>
double QuantileOf(const std::vector<Sample>& samples, const std::vector<double>& weights, double share, Read read) {
  std::vector<Weighted> values;
  values.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) values.push_back({read(samples[i]), weights[i]});
  return Quantile(std::move(values), share);
}

double Magnitude(const Sample& sample) { return std::abs(sample.error); }
double HalfWidth(const Sample& sample) { return sample.half_width; }

double ShareInside(const std::vector<Sample>& samples, const std::vector<double>& weights) {
  double inside = 0;
  double total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    inside += samples[i].inside ? weights[i] : 0;
    total += weights[i];
  }
  return total > 0 ? inside / total : 0;
}

}  // namespace

Summary Summarize(const std::vector<Sample>& samples) {
  std::map<std::string, int> rows_of;
  for (const Sample& sample : samples) ++rows_of[sample.source];
  const std::vector<double> one(samples.size(), 1);
  std::vector<double> by_source;
  by_source.reserve(samples.size());
  for (const Sample& sample : samples) by_source.push_back(1.0 / rows_of[sample.source]);

  Summary summary;
  summary.rows = static_cast<int>(samples.size());
  summary.sources = static_cast<int>(rows_of.size());
  summary.bias = QuantileOf(samples, one, 0.5, [](const Sample& sample) { return sample.error; });
  summary.median = QuantileOf(samples, one, 0.5, Magnitude);
  summary.p90 = QuantileOf(samples, one, 0.9, Magnitude);
  summary.p95 = QuantileOf(samples, one, 0.95, Magnitude);
  summary.worst = QuantileOf(samples, one, 1, Magnitude);
  summary.inside = ShareInside(samples, one);
  summary.half_width = QuantileOf(samples, one, 0.5, HalfWidth);
  summary.median_by_source = QuantileOf(samples, by_source, 0.5, Magnitude);
  summary.p90_by_source = QuantileOf(samples, by_source, 0.9, Magnitude);
  summary.inside_by_source = ShareInside(samples, by_source);
  summary.half_width_by_source = QuantileOf(samples, by_source, 0.5, HalfWidth);
  return summary;
}

Sample Compare(const Row& row, const Range& range) {
  Sample sample;
  sample.error = range.expected / row.measured_bytes - 1;
  sample.half_width = range.expected > 0 ? (range.high - range.low) / 2 / range.expected : 0;
  sample.inside = range.low <= row.measured_bytes && row.measured_bytes <= range.high;
  sample.source = row.source.key;
  return sample;
}

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f %%", 100 * share);
  return text;
}

}  // namespace tunefit::validation
