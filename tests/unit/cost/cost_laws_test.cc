// Laws of core/cost over seeded random runs and prices.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::OfferOf, test::PriceOf, test::SmallPrices, test::SmallRun;

constexpr int kCases = 2000;

/// Draws numbers that somebody might write, the same for the same seed.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : generator_(seed) {}

  double Number(double low, double high) {
    return low + (high - low) * static_cast<double>(generator_()) / static_cast<double>(std::mt19937::max());
  }
  std::int64_t Count(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Flag() { return Count(0, 1) == 1; }

 private:
  std::mt19937 generator_;  // whose numbers the standard fixes
};

struct Case {
  explicit Case(std::uint32_t seed) : small(1, 1) {
    Draw draw(seed);
    small.run.time.gpus = draw.Count(1, 40);
    const double low = draw.Number(1, 1e6);
    small.run.time.seconds = {low, low * draw.Number(1, 2), low * draw.Number(2, 4)};
    small.run.time.gpu_busy_share = draw.Number(0.1, 1);
    small.machine.host_watts = draw.Number(0, 3000);
    if (draw.Flag()) small.run.machine = &small.machine;
    prices = SmallPrices();
    std::vector<Offer> offers;
    for (std::int64_t i = draw.Count(0, 6); i > 0; --i) {
      offers.push_back(OfferOf("Cloud", std::int64_t{1} << draw.Count(0, 3), draw.Number(0.1, 20)));
      offers.back().instance = std::to_string(i);
      offers.back().covers_machine = draw.Flag();
      offers.back().term = static_cast<RentalTerm>(draw.Count(0, kRentalTermCount - 1));
    }
    prices.offers = CurrentOffers(offers);
    if (draw.Flag()) prices.cards = {PriceOf("", 0, draw.Number(500, 1000), draw.Number(1000, 40000))};
    if (draw.Flag()) prices.machines = {PriceOf("box", 8, draw.Number(1000, 20000), draw.Number(20000, 400000))};
    if (draw.Flag()) pricing.utilisation = draw.Number(0.001, 1);
    if (draw.Flag()) pricing.gpu_per_hour = draw.Number(0.01, 20);
    if (draw.Flag()) pricing.rack_per_month = draw.Number(0, 2000);
    if (draw.Flag()) pricing.residual_share = draw.Number(0, 1);
    if (draw.Flag()) pricing.trials = draw.Count(0, 9);
    if (draw.Flag()) pricing.currency = Currency::kUsd;
  }

  CostReport Cost() const {
    Issues issues;
    return *EstimateCost(small.run, prices, pricing, issues);
  }

  SmallRun small;
  Prices prices;
  Pricing pricing;
};

void ExpectOrdered(const Range& range) {
  EXPECT_TRUE(std::isfinite(range.low) && std::isfinite(range.high));
  EXPECT_LE(0, range.low);
  EXPECT_LE(range.low, range.expected * (1 + 1e-12));
  EXPECT_LE(range.expected, range.high * (1 + 1e-12));
}

void ExpectTwice(const Range& twice, const Range& once) {
  EXPECT_DOUBLE_EQ(twice.low, 2 * once.low);
  EXPECT_DOUBLE_EQ(twice.expected, 2 * once.expected);
  EXPECT_DOUBLE_EQ(twice.high, 2 * once.high);
}

TEST(CostLaws, RangesAreInOrderAndFinite) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const CostReport report = Case(seed).Cost();
    for (const RentedLine& line : report.rented) ExpectOrdered(line.cost);
    ExpectOrdered(report.energy->kwh);
    ExpectOrdered(report.energy->kg_co2);
    for (const ExtraCost& extra : report.extras) ExpectOrdered(extra.cost);
    if (report.bought) ExpectOrdered(report.bought->of_run.total());
    if (!report.break_even) continue;
    const BreakEven& even = *report.break_even;
    const double never = std::numeric_limits<double>::infinity();
    EXPECT_LE(even.low_hours.value_or(never), even.hours.value_or(never));
    EXPECT_LE(even.hours.value_or(never), even.high_hours.value_or(never));
    EXPECT_EQ(even.hours.has_value(), even.state != BreakEvenState::kNever);
  }
}

TEST(CostLaws, TwiceTheHoursTwiceTheCost) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed);
    const CostReport once = one.Cost();
    one.small.run.time.seconds = one.small.run.time.seconds * 2;
    const CostReport twice = one.Cost();
    ASSERT_EQ(once.rented.size(), twice.rented.size());
    for (std::size_t i = 0; i < once.rented.size(); ++i) ExpectTwice(twice.rented[i].cost, once.rented[i].cost);
    ExpectTwice(twice.energy->kwh, once.energy->kwh);
    ExpectTwice(twice.energy->kg_co2, once.energy->kg_co2);
    if (once.bought) ExpectTwice(twice.bought->of_run.total(), once.bought->of_run.total());
  }
}

TEST(CostLaws, BreakEvenIsWhereTheCurvesMeet) {
  int reached = 0;
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const CostReport report = Case(seed).Cost();
    if (!report.break_even || !report.break_even->hours) continue;
    const double rent = report.break_even->rent_per_hour;
    const Range running = report.bought->per_hour.running();
    // A difference of less than a thousandth of the rent magnifies a double's last digits.
    if (rent - running.expected < rent * 1e-3) continue;
    ++reached;
    const BreakEvenPoint point = BreakEvenAt(*report.break_even->hours, rent, report.bought->purchase.price, running);
    EXPECT_NEAR(point.rented, point.bought.expected, 0.005);
  }
  EXPECT_GT(reached, kCases / 10);
}

TEST(CostLaws, RentCoversAtLeastTheGpusOfTheRun) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    const Case one(seed);
    const CostReport report = one.Cost();
    for (const RentedLine& line : report.rented) {
      if (line.offer == nullptr) continue;
      EXPECT_EQ(line.machines * line.offer->gpus - line.gpus_idle, one.small.run.time.gpus);
      EXPECT_LT(line.gpus_idle, line.offer->gpus);
    }
  }
}

TEST(CostLaws, CurrenciesDifferByTheRateAlone) {
  for (std::uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    Case one(seed);
    one.pricing.gpu_per_hour.reset();  // the request's own amounts are in whatever is asked for
    one.pricing.rack_per_month.reset();
    one.pricing.currency = Currency::kUsd;
    const CostReport dollars = one.Cost();
    one.pricing.currency = Currency::kEur;
    const CostReport euros = one.Cost();
    const double rate = one.prices.defaults.eur_per_usd.value.expected;
    ASSERT_EQ(dollars.rented.size(), euros.rented.size());
    for (std::size_t i = 0; i < dollars.rented.size(); ++i) {
      EXPECT_NEAR(euros.rented[i].cost.expected, dollars.rented[i].cost.expected * rate,
                  1e-9 * euros.rented[i].cost.expected);
    }
    if (!dollars.bought) continue;
    const double expected = euros.bought->of_run.total().expected;
    EXPECT_NEAR(expected, dollars.bought->of_run.total().expected * rate, 1e-9 * expected);
  }
}

}  // namespace
}  // namespace tunefit
