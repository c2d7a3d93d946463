#pragma once

#include <cstdint>
#include <string_view>

#include "core/memory/overheads.h"

namespace tunefit {

enum class Currency : std::uint8_t { kEur, kUsd };

/// ISO 4217: "EUR", "USD".
std::string_view CurrencyName(Currency currency);

/// An amount and what it is counted in. Amounts are never rounded here.
struct Money {
  double amount = 0;
  Currency currency = Currency::kEur;
};

/// COST-1  The same amount in another currency, at euros for one dollar, which is over 0.
///   USD to EUR: amount · rate;  EUR to USD: amount / rate
double AmountIn(Currency currency, const Money& money, double eur_per_usd);

inline constexpr double kSecondsPerHour = 3600;
inline constexpr double kHoursPerYear = 24 * 365.25;
inline constexpr double kMonthsPerYear = 12;
inline constexpr double kHoursPerMonth = kHoursPerYear / kMonthsPerYear;

Range HoursOf(const Range& seconds);

/// The product of two ranges of numbers that are not negative: low by low, expected by expected, high by high.
Range Times(const Range& a, const Range& b);

/// Divided by a range of numbers over 0: the lowest by the highest.
Range Over(const Range& a, const Range& b);

}  // namespace tunefit
