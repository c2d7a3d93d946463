#include "core/cost/break_even.h"

#include <gtest/gtest.h>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

TEST(BreakEvenHours, IsWhereThePriceIsSaved) {
  EXPECT_DOUBLE_EQ(*BreakEvenHours(1000, 3, 1), 500);
  EXPECT_FALSE(BreakEvenHours(1000, 1, 1));
  EXPECT_FALSE(BreakEvenHours(1000, 0, 1));
}

class BreakEvenOfTest : public testing::Test {
 protected:
  BreakEvenOfTest() {
    rent_.price_per_hour = 5;
    bought_.purchase.price = {8000, 10000, 12000};
    bought_.per_hour.electricity = {0.5, 1, 2};
    bought_.lifetime_years = {4, 5, 6};
    bought_.utilisation = 0.5;
  }

  RentedLine rent_;
  BoughtCost bought_;
};

TEST_F(BreakEvenOfTest, HasABand) {
  const BreakEven even = BreakEvenOf(rent_, bought_);
  EXPECT_EQ(even.state, BreakEvenState::kReached);
  EXPECT_DOUBLE_EQ(*even.low_hours, 8000 / 4.5);
  EXPECT_DOUBLE_EQ(*even.hours, 2500);
  EXPECT_DOUBLE_EQ(*even.high_hours, 4000);
  EXPECT_DOUBLE_EQ(*even.cost, 12500);            // 2,500 hours at 5, or 10,000 and 2,500 hours at 1
  EXPECT_DOUBLE_EQ(*even.months, 2500 / 365.25);  // 730.5 hours a month, half of them used
  EXPECT_DOUBLE_EQ(even.lifetime_hours, 5 * 8766 * 0.5);
  ASSERT_EQ(even.points.size(), 24U);
  EXPECT_EQ(even.points.front().hours, 0);
  EXPECT_EQ(even.points.front().rented, 0);
  EXPECT_EQ(even.points.front().bought.expected, 10000);
  EXPECT_DOUBLE_EQ(even.points.back().hours, 5000);
  EXPECT_DOUBLE_EQ(even.points.back().rented, 25000);
  EXPECT_DOUBLE_EQ(even.points.back().bought.expected, 15000);
}

TEST_F(BreakEvenOfTest, BothCurvesMeetToACent) {
  const BreakEven even = BreakEvenOf(rent_, bought_);
  const BreakEvenPoint meeting =
      BreakEvenAt(*even.hours, rent_.price_per_hour, bought_.purchase.price, bought_.per_hour.running());
  EXPECT_NEAR(meeting.rented, meeting.bought.expected, 0.005);
}

TEST_F(BreakEvenOfTest, NeverIsAState) {
  bought_.per_hour.rack = {4.2, 4.2, 4.2};
  const BreakEven even = BreakEvenOf(rent_, bought_);
  EXPECT_EQ(even.state, BreakEvenState::kNever);
  EXPECT_TRUE(even.low_hours) << "at the lowest costs it is reached all the same";
  EXPECT_FALSE(even.hours);
  EXPECT_FALSE(even.high_hours);
  EXPECT_FALSE(even.months);
  EXPECT_FALSE(even.cost);
  EXPECT_EQ(BreakEvenStateName(even.state), "never");
  EXPECT_DOUBLE_EQ(even.points.back().hours, even.lifetime_hours);
}

TEST_F(BreakEvenOfTest, MayComeTooLate) {
  bought_.utilisation = 0.01;
  const BreakEven even = BreakEvenOf(rent_, bought_);
  EXPECT_EQ(even.state, BreakEvenState::kAfterLifetime);
  EXPECT_DOUBLE_EQ(*even.cost, 12500);
  EXPECT_DOUBLE_EQ(*even.hours, 2500);  // and the machine works 438 hours
  EXPECT_DOUBLE_EQ(even.points.back().hours, even.lifetime_hours);
}

}  // namespace
}  // namespace tunefit
