#include "core/time/exact_math.h"

#include <cmath>

namespace tunefit {

double DecayedShare(double x) {
  constexpr double kAllGone = 40;  // exp(-40) is less than a bit of 1
  if (x > kAllGone) return 1;
  int halvings = 0;
  for (; x > 0.5; x *= 0.5) ++halvings;
  double share = 0;
  for (int n = 16; n >= 1; --n) share = (1 - share) * x / n;
  for (int i = 0; i < halvings; ++i) share *= 2 - share;  // 1 - (1 - y)^2
  return share;
}

double NaturalLog(double x) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kRootOfHalf = 0.70710678118654752440;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // from 1/2 to 1
  if (mantissa < kRootOfHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int n = 23; n >= 1; n -= 2) sum = 1.0 / n + s * s * sum;
  return exponent * kLn2 + 2 * s * sum;
}

}  // namespace tunefit
