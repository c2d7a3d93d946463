#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/cost/bought.h"
#include "core/cost/rented.h"

namespace tunefit {

enum class BreakEvenState : std::uint8_t {
  kReached,
  kAfterLifetime,  ///< only when the purchase has been written off
  kNever           ///< an hour of work costs as much to run as to rent, or more
};

/// "reached", "after_lifetime", "never".
std::string_view BreakEvenStateName(BreakEvenState state);

/// One place of the chart: what so many hours of work cost in all, in the answer's currency.
struct BreakEvenPoint {
  double hours = 0;
  double rented = 0;
  Range bought;
};

/// From how many hours of work on buying is cheaper than renting. What a sale would bring is left out.
struct BreakEven {
  BreakEvenState state = BreakEvenState::kNever;
  double rent_per_hour = 0;
  /// With the lowest, the middle and the highest price and running costs; nothing where that is never.
  std::optional<double> low_hours, hours, high_hours;
  std::optional<double> cost;  ///< of either way by `hours`, where the chart's lines cross; nothing where that is never
  std::optional<double> low_months, months, high_months;  ///< of the calendar, at the utilisation
  double lifetime_hours = 0;                              ///< of work, until it is written off
  std::vector<BreakEvenPoint> points;
};

/// COST-30  price / (rent of an hour - what an hour of work costs beside the purchase); nothing where the rent is not
/// over that.
std::optional<double> BreakEvenHours(double price, double rent_per_hour, double running_per_hour);

/// COST-31  What so many hours of work cost: rented hours · rent, bought price + hours · running.
BreakEvenPoint BreakEvenAt(double hours, double rent_per_hour, const Range& price, const Range& running_per_hour);

BreakEven BreakEvenOf(const RentedLine& rent, const BoughtCost& bought);

}  // namespace tunefit
