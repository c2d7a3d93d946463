#include "core/cost/cost_report.h"

#include <gtest/gtest.h>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::ExpectRange, test::OfferOf, test::PriceOf, test::SmallPrices, test::SmallRun;

CostReport CostOf(const SmallRun& small, const Prices& prices, const Pricing& pricing) {
  Issues issues;
  std::optional<CostReport> report = EstimateCost(small.run, prices, pricing, issues);
  EXPECT_TRUE(report);
  EXPECT_TRUE(issues.empty());
  return report ? *report : CostReport{};
}

TEST(EstimateCost, NeedsPricesThatMakeSense) {
  const SmallRun small(1, 1);
  Pricing pricing;
  pricing.utilisation = 0;
  Issues issues;
  EXPECT_FALSE(EstimateCost(small.run, SmallPrices(), pricing, issues));
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues[0].code, "out_of_range");
  EXPECT_EQ(issues[0].field, "pricing.utilisation");
}

TEST(EstimateCost, WithoutAnyPriceItIsEnergyAlone) {
  const SmallRun small(1, 1);
  const Prices prices = SmallPrices();
  const CostReport report = CostOf(small, prices, {});
  EXPECT_TRUE(report.energy);
  EXPECT_TRUE(report.rented.empty());
  EXPECT_FALSE(report.bought);
  EXPECT_FALSE(report.break_even);
  EXPECT_EQ(report.reference_line(), nullptr);
  EXPECT_TRUE(report.notes.Has(CostNote::kEgressLeftOut));
}

TEST(EstimateCost, ExtrasStandApartFromCompute) {
  const SmallRun small(1, 10);
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Cloud", 1, 2)});
  Pricing pricing;
  pricing.currency = Currency::kUsd;
  const CostReport plain = CostOf(small, prices, pricing);
  EXPECT_TRUE(plain.extras.empty());
  pricing.trials = 3;
  pricing.failed_share = 0.25;
  pricing.data_work = DataWork{40, 75};
  const CostReport report = CostOf(small, prices, pricing);
  ASSERT_EQ(report.extras.size(), 3U);
  ExpectRange(report.extras[0].cost, 60, 60, 60);  // three runs of 20 USD
  ExpectRange(report.extras[1].cost, 5, 5, 5);
  ExpectRange(report.extras[2].cost, 3000, 3000, 3000);
  EXPECT_EQ(report.rented[0].cost.expected, plain.rented[0].cost.expected);
}

TEST(EstimateCost, ExtrasOfOwnMachinesWhereNobodyRentsThemOut) {
  const SmallRun small(1, 10);
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  Pricing pricing;
  pricing.trials = 2;
  const CostReport report = CostOf(small, prices, pricing);
  EXPECT_DOUBLE_EQ(report.extras[0].cost.expected, 2 * report.bought->of_run.total().expected);
}

TEST(EstimateCost, SaysWhyBuyingIsHeldAgainstNothing) {
  const SmallRun small(1, 1);
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  Offer bare = OfferOf("Bare", 1, 1);
  bare.covers_machine = false;
  prices.offers = CurrentOffers({bare});
  CostReport report = CostOf(small, prices, {});
  EXPECT_FALSE(report.break_even);
  EXPECT_TRUE(report.notes.Has(CostNote::kNoRentToCompare));
  prices.offers = CurrentOffers({bare, OfferOf("Whole", 1, 2)});
  report = CostOf(small, prices, {});
  EXPECT_TRUE(report.break_even);
  EXPECT_FALSE(report.notes.Has(CostNote::kNoRentToCompare));
}

TEST(EstimateCost, IsInTheCurrencyThatIsAskedFor) {
  const SmallRun small(1, 1);
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Cloud", 1, 2)});
  Pricing dollars;
  dollars.currency = Currency::kUsd;
  EXPECT_DOUBLE_EQ(CostOf(small, prices, {}).rented[0].cost.expected, 1.6);  // the vendor's
  EXPECT_DOUBLE_EQ(CostOf(small, prices, dollars).rented[0].cost.expected, 2);
  EXPECT_EQ(CostOf(small, prices, {}).currency, Currency::kEur);
}

// Row 16 of the articles' statements: an RTX 4090 of about 1,600 euros earns itself back within weeks against 2,500
// euros a month for a node of a cloud, if it is used steadily.
TEST(EstimateCost, ACardEarnsItselfBackInWeeksIfItIsUsed) {
  SmallRun small(1, 1);
  small.gpu.board_power_watts = 450;
  small.run.time.gpu_busy_share = 1;
  Prices prices = SmallPrices();
  prices.defaults.working_power_share.value = Exactly(1);
  Pricing pricing;
  pricing.purchase_price = 1600;
  pricing.hourly_price = 2500 / kHoursPerMonth;
  const double hours_of_a_week = 24 * 7;
  // 3.42 EUR of rent less 0.45 kW at PUE 1.5 and 0.20 EUR: 1,600 / 3.287 = 486.7 hours.
  const CostReport steady = CostOf(small, prices, pricing);
  ASSERT_TRUE(steady.break_even);
  EXPECT_EQ(steady.break_even->state, BreakEvenState::kReached);
  EXPECT_NEAR(*steady.break_even->hours, 486.7, 0.1);
  EXPECT_LT(*steady.break_even->hours / hours_of_a_week, 4);
  pricing.utilisation = 0.1;
  const CostReport rarely = CostOf(small, prices, pricing);
  EXPECT_DOUBLE_EQ(*rarely.break_even->hours, *steady.break_even->hours) << "hours of work are hours of work";
  EXPECT_NEAR(*rarely.break_even->months, 6.66, 0.01);
}

}  // namespace
}  // namespace tunefit
