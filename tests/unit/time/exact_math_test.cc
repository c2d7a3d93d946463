#include "core/time/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>

// The references are the C library's, right to about a unit in the last place.

namespace tunefit {
namespace {

constexpr double kNear = 4e-15;

TEST(DecayedShare, IsThatOfTheExponential) {
  EXPECT_EQ(DecayedShare(0), 0);
  for (double x = 1e-12; x < 60; x *= 1.07) {
    const double expected = -std::expm1(-x);
    EXPECT_NEAR(DecayedShare(x), expected, kNear * expected) << x;
  }
  EXPECT_EQ(DecayedShare(1e300), 1);
}

TEST(NaturalLog, IsThatOfTheLibrary) {
  EXPECT_EQ(NaturalLog(1), 0);
  for (double x = 1e-300; x < 1e300; x *= 3.7) {
    const double expected = std::log(x);
    EXPECT_NEAR(NaturalLog(x), expected, kNear * std::abs(expected)) << x;
  }
}

}  // namespace
}  // namespace tunefit
