#pragma once

#include <optional>
#include <vector>

#include "core/cost/energy.h"

namespace tunefit {

/// What has to be bought for the run, and what it costs at once.
struct Purchase {
  Range price;                               ///< of everything, in the answer's currency
  std::vector<const PurchasePrice*> prices;  ///< that it was made of; empty for the request's own
  std::int64_t machines = 0;                 ///< 0 where cards are bought alone, or nobody says of machines
  std::int64_t gpus = 0;                     ///< bought; 0 where nobody says
  bool is_of_machines = false;               ///< hosts are included
  CostNotes notes;
};

/// What owning costs in an hour of work, by part. Money in the answer's currency.
struct HourOfWork {
  Range amortisation, support, rack, electricity;

  /// The four together.
  Range total() const { return amortisation + support + rack + electricity; }
  /// What is paid beside the purchase.
  Range running() const { return support + rack + electricity; }
};

struct BoughtCost {
  Purchase purchase;
  Range lifetime_years;
  const Provenance* lifetime_from = nullptr;  ///< null: the request's own
  double residual_share = 0;
  double utilisation = 1;
  const Provenance* support_from = nullptr;  ///< null: the request's own, or none
  HourOfWork per_hour;
  HourOfWork of_run;  ///< the same for the hours of the run; `total` is its cost
  CostNotes notes;
};

/// COST-20  What is bought, of what the request or the catalog prices: the request's `purchase_price`; its
/// `server_price` for each machine; the machine that the request names, complete, or bare and the cards besides; else
/// machines of the market that the GPUs fill; else the cards alone. A machine holds as many GPUs as the request puts in
/// one, and no more than it has places. The vendor's prices stand before
/// all others, and doubtful ones only where there are no others. Nothing where nobody has a price.
std::optional<Purchase> PurchaseOf(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                   Currency currency);

/// COST-21  Wear of an hour of work: price · (1 - residual) / (lifetime in hours · utilisation).
Range AmortisationPerHour(const Range& price, double residual_share, const Range& lifetime_years, double utilisation);

/// COST-22  An hour's part of what is paid by the year: amount / (hours of a year · utilisation).
Range YearlyPerHour(const Range& per_year, double utilisation);

/// Nothing without a purchase. `energy` may be null: then electricity is 0.
std::optional<BoughtCost> BoughtCostOf(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                       Currency currency, const EnergyUse* energy);

}  // namespace tunefit
