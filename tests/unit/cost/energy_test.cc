#include "core/cost/energy.h"

#include <gtest/gtest.h>

#include "core/cost/disk.h"
#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::ExpectRange, test::SmallPrices, test::SmallRun;

TEST(HostWatts, AreWhatTheCardsLeave) {
  EXPECT_EQ(HostWatts(10500, 8, 700), 4900);  // SYS-821GE-TNHR and its H100s
  EXPECT_EQ(HostWatts(0, 8, 700), 0);
  EXPECT_EQ(HostWatts(10500, 8, 0), 0);
  EXPECT_EQ(HostWatts(5000, 8, 700), 0);
}

TEST(GpuWatts, LieBetweenWaitingAndWork) {
  CostDefaults defaults;
  defaults.working_power_share.value = {0.7, 0.9, 1};
  defaults.waiting_power_share.value = {0.1, 0.3, 0.6};
  ExpectRange(GpuWatts(500, 2, 1, defaults), 700, 900, 1000);
  ExpectRange(GpuWatts(500, 2, 0, defaults), 100, 300, 600);
  ExpectRange(GpuWatts(500, 2, 0.75, defaults), 550, 750, 900);
}

TEST(EnergyOf, CountsTheLoadTheHostAndTheBuilding) {
  SmallRun small(10, 2);
  small.machine.host_watts = 1000;
  small.run.machine = &small.machine;
  const auto use = EnergyOf(small.run, SmallPrices().defaults, {}, Currency::kEur);
  ASSERT_TRUE(use);
  ExpectRange(use->gpu_watts, 2000, 2000, 2000);   // ten of 400 W: half the time at 0.8 of it, half at 0.2
  ExpectRange(use->host_watts, 1000, 1000, 1000);  // ten places of machines with eight, at 0.8 of what is planned
  ExpectRange(use->kwh, 6, 9, 12);                 // 3 kW, two hours, PUE 1, 1.5 and 2
  ExpectRange(use->cost, 0.6, 1.8, 3.6);
  ExpectRange(use->kg_co2, 1.2, 2.7, 4.8);
  EXPECT_TRUE(use->notes.Has(CostNote::kHostPowerDerived));
}

TEST(EnergyOf, TheRequestsOwnNumbersStandFirst) {
  SmallRun small(1, 10);
  Pricing pricing;
  pricing.pue = 1;
  pricing.electricity_per_kwh = 0.5;
  pricing.grid_g_co2_per_kwh = 0;
  const Prices prices = SmallPrices();
  const auto use = EnergyOf(small.run, prices.defaults, pricing, Currency::kUsd);
  ExpectRange(use->kwh, 2, 2, 2);
  ExpectRange(use->cost, 1, 1, 1);  // in the answer's currency, whatever that is
  ExpectRange(use->kg_co2, 0, 0, 0);
  EXPECT_EQ(use->tariff_from, nullptr);
  EXPECT_TRUE(use->notes.Has(CostNote::kHostPowerUnknown));
}

TEST(EnergyOf, CatalogsTariffIsInEuros) {
  SmallRun small(1, 10);
  Pricing pricing;
  pricing.pue = 1;
  const Prices prices = SmallPrices();
  const auto use = EnergyOf(small.run, prices.defaults, pricing, Currency::kUsd);
  EXPECT_DOUBLE_EQ(use->cost.expected, 2 * 0.2 / 0.8);
  EXPECT_EQ(use->tariff_from, &prices.defaults.electricity_eur_per_kwh.provenance);
}

TEST(EnergyOf, SaysNothingOfCardsThatNobodyKnows) {
  SmallRun small(1, 10);
  small.gpu.board_power_watts = 0;
  EXPECT_FALSE(EnergyOf(small.run, SmallPrices().defaults, {}, Currency::kEur));
}

// Row 20 of the articles' statements: storage for data and checkpoints is planned.
TEST(DiskOf, HoldsCheckpointsAndTheDataSet) {
  const DiskUse use = DiskOf(48e9, 3, 5e6);
  EXPECT_EQ(use.checkpoints_bytes, 144e9);
  EXPECT_EQ(use.dataset_bytes, 20e6);
  EXPECT_EQ(use.total(), 144.02e9);
}

}  // namespace
}  // namespace tunefit
