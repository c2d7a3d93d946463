#include <array>
#include <string_view>

#include "core/codec/request_fields.h"

namespace tunefit {
namespace {

/// What `pricing` may hold beside the numbers of kPricingFields.
constexpr std::string_view kOthers[] = {"currency", "provider", "region", "term", "trials", "data_work"};

constexpr auto kKnown = [] {
  std::array<std::string_view, std::size(kOthers) + std::size(kPricingFields)> known{};
  std::size_t count = 0;
  for (const std::string_view key : kOthers) known[count++] = key;
  for (const PricingField& field : kPricingFields) known[count++] = field.key;
  return known;
}();

void ReadWishes(const ObjectReader& pricing, Pricing& read) {
  if (const auto choice = pricing.Choice("currency", CurrencyWords())) read.currency = static_cast<Currency>(*choice);
  read.provider = pricing.Text("provider").value_or("");
  read.region = pricing.Text("region").value_or("");
  if (const auto choice = pricing.Choice("term", RentalTermWords())) read.term = static_cast<RentalTerm>(*choice);
}

void ReadDataWork(const ObjectReader& pricing, Pricing& read) {
  static constexpr std::string_view kWork[] = {"hours", "rate_per_hour"};
  const ObjectReader work(pricing, "data_work");
  if (!work.present()) return;
  work.RefuseUnknown(kWork);
  work.Require("hours");
  work.Require("rate_per_hour");
  read.data_work = DataWork{ReadNumber(work, words::NumberAt("pricing.data_work.hours")).value_or(0),
                            ReadNumber(work, words::NumberAt("pricing.data_work.rate_per_hour")).value_or(0)};
}

}  // namespace

std::vector<Word> CurrencyWords() { return {CurrencyName(Currency::kEur), CurrencyName(Currency::kUsd)}; }

std::vector<Word> RentalTermWords() {
  std::vector<Word> terms;
  for (int i = 0; i < kRentalTermCount; ++i) terms.push_back(RentalTermName(static_cast<RentalTerm>(i)));
  return terms;
}

void ReadPricing(const ObjectReader& request, RequestFields& fields) {
  fields.pricing = request.Find("pricing");
  const ObjectReader pricing(request, "pricing");
  if (!pricing.present()) return;
  pricing.RefuseUnknown(kKnown);
  Pricing& read = fields.prices;
  ReadWishes(pricing, read);
  for (const PricingField& field : kPricingFields) {
    read.*field.value = pricing.Number(field.key, field.low, field.high);
  }
  read.trials = ReadCount(pricing, words::NumberAt("pricing.trials"));
  ReadDataWork(pricing, read);
}

}  // namespace tunefit
