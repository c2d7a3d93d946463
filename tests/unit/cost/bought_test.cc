#include "core/cost/bought.h"

#include <gtest/gtest.h>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::ExpectRange, test::PriceOf, test::SmallPrices, test::SmallRun;

TEST(AmortisationPerHour, IsLowestForTheCheapestThatLivesLongest) {
  // 8,766 hours a year; half of them used; a tenth of the price comes back.
  const Range hour = AmortisationPerHour({8766, 17532, 26298}, 0.1, {1, 2, 3}, 0.5);
  ExpectRange(hour, 0.6, 1.8, 5.4);
}

TEST(YearlyPerHour, IsSpreadOverTheHoursOfWork) { ExpectRange(YearlyPerHour({8766, 8766, 8766}, 0.25), 4, 4, 4); }

TEST(PurchaseOf, CardsAloneHaveNoHost) {
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 3000), PriceOf("", 0, 2000, 4000)};
  const SmallRun small(2, 1);
  const auto purchase = PurchaseOf(small.run, prices, {}, Currency::kUsd);
  ASSERT_TRUE(purchase);
  ExpectRange(purchase->price, 2000, 5000, 8000);  // two cards of 1,000 to 4,000
  EXPECT_TRUE(purchase->notes.Has(CostNote::kHostNotIncluded));
  EXPECT_FALSE(purchase->is_of_machines);
  EXPECT_EQ(purchase->prices.size(), 2U);
}

TEST(PurchaseOf, BelievesTheVendorThenWhatIsSure) {
  Prices prices = SmallPrices();
  PurchasePrice doubtful = PriceOf("", 0, 1, 1);
  doubtful.provenance.low_confidence = true;
  PurchasePrice used = PriceOf("", 0, 2, 2);
  used.kind = PurchaseKind::kUsed;
  prices.cards = {doubtful, used};
  const SmallRun small(1, 1);
  const auto expected = [&] { return PurchaseOf(small.run, prices, {}, Currency::kUsd)->price.expected; };
  EXPECT_EQ(expected(), 1);
  prices.cards.push_back(PriceOf("", 0, 10, 10));
  EXPECT_EQ(expected(), 10);
  PurchasePrice quoted = PriceOf("", 0, 8, 8);
  quoted.kind = PurchaseKind::kQuoted;
  quoted.currency = Currency::kEur;
  prices.cards.push_back(quoted);
  EXPECT_EQ(expected(), 10);  // 8 EUR are 10 USD
  EXPECT_EQ(PurchaseOf(small.run, prices, {}, Currency::kEur)->price.expected, 8);
}

TEST(PurchaseOf, TheMachineThatIsNamed) {
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  prices.machines = {PriceOf("box", 4, 10000, 12000), PriceOf("box", 8, 20000, 24000), PriceOf("other", 8, 1, 1)};
  SmallRun small(6, 1);
  small.run.machine = &small.machine;
  auto purchase = PurchaseOf(small.run, prices, {}, Currency::kUsd);
  ExpectRange(purchase->price, 20000, 22000, 24000);  // the smallest that holds six
  EXPECT_EQ(purchase->gpus, 8);
  EXPECT_TRUE(purchase->notes.Has(CostNote::kGpusIdle));
  EXPECT_TRUE(purchase->is_of_machines);
  small.run.time.gpus = 12;
  purchase = PurchaseOf(small.run, prices, {}, Currency::kUsd);
  ExpectRange(purchase->price, 40000, 44000, 48000);  // two of the largest
  EXPECT_TRUE(purchase->notes.Has(CostNote::kSeveralMachines));
}

TEST(PurchaseOf, ABareboneAndItsCards) {
  Prices prices = SmallPrices();
  PurchasePrice bare = PriceOf("box", 0, 5000, 7000);
  bare.gpu.clear();
  bare.kind = PurchaseKind::kBarebone;
  prices.machines = {bare};
  SmallRun small(2, 1);
  small.run.machine = &small.machine;
  EXPECT_FALSE(PurchaseOf(small.run, prices, {}, Currency::kUsd)) << "without a card's price there is none";
  prices.cards = {PriceOf("", 0, 1000, 2000)};
  const auto purchase = PurchaseOf(small.run, prices, {}, Currency::kUsd);
  ExpectRange(purchase->price, 7000, 9000, 11000);
  EXPECT_TRUE(purchase->notes.Has(CostNote::kProcessorsNotIncluded));
  EXPECT_FALSE(purchase->notes.Has(CostNote::kHostNotIncluded));
}

TEST(PurchaseOf, AMachineOfTheMarketIsFilled) {
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  prices.machines = {PriceOf("", 8, 20000, 20000)};
  SmallRun small(16, 1);
  EXPECT_EQ(PurchaseOf(small.run, prices, {}, Currency::kUsd)->price.expected, 40000);
  small.run.machine = &small.machine;
  EXPECT_EQ(PurchaseOf(small.run, prices, {}, Currency::kUsd)->price.expected, 40000) << "nobody prices the one named";
  small.run.time.gpus = 4;
  EXPECT_EQ(PurchaseOf(small.run, prices, {}, Currency::kUsd)->price.expected, 4000);
}

TEST(PurchaseOf, TheRequestsOwnPriceStandsFirst) {
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  SmallRun small(12, 1);
  Pricing pricing;
  pricing.server_price = 50000;
  const auto price = [&] { return PurchaseOf(small.run, prices, pricing, Currency::kEur)->price.expected; };
  EXPECT_EQ(price(), 100000) << "two of eight, as many as a machine commonly holds";
  small.run.time.gpus_per_machine = 4;
  EXPECT_EQ(price(), 150000);
  small.run.machine = &small.machine;
  EXPECT_EQ(price(), 150000) << "four in a machine that takes eight";
  small.run.time.gpus_per_machine = 8;
  const auto two = PurchaseOf(small.run, prices, pricing, Currency::kEur);
  EXPECT_EQ(two->price.expected, 100000);
  EXPECT_EQ(two->gpus, 16);
  EXPECT_TRUE(two->notes.Has(CostNote::kGpusIdle));
  pricing.purchase_price = 70000;
  EXPECT_EQ(PurchaseOf(small.run, prices, pricing, Currency::kEur)->price.expected, 70000);
}

TEST(BoughtCostOf, SumsItsParts) {
  const Prices prices = SmallPrices();
  SmallRun small(8, 10);
  small.run.machine = &small.machine;
  Pricing pricing;
  pricing.purchase_price = 87660;
  pricing.lifetime_years = 5;
  pricing.residual_share = 0.2;
  pricing.utilisation = 0.5;
  pricing.support_share = 0.1;
  pricing.rack_per_month = 730.5;
  pricing.pue = 1.25;
  pricing.electricity_per_kwh = 0.4;
  const auto energy = EnergyOf(small.run, prices.defaults, pricing, Currency::kEur);
  const auto cost = BoughtCostOf(small.run, prices, pricing, Currency::kEur, &*energy);
  ASSERT_TRUE(cost);
  // 87,660 less a fifth over 43,830 hours, half of them used; a tenth of it a year; 8,766 EUR a year of rack;
  // 1.6 kW with the building 2 kW at 0.40.
  EXPECT_DOUBLE_EQ(cost->per_hour.amortisation.expected, 3.2);
  EXPECT_DOUBLE_EQ(cost->per_hour.support.expected, 2);
  EXPECT_DOUBLE_EQ(cost->per_hour.rack.expected, 2);
  EXPECT_DOUBLE_EQ(cost->per_hour.electricity.expected, 0.8);
  EXPECT_DOUBLE_EQ(cost->of_run.total().expected, 80);
  EXPECT_DOUBLE_EQ(cost->of_run.electricity.expected, energy->cost.expected);
  EXPECT_TRUE(cost->notes.Has(CostNote::kIdlePowerLeftOut));
  EXPECT_FALSE(cost->notes.Has(CostNote::kAlwaysInUse));
  EXPECT_FALSE(cost->notes.Has(CostNote::kWrittenOffWhole));
}

TEST(BoughtCostOf, SaysWhatItTakesForGranted) {
  Prices prices = SmallPrices();
  prices.cards = {PriceOf("", 0, 1000, 1000)};
  const SmallRun small(1, 1);
  const auto cost = BoughtCostOf(small.run, prices, {}, Currency::kEur, nullptr);
  EXPECT_TRUE(cost->notes.Has(CostNote::kAlwaysInUse));
  EXPECT_TRUE(cost->notes.Has(CostNote::kWrittenOffWhole));
  EXPECT_TRUE(cost->notes.Has(CostNote::kNoServiceContract));
  EXPECT_EQ(cost->per_hour.electricity.expected, 0);
  EXPECT_EQ(cost->lifetime_from, &prices.defaults.lifetime_years.provenance);
  prices.cards.clear();
  EXPECT_FALSE(BoughtCostOf(small.run, prices, {}, Currency::kEur, nullptr));
}

TEST(BoughtCostOf, MachinesHaveAContract) {
  Prices prices = SmallPrices();
  prices.machines = {PriceOf("", 8, 87660, 87660)};
  const SmallRun small(8, 1);
  const auto cost = BoughtCostOf(small.run, prices, {}, Currency::kUsd, nullptr);
  ExpectRange(cost->per_hour.support, 0.5, 1, 1.5);  // 5, 10 and 15 % of 87,660 over 8,766 hours
  EXPECT_EQ(cost->support_from, &prices.defaults.support_share_per_year.provenance);
}

}  // namespace
}  // namespace tunefit
