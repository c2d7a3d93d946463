#include "core/cost/token_services.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/cost/small_prices.h"

namespace tunefit {
namespace {

using test::SmallPrices, test::SmallRun;

TokenService ServiceOf(const char* provider, double parameters_max, double low, double high) {
  TokenService service;
  service.provider = provider;
  service.method = TuningMethod::kLora;
  service.parameters_max = parameters_max;
  service.low = low;
  service.high = high;
  service.billed = BilledTokens::kPadded;
  return service;
}

// Row 53 of the peers' faults: with packing off the tokens billed are rows by padded length, not the rows' own.
TEST(BilledTokenCount, AreAsTheServiceCounts) {
  RunTime time;
  time.trained_tokens = 1000 * 200.0 * 3;  // rows, their mean length, epochs
  time.padded_tokens = 1000 * 512.0 * 3;
  test::ExpectRange(BilledTokenCount(time, BilledTokens::kPadded), 1536000, 1536000, 1536000);
  test::ExpectRange(BilledTokenCount(time, BilledTokens::kOwn), 600000, 600000, 600000);
  test::ExpectRange(BilledTokenCount(time, BilledTokens::kNotSaid), 600000, 1536000, 1536000);
}

TEST(TokenServiceLines, PriceMillions) {
  Prices prices = SmallPrices();
  prices.services = {ServiceOf("Trainer", 10e9, 0.4, 0.6)};
  const SmallRun small(1, 1);
  const auto lines = TokenServiceLines(small.run, prices, Currency::kEur);
  // Two million padded tokens at 0.40 to 0.60 USD, a dollar at 0.80 EUR.
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NEAR(lines[0].cost.low, 0.64, 1e-12);
  EXPECT_NEAR(lines[0].cost.expected, 0.80, 1e-12);
  EXPECT_NEAR(lines[0].cost.high, 0.96, 1e-12);
}

TEST(TokenServiceLines, AreOfTheModelsSizeAndMethod) {
  Prices prices = SmallPrices();
  TokenService full = ServiceOf("Full", 10e9, 1, 1);
  full.method = TuningMethod::kFull;
  TokenService unsaid = ServiceOf("Unsaid", 10e9, 2, 2);
  unsaid.method = TuningMethod::kNotSaid;
  unsaid.billed = BilledTokens::kNotSaid;
  prices.services = {ServiceOf("Small", 7e9, 1, 1),
                     ServiceOf("Exact", 8e9, 3, 3),
                     ServiceOf("Sizes", 70e9, 9, 9),
                     ServiceOf("Sizes", 16e9, 1, 1),
                     ServiceOf("Named", 0, 1, 1),
                     full,
                     unsaid};
  SmallRun small(1, 1);
  const auto providers = [&] {
    std::string text;
    for (const auto& line : TokenServiceLines(small.run, prices, Currency::kUsd)) {
      text += line.service->provider + (line.notes.Has(CostNote::kTokensNotSaid) ? "? " : " ");
    }
    return text;
  };
  EXPECT_EQ(providers(), "Sizes Unsaid? Exact ");
  small.run.time.padded_tokens = small.run.time.trained_tokens;  // packed: there is nothing to doubt
  EXPECT_EQ(providers(), "Sizes Unsaid Exact ");
  small.run.model.method = TuningMethod::kFull;
  EXPECT_EQ(providers(), "Full Unsaid ");
}

}  // namespace
}  // namespace tunefit
