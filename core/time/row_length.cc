#include "core/time/row_length.h"

#include <algorithm>

#include "core/time/exact_math.h"

namespace tunefit {
namespace {

/// Terms beyond these are taken as those of the harmonic series, whose sum is a logarithm.
constexpr std::int64_t kSummedRows = 512;

/// Mean of lengths cut at the limit, as a share of it, where the limit is `ratio` times the mean of uncut ones.
double CutMean(double ratio) { return DecayedShare(ratio) / ratio; }

/// The ratio whose CutMean is `share`, by halving: CutMean falls from 1, and is below 1 / ratio.
double RatioOf(double share) {
  double low = 0;
  double high = 1 / share;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (CutMean(middle) > share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

double LongestOf(std::int64_t rows, double mean, double limit) {
  if (mean >= limit || rows <= 1) return std::min(mean, limit);
  const double ratio = RatioOf(mean / limit);
  const double within = DecayedShare(ratio);  // of uncut lengths, the share below the limit
  // The integral of 1 - (1 - exp(-x / m))^rows from 0 to the limit, with 1 - exp(-x / m) as variable: a sum of powers.
  double sum = 0;
  double power = 1;
  for (std::int64_t row = 1; row <= std::min(rows, kSummedRows); ++row) {
    power *= within;
    sum += power / static_cast<double>(row);
  }
  if (rows > kSummedRows) sum += NaturalLog(static_cast<double>(rows) / static_cast<double>(kSummedRows));
  return std::min(limit, limit / ratio * sum);
}

}  // namespace tunefit
