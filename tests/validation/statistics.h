#pragma once

#include <string>
#include <vector>

#include "tests/validation/rows.h"

namespace tunefit::validation {

/// One comparison: how far the estimate is off, and its range. Shares, not percents.
struct Sample {
  double error = 0;       ///< estimate / measured - 1
  double half_width = 0;  ///< of the range, over its expected value; 0 for a point
  bool inside = false;    ///< the measurement lies in the range
  std::string source;
};

/// What a group of comparisons comes to. "By source" counts every source once: its rows share one vote.
struct Summary {
  int rows = 0;
  int sources = 0;
  double bias = 0;  ///< median of the signed errors
  double median = 0, p90 = 0, p95 = 0, worst = 0;
  double inside = 0;
  double half_width = 0;  ///< median
  double median_by_source = 0, p90_by_source = 0, inside_by_source = 0, half_width_by_source = 0;
};

Summary Summarize(const std::vector<Sample>& samples);

/// The row against its statistic's range. The row must be modelled and have one.
Sample Compare(const Row& row, const Range& range);

/// "0.012 %"
std::string Percent(double share);

}  // namespace tunefit::validation
