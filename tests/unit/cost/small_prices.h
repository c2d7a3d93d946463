#pragma once

#include "core/cost/cost_report.h"

namespace tunefit::test {

/// Numbers that are easy to reckon with: a dollar is 0.80 EUR; electricity 0.10 to 0.30 EUR, PUE 1 to 2, CO2 200 to
/// 400 g, 4 to 8 years, contracts of 5 to 15 %. No prices yet; the vendor's currency is the euro.
Prices SmallPrices();

/// One machine of `gpus` cards "card", on demand, host included, in dollars.
Offer OfferOf(const char* provider, std::int64_t gpus, double price_per_gpu_hour, const char* date = "2026-01-01");

/// In dollars, of retail; a machine where `server` is not empty.
PurchasePrice PriceOf(const char* server, std::int64_t gpus, double low, double high);

/// So many cards "card" of 400 W for so many hours, neither more nor less, drawing half of that; a million rows' tokens
/// that padding makes two million; a model of 8 billion parameters, under LoRA.
class SmallRun {
 public:
  SmallRun(std::int64_t gpus, double hours);
  SmallRun(const SmallRun&) = delete;
  SmallRun& operator=(const SmallRun&) = delete;

  Gpu gpu;
  Machine machine;  ///< of 8 GPUs, "box"; not named by the run unless `run.machine` is set
  CostedRun run;
};

/// Low, expected and high, each to the last digits of a double.
void ExpectRange(const Range& found, double low, double expected, double high);

}  // namespace tunefit::test
