#include <algorithm>
#include <array>
#include <string>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"

// What was checked is kept as core/cost takes it. Only of bundles without a fault.

namespace tunefit {
namespace {

std::int64_t CountOf(const ObjectReader& row, std::string_view key) {
  return static_cast<std::int64_t>(NumberOf(row, key));
}

Currency CurrencyOf(const ObjectReader& row) {
  return TextOf(row, "currency") == CurrencyName(Currency::kUsd) ? Currency::kUsd : Currency::kEur;
}

/// The value of an enumeration whose name stands under `key`.
template <typename Kind>
Kind KindOf(const ObjectReader& row, std::string_view key, int count, std::string_view (*name)(Kind)) {
  const std::string_view text = TextOf(row, key);
  int index = 0;
  while (index < count - 1 && name(static_cast<Kind>(index)) != text) ++index;
  return static_cast<Kind>(index);
}

Provenance ProvenanceOf(const ObjectReader& row) {
  Provenance provenance;
  provenance.date = TextOf(row, "date");
  provenance.low_confidence = row.Find("confidence") != nullptr;
  provenance.note = TextOf(row, "note");
  if (row.Find("sources") != nullptr) provenance.source_ids = TextsOf(row, "sources");
  return provenance;
}

Offer OfferOf(const ObjectReader& row) {
  Offer offer;
  offer.provider = TextOf(row, "provider");
  offer.instance = TextOf(row, "instance");
  offer.region = TextOf(row, "region");
  offer.gpu = TextOf(row, "gpu");
  offer.gpus = CountOf(row, "gpus");
  offer.price_per_gpu_hour = NumberOf(row, "per_gpu_hour");
  offer.currency = CurrencyOf(row);
  offer.term = KindOf(row, "term", kRentalTermCount, RentalTermName);
  offer.covers_machine = TextOf(row, "covers") == "machine";
  offer.provenance = ProvenanceOf(row);
  return offer;
}

PurchasePrice PurchasePriceOf(const ObjectReader& row) {
  PurchasePrice price;
  price.server = TextOf(row, "server");
  price.gpu = TextOf(row, "gpu");
  price.gpus = CountOf(row, "gpus");
  price.low = NumberOf(row, "low");
  price.high = NumberOf(row, "high");
  price.currency = CurrencyOf(row);
  // The vendor's own have no kind.
  price.kind =
      row.Find("kind") == nullptr ? PurchaseKind::kQuoted : KindOf(row, "kind", kPurchaseKindCount, PurchaseKindName);
  price.provenance = ProvenanceOf(row);
  return price;
}

TokenService ServiceOf(const ObjectReader& row) {
  TokenService service;
  service.provider = TextOf(row, "provider");
  service.models = TextOf(row, "models");
  service.method = KindOf(row, "method", kTuningMethodCount, TuningMethodName);
  service.parameters_max = NumberOf(row, "parameters_max");
  service.low = NumberOf(row, "low");
  service.high = NumberOf(row, "high");
  service.currency = CurrencyOf(row);
  const std::string_view bills = TextOf(row, "bills");
  if (bills == "own") service.billed = BilledTokens::kOwn;
  if (bills == "padded") service.billed = BilledTokens::kPadded;
  service.provenance = ProvenanceOf(row);
  return service;
}

void KeepDefaults(const ObjectReader& prices, CostDefaults& defaults) {
  const std::pair<std::string_view, Figure&> figures[] = {
      {"electricity", defaults.electricity_eur_per_kwh},
      {"pue", defaults.pue},
      {"eur_per_usd", defaults.eur_per_usd},
      {"support_share", defaults.support_share_per_year},
      {"grid_co2", defaults.grid_g_co2_per_kwh},
      {"lifetime", defaults.lifetime_years},
      {"gpu_working", defaults.working_power_share},
      {"gpu_waiting", defaults.waiting_power_share},
  };
  ForEachRow(prices, "defaults", [&](const ObjectReader& row) {
    for (const auto& [id, figure] : figures) {
      if (TextOf(row, "id") != id) continue;
      figure.value = {NumberOf(row, "low"), NumberOf(row, "expected"), NumberOf(row, "high")};
      figure.provenance = ProvenanceOf(row);
    }
  });
}

/// Names that a vendor chose; whoever chose none shows all.
class ShownNames {
 public:
  ShownNames(const ObjectReader& vendor, std::string_view list)
      : all_(vendor.Find(list) == nullptr), names_(TextsOf(vendor, list)) {}

  bool Shows(std::string_view name) const {
    return all_ || std::find(names_.begin(), names_.end(), name) != names_.end();
  }

 private:
  bool all_;
  std::vector<std::string> names_;
};

}  // namespace

void KeepPrices(const ObjectReader& bundle, Prices& kept) {
  const ObjectReader prices(bundle, "prices");
  const ObjectReader vendor(bundle, "vendor");
  const ObjectReader own(vendor, "prices");
  kept.currency = CurrencyOf(vendor);
  const ShownNames providers(vendor, "providers");
  std::vector<Offer> offers;
  ForEachRow(prices, "rented", [&](const ObjectReader& row) {
    if (providers.Shows(TextOf(row, "provider"))) offers.push_back(OfferOf(row));
  });
  kept.offers = CurrentOffers(offers);
  ForEachRow(prices, "services", [&](const ObjectReader& row) {
    if (providers.Shows(TextOf(row, "provider"))) kept.services.push_back(ServiceOf(row));
  });
  const ShownNames servers(vendor, "servers");
  ForEachRow(own, "gpus", [&](const ObjectReader& row) { kept.cards.push_back(PurchasePriceOf(row)); });
  ForEachRow(prices, "gpus", [&](const ObjectReader& row) { kept.cards.push_back(PurchasePriceOf(row)); });
  ForEachRow(own, "servers", [&](const ObjectReader& row) { kept.machines.push_back(PurchasePriceOf(row)); });
  ForEachRow(prices, "servers", [&](const ObjectReader& row) {
    if (servers.Shows(TextOf(row, "server"))) kept.machines.push_back(PurchasePriceOf(row));
  });
  KeepDefaults(prices, kept.defaults);
  if (own.Find("electricity_EUR_per_kWh") == nullptr) return;
  kept.defaults.electricity_eur_per_kwh = {Exactly(NumberOf(own, "electricity_EUR_per_kWh")), {}};
}

}  // namespace tunefit
