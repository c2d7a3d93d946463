#include "core/cost/pricing.h"

namespace tunefit {
namespace {

/// As a message shows it: without zeros at the end.
std::string Shown(double value) {
  std::string text = std::to_string(value);
  while (text.find('.') != std::string::npos && text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

void CheckBounds(const std::string& key, double value, double low, double high, Issues& issues) {
  if (value >= low && value <= high) return;  // false of what is no number
  const std::string field = "pricing." + key;
  issues.push_back(
      {.code = "out_of_range",
       .field = field,
       .message = field + " must be a number from " + Shown(low) + " to " + Shown(high) + ", not " + Shown(value) + ".",
       .values = {{"value", Shown(value)}, {"low", Shown(low)}, {"high", Shown(high)}}});
}

}  // namespace

void Validate(const Pricing& pricing, Issues& issues) {
  for (const PricingField& field : kPricingFields) {
    const std::optional<double>& value = pricing.*field.value;
    if (value) CheckBounds(field.key, *value, field.low, field.high, issues);
  }
  if (pricing.trials) CheckBounds("trials", static_cast<double>(*pricing.trials), 0, kMostTrials, issues);
  if (!pricing.data_work) return;
  CheckBounds("data_work.hours", pricing.data_work->hours, 0, kMostWorkHours, issues);
  CheckBounds("data_work.rate_per_hour", pricing.data_work->rate_per_hour, 0, kMostMoney, issues);
}

}  // namespace tunefit
