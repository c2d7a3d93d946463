#include "core/cost/money.h"

namespace tunefit {

std::string_view CurrencyName(Currency currency) { return currency == Currency::kEur ? "EUR" : "USD"; }

double AmountIn(Currency currency, const Money& money, double eur_per_usd) {
  if (money.currency == currency) return money.amount;
  return money.currency == Currency::kUsd ? money.amount * eur_per_usd : money.amount / eur_per_usd;
}

Range HoursOf(const Range& seconds) {
  return {seconds.low / kSecondsPerHour, seconds.expected / kSecondsPerHour, seconds.high / kSecondsPerHour};
}

Range Times(const Range& a, const Range& b) { return {a.low * b.low, a.expected * b.expected, a.high * b.high}; }

Range Over(const Range& a, const Range& b) { return {a.low / b.high, a.expected / b.expected, a.high / b.low}; }

}  // namespace tunefit
