#pragma once

#include <vector>

#include "core/cost/pricing.h"
#include "core/cost/run_time.h"

namespace tunefit {

/// One way to rent what the run needs.
struct RentedLine {
  const Offer* offer = nullptr;  ///< null: the request's own price
  std::int64_t machines = 0;     ///< 0 for the request's own price, which says nothing of machines
  std::int64_t gpus_idle = 0;    ///< rented, and not used
  bool splits_machines = false;  ///< they are smaller than those that the run puts its GPUs in
  double price_per_hour = 0;     ///< of all machines together, in the answer's currency
  Range cost;
  CostNotes notes;
};

/// COST-3  Whole machines that so many GPUs take: ceil(gpus / gpus of one). Both are over 0.
std::int64_t MachinesFor(std::int64_t gpus, std::int64_t gpus_of_one);

/// COST-4  What the run costs to rent: hours · price of an hour of all machines.
Range RentCost(const Range& seconds, double price_per_hour);

/// The request's own price first, where it has one; then every offer with the run's GPU that the request's wishes let
/// stand, the cheapest first. `unknown_value` {value, known}, a warning at the first wish that leaves nobody who rents
/// out the GPU, though somebody does.
std::vector<RentedLine> RentedLines(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                    Currency currency, Issues& issues);

/// What renting costs at the least, without being sent away: the request's own price, else the cheapest line of the
/// wished term, or of on-demand, whose price covers the host. GPUs that work together in one machine are compared with
/// smaller ones only where nobody rents out such a machine, and of those alike a doubtful line stands last. Its place
/// among the lines; -1 where there is none.
std::int64_t ReferenceLine(const std::vector<RentedLine>& lines, const Pricing& pricing);

}  // namespace tunefit
