#include "core/cost/rented.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::OfferOf, test::SmallPrices, test::SmallRun;

std::string Providers(const std::vector<RentedLine>& lines) {
  std::string providers;
  for (const RentedLine& line : lines) providers += (line.offer == nullptr ? "own" : line.offer->provider) + " ";
  return providers;
}

TEST(AmountIn, IsTakenBackAndForth) {
  EXPECT_DOUBLE_EQ(AmountIn(Currency::kEur, {10, Currency::kUsd}, 0.8), 8);
  EXPECT_DOUBLE_EQ(AmountIn(Currency::kUsd, {10, Currency::kEur}, 0.8), 12.5);
  EXPECT_EQ(AmountIn(Currency::kUsd, {10, Currency::kUsd}, 0.8), 10);
  for (const double rate : {0.1, 0.8548, 1.0, 7.3}) {
    const Money euros{AmountIn(Currency::kEur, {1234.56, Currency::kUsd}, rate), Currency::kEur};
    EXPECT_NEAR(AmountIn(Currency::kUsd, euros, rate), 1234.56, 1e-9);
  }
}

TEST(MachinesFor, AreWhole) {
  EXPECT_EQ(MachinesFor(1, 8), 1);
  EXPECT_EQ(MachinesFor(8, 8), 1);
  EXPECT_EQ(MachinesFor(9, 8), 2);
  EXPECT_EQ(MachinesFor(5, 1), 5);
}

TEST(RentedLines, PayForTheWholeMachine) {
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Cloud", 8, 2)});
  const SmallRun small(10, 3);
  Issues issues;
  const auto lines = RentedLines(small.run, prices, {}, Currency::kUsd, issues);
  // Ten GPUs take two machines of eight at 16 USD an hour each; three hours are 96 USD, and six GPUs stand idle.
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].machines, 2);
  EXPECT_EQ(lines[0].gpus_idle, 6);
  EXPECT_DOUBLE_EQ(lines[0].price_per_hour, 32);
  test::ExpectRange(lines[0].cost, 96, 96, 96);
  EXPECT_TRUE(lines[0].notes.Has(CostNote::kGpusIdle));
  EXPECT_TRUE(lines[0].notes.Has(CostNote::kSeveralMachines));
  EXPECT_FALSE(lines[0].notes.Has(CostNote::kHostNotIncluded));
  EXPECT_TRUE(issues.empty());
}

TEST(RentedLines, TakeTheRangeOfTheHours) {
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Cloud", 1, 2)});
  SmallRun small(1, 1);
  small.run.time.seconds = {1800, 3600, 9000};
  Issues issues;
  const auto lines = RentedLines(small.run, prices, {}, Currency::kEur, issues);
  // Half an hour, one and two and a half at 1.60 EUR.
  test::ExpectRange(lines[0].cost, 0.8, 1.6, 4);
}

// Row 52 of the peers' faults: the price of a cloud machine is that of its GPU and its host together, 4.05 USD an hour
// and not the 0.94 USD of the host (skypilot-catalog#31).
TEST(RentedLines, HostIsInThePriceOrSaidToBeMissing) {
  Prices prices = SmallPrices();
  Offer whole = OfferOf("Whole", 1, 4.05);
  Offer bare = OfferOf("Bare", 1, 3.11);
  bare.covers_machine = false;
  prices.offers = CurrentOffers({whole, bare});
  const SmallRun small(1, 1);
  Issues issues;
  const auto lines = RentedLines(small.run, prices, {}, Currency::kUsd, issues);
  ASSERT_EQ(Providers(lines), "Bare Whole ");
  EXPECT_TRUE(lines[0].notes.Has(CostNote::kHostNotIncluded));
  EXPECT_DOUBLE_EQ(lines[1].cost.expected, 4.05);
  EXPECT_FALSE(lines[1].notes.Has(CostNote::kHostNotIncluded));
  EXPECT_EQ(ReferenceLine(lines, {}), 1) << "what covers no host is no rent of a machine";
}

TEST(RentedLines, KeepTheNewestOfAMachine) {
  Offer old = OfferOf("Cloud", 8, 1, "2026-01-01");
  Offer newer = OfferOf("Cloud", 8, 2, "2026-06-01");
  newer.region = "eu";
  Offer elsewhere = OfferOf("Cloud", 8, 3, "2026-02-01");
  elsewhere.region = "us";
  Offer other_card = OfferOf("Cloud", 8, 9, "2026-09-01");
  other_card.gpu = "another";
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({old, newer, elsewhere, other_card});
  ASSERT_EQ(prices.OffersWith("card").size(), 2U);
  EXPECT_EQ(prices.OffersWith("card")[0].region, "eu");
  EXPECT_EQ(prices.OffersWith("another").size(), 1U);
  EXPECT_EQ(prices.OffersWith("nobody").size(), 0U);
}

TEST(RentedLines, FollowWishes) {
  Prices prices = SmallPrices();
  Offer spot = OfferOf("Alpha", 1, 1);
  spot.term = RentalTerm::kSpot;
  Offer there = OfferOf("Beta", 1, 2);
  there.region = "EU / US";
  prices.offers = CurrentOffers({spot, OfferOf("Alpha", 1, 3), there});
  const SmallRun small(1, 1);
  const auto asked = [&](const Pricing& pricing) {
    Issues issues;
    const auto lines = RentedLines(small.run, prices, pricing, Currency::kUsd, issues);
    std::string answer = Providers(lines) + std::to_string(ReferenceLine(lines, pricing));
    for (const Issue& issue : issues) answer += " " + issue.code + "@" + issue.field;
    return answer;
  };
  EXPECT_EQ(asked({}), "Alpha Beta Alpha 1");  // spot is cheapest, and no rent that anybody can count on
  Pricing wish;
  wish.provider = "ALPHA";
  EXPECT_EQ(asked(wish), "Alpha Alpha 1");
  wish.term = RentalTerm::kSpot;
  EXPECT_EQ(asked(wish), "Alpha 0");
  wish = {};
  wish.region = "eu";
  EXPECT_EQ(asked(wish), "Beta 0");
  wish.provider = "Gamma";
  EXPECT_EQ(asked(wish), "-1 unknown_value@pricing.provider");
  wish.provider.clear();
  wish.region = "mars";
  EXPECT_EQ(asked(wish), "-1 unknown_value@pricing.region");
  wish = {};
  wish.provider = "Beta";
  wish.term = RentalTerm::kSpot;
  EXPECT_EQ(asked(wish), "-1 unknown_value@pricing.term");
}

TEST(RentedLines, OwnPriceComesFirst) {
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Cloud", 1, 0.1)});
  const SmallRun small(4, 2);
  Issues issues;
  Pricing pricing;
  pricing.gpu_per_hour = 5;
  auto lines = RentedLines(small.run, prices, pricing, Currency::kEur, issues);
  EXPECT_EQ(Providers(lines), "own Cloud ");
  EXPECT_DOUBLE_EQ(lines[0].cost.expected, 40);  // four GPUs, two hours
  pricing.hourly_price = 7;                      // of everything
  lines = RentedLines(small.run, prices, pricing, Currency::kEur, issues);
  EXPECT_DOUBLE_EQ(lines[0].cost.expected, 14);
  EXPECT_EQ(ReferenceLine(lines, pricing), 0);
}

TEST(ReferenceLine, IsAMachineThatHoldsWhatWorksTogether) {
  Prices prices = SmallPrices();
  prices.offers = CurrentOffers({OfferOf("Single", 1, 1), OfferOf("Eight", 8, 2)});
  SmallRun small(8, 1);
  Issues issues;
  const auto reference = [&] {
    const auto lines = RentedLines(small.run, prices, {}, Currency::kUsd, issues);
    return lines[static_cast<std::size_t>(ReferenceLine(lines, {}))].offer->provider;
  };
  EXPECT_EQ(reference(), "Eight");
  small.run.time.gpus_per_machine = 1;
  EXPECT_EQ(reference(), "Single") << "the run itself is spread over machines of one";
  small.run.time.gpus_per_machine = 8;
  prices.offers = CurrentOffers({OfferOf("Single", 1, 1)});
  EXPECT_EQ(reference(), "Single") << "for want of anything else";
}

TEST(ReferenceLine, DoubtsOnlyWhereItMust) {
  Prices prices = SmallPrices();
  Offer doubtful = OfferOf("Cheap", 1, 1);
  doubtful.provenance.low_confidence = true;
  prices.offers = CurrentOffers({doubtful, OfferOf("Sure", 1, 2)});
  const SmallRun small(1, 1);
  Issues issues;
  EXPECT_EQ(ReferenceLine(RentedLines(small.run, prices, {}, Currency::kUsd, issues), {}), 1);
  prices.offers = CurrentOffers({doubtful});
  EXPECT_EQ(ReferenceLine(RentedLines(small.run, prices, {}, Currency::kUsd, issues), {}), 0);
}

}  // namespace
}  // namespace tunefit
