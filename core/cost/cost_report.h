#pragma once

#include <optional>
#include <vector>

#include "core/cost/break_even.h"
#include "core/cost/disk.h"
#include "core/cost/extras.h"
#include "core/cost/token_services.h"

namespace tunefit {

/// What a run costs. Points into the prices that it was made of, which must outlive it.
struct CostReport {
  Currency currency = Currency::kEur;
  const Figure* eur_per_usd = nullptr;  ///< the rate that amounts in the other currency were taken at
  CostNotes notes;                      ///< of all amounts
  std::vector<RentedLine> rented;       ///< cheapest first, behind the request's own price
  std::vector<TokenServiceLine> token_services;
  std::optional<EnergyUse> energy;   ///< of own machines; nothing where nobody knows the card's power
  std::optional<BoughtCost> bought;  ///< nothing where nobody has a price
  /// Nothing without both a price to buy and one to rent.
  std::optional<BreakEven> break_even;
  std::int64_t reference = -1;  ///< place in `rented` of what break-even and extras are held against; -1 for none
  std::vector<ExtraCost> extras;

  /// That line; null where there is none.
  const RentedLine* reference_line() const {
    return reference < 0 ? nullptr : &rented[static_cast<std::size_t>(reference)];
  }
};

/// COST-0  The cost of a run, rented and bought, in one currency. `run.gpu` is not null, seconds and GPUs are over 0.
/// Adds what Validate says of `pricing`, and then gives nothing where that is an error; and `unknown_value`, a warning,
/// where the wishes leave nobody who rents out the GPU.
std::optional<CostReport> EstimateCost(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                       Issues& issues);

}  // namespace tunefit
