#include "core/cost/break_even.h"

#include <array>

namespace tunefit {
namespace {

constexpr int kPoints = 24;

std::optional<double> MonthsOf(const std::optional<double>& hours, double utilisation) {
  if (!hours) return {};
  return *hours / (kHoursPerMonth * utilisation);
}

}  // namespace

std::string_view BreakEvenStateName(BreakEvenState state) {
  static constexpr std::array<std::string_view, 3> kNames = {"reached", "after_lifetime", "never"};
  return kNames[static_cast<std::size_t>(state)];
}

std::optional<double> BreakEvenHours(double price, double rent_per_hour, double running_per_hour) {
  if (rent_per_hour <= running_per_hour) return {};
  return price / (rent_per_hour - running_per_hour);
}

BreakEvenPoint BreakEvenAt(double hours, double rent_per_hour, const Range& price, const Range& running_per_hour) {
  return {hours, hours * rent_per_hour, price + running_per_hour * hours};
}

BreakEven BreakEvenOf(const RentedLine& rent, const BoughtCost& bought) {
  const Range& price = bought.purchase.price;
  const Range running = bought.per_hour.running();
  BreakEven result;
  result.rent_per_hour = rent.price_per_hour;
  result.low_hours = BreakEvenHours(price.low, rent.price_per_hour, running.low);
  result.hours = BreakEvenHours(price.expected, rent.price_per_hour, running.expected);
  result.high_hours = BreakEvenHours(price.high, rent.price_per_hour, running.high);
  result.low_months = MonthsOf(result.low_hours, bought.utilisation);
  result.months = MonthsOf(result.hours, bought.utilisation);
  result.high_months = MonthsOf(result.high_hours, bought.utilisation);
  result.lifetime_hours = bought.lifetime_years.expected * kHoursPerYear * bought.utilisation;
  if (result.hours) {
    const bool in_time = *result.hours <= result.lifetime_hours;
    result.state = in_time ? BreakEvenState::kReached : BreakEvenState::kAfterLifetime;
    result.cost = BreakEvenAt(*result.hours, rent.price_per_hour, price, running).rented;
  }
  // As far again as the place where the curves meet, where they do.
  const double end = result.state == BreakEvenState::kReached ? 2 * *result.hours : result.lifetime_hours;
  result.points.reserve(kPoints);
  for (int i = 0; i < kPoints; ++i) {
    result.points.push_back(BreakEvenAt(end * i / (kPoints - 1), rent.price_per_hour, price, running));
  }
  return result;
}

}  // namespace tunefit
