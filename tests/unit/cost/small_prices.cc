#include "tests/unit/cost/small_prices.h"

#include <gtest/gtest.h>

namespace tunefit::test {

Prices SmallPrices() {
  const auto figure = [](double low, double expected, double high) {
    return Figure{{low, expected, high},
                  {.date = "2026-01", .low_confidence = false, .note = "", .source_ids = {"table"}}};
  };
  Prices prices;
  prices.defaults.electricity_eur_per_kwh = figure(0.1, 0.2, 0.3);
  prices.defaults.pue = figure(1, 1.5, 2);
  prices.defaults.eur_per_usd = figure(0.8, 0.8, 0.8);
  prices.defaults.support_share_per_year = figure(0.05, 0.1, 0.15);
  prices.defaults.grid_g_co2_per_kwh = figure(200, 300, 400);
  prices.defaults.lifetime_years = figure(4, 5, 8);
  prices.defaults.working_power_share = figure(0.8, 0.8, 0.8);
  prices.defaults.waiting_power_share = figure(0.2, 0.2, 0.2);
  return prices;
}

Offer OfferOf(const char* provider, std::int64_t gpus, double price_per_gpu_hour, const char* date) {
  Offer offer;
  offer.provider = provider;
  offer.gpu = "card";
  offer.gpus = gpus;
  offer.price_per_gpu_hour = price_per_gpu_hour;
  offer.provenance.date = date;
  return offer;
}

PurchasePrice PriceOf(const char* server, std::int64_t gpus, double low, double high) {
  PurchasePrice price;
  price.server = server;
  price.gpu = "card";
  price.gpus = gpus;
  price.low = low;
  price.high = high;
  price.kind = gpus > 0 ? PurchaseKind::kComplete : PurchaseKind::kRetail;
  return price;
}

SmallRun::SmallRun(std::int64_t gpus, double hours) {
  gpu.id = "card";
  gpu.board_power_watts = 400;
  machine = {"box", 8, 0};
  run.gpu = &gpu;
  run.time.seconds = Exactly(hours * kSecondsPerHour);
  run.time.gpu_busy_share = 0.5;
  run.time.trained_tokens = 1e6;
  run.time.padded_tokens = 2e6;
  run.time.gpus = gpus;
  run.model = {8e9, TuningMethod::kLora};
}

void ExpectRange(const Range& found, double low, double expected, double high) {
  EXPECT_DOUBLE_EQ(found.low, low);
  EXPECT_DOUBLE_EQ(found.expected, expected);
  EXPECT_DOUBLE_EQ(found.high, high);
}

}  // namespace tunefit::test
