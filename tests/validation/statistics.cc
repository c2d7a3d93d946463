#include "tests/validation/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tunefit::validation {
namespace {

/// The smallest value that at least `share` of the values do not exceed.
double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

double Errors::Bias() const { return Quantile(errors_, 0.5); }

double Errors::Absolute(double share) const {
  std::vector<double> magnitudes;
  magnitudes.reserve(errors_.size());
  for (const double error : errors_) magnitudes.push_back(std::abs(error));
  return Quantile(std::move(magnitudes), share);
}

std::string Percent(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f %%", 100 * value);
  return text;
}

}  // namespace tunefit::validation
