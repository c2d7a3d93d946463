#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Name, rules::Number, rules::Positive, rules::Rows, rules::SourceIds,
    rules::Text;

constexpr FieldRule kDefaultId = Choice("id", "electricity pue eur_per_usd support_share rdimm_64GB").Needed();
constexpr FieldRule kYear = Text("date", 0, TextForm::kDate).Needed();
constexpr FieldRule kConfidence = Choice("confidence", "low");

constexpr FieldRule kRented[] = {
    Text("provider", 60).Needed(),
    Text("instance", 120),
    Name("gpu", Table::kGpus).Needed(),
    Count("gpus", 1, 1024).Needed(),
    Positive("per_gpu_hour", 1000).Needed(),
    kCurrency,
    Choice("term", "on_demand spot community marketplace flex_start calendar one_year three_years").Needed(),
    Choice("covers", "machine gpu").Needed(),
    Text("region", 60),
    kPriceMonth,
    kConfidence,
    Text("note", 200),
    SourceIds(),
};

/// What a purchase costs, whatever is bought.
constexpr std::array kPurchase = {
    kLowestPrice,      kHighestPrice,
    kCurrency,         Choice("kind", "retail list used in_server complete barebone quoted").Needed(),
    kPriceMonth,       kConfidence,
    Text("note", 240), SourceIds(),
};
constexpr auto kGpuPrice = rules::Together(std::array{Name("gpu", Table::kGpus).Needed()}, kPurchase);
constexpr auto kServerPrice = rules::Together(
    std::array{
        Text("what", 120).Needed(),
        Name("server", Table::kServers),
        Name("gpu", Table::kGpus),
        Count("gpus", 1, 1024),
    },
    kPurchase);

constexpr FieldRule kService[] = {
    Text("provider", 60).Needed(),
    Choice("method", "lora full reinforcement not_said").Needed(),
    Text("models", 80).Needed(),
    Number("parameters_max", 1e6, 1e13),
    Number("low", 0, 10000).Needed(),
    Number("high", 0, 10000).Needed(),
    kCurrency,
    kYear,
    kConfidence.Needed(),
    Text("note", 200),
    SourceIds(),
};

constexpr FieldRule kDefault[] = {
    kDefaultId,
    Number("low", 0, 1e6).Needed(),
    Number("expected", 0, 1e6).Needed(),
    Number("high", 0, 1e6).Needed(),
    Choice("unit", "EUR_per_kWh ratio EUR_per_USD per_year USD").Needed(),
    kYear,
    kConfidence,
    Text("note", 240),
    SourceIds(),
};

constexpr FieldRule kLists[] = {
    Rows("rented", kRented).Needed(),    Rows("gpus", kGpuPrice).Needed(),    Rows("servers", kServerPrice).Needed(),
    Rows("services", kService).Needed(), Rows("defaults", kDefault).Needed(),
};

/// Every source is an excerpt, or only recalled.
bool IsWeak(const ObjectReader& row, const Catalog& catalog) {
  const std::vector<JsonValue>& ids = row.Find("sources")->items;
  return std::all_of(ids.begin(), ids.end(), [&](const JsonValue& id) {
    const std::string& grade = catalog.FindSource(id.text)->grade;
    return grade == "C" || grade == "D";
  });
}

/// `later` than `date`, as far as both are told: a month holds all of its days.
bool IsLater(std::string_view later, std::string_view date) {
  return later.substr(0, date.size()) > date.substr(0, later.size());
}

/// What holds in every list.
void CheckPrice(const ObjectReader& row, const Catalog& catalog, std::string_view catalog_date) {
  if (row.Find("low") != nullptr) CheckRange(row);
  if (row.Find("confidence") == nullptr && IsWeak(row, catalog)) {
    row.Fault("missing_field", "confidence", "is missing, and no source is the seller's or a kept table", {});
  }
  if (IsLater(row.Find("date")->text, catalog_date)) {
    row.ValueFault("implausible", "date", "is later than the catalog's");
  }
}

/// What one provider asks for one thing on one day stands there once.
void RefuseSecondOffers(const ObjectReader& prices) {
  std::vector<RowName> offers;
  ForEachRow(prices, "rented", [&](const ObjectReader& row) {
    std::string offer;
    for (const std::string_view key : {"provider", "instance", "gpu", "gpus", "term", "region", "date"}) {
      const JsonValue* value = row.Find(key);
      if (value != nullptr) offer += value->kind == JsonKind::kText ? value->text : NumberText(value->number);
      offer += '\n';
    }
    offers.emplace_back(std::move(offer), offers.size());
  });
  SortNames(offers, prices, "duplicate_id", "rented");
}

void NeedDefaults(const ObjectReader& prices) {
  const std::vector<std::string_view> there = TextsIn(prices.Find("defaults"), "id");
  for (const std::string_view id : WordsOf(kDefaultId)) {
    if (std::find(there.begin(), there.end(), id) != there.end()) continue;
    prices.Fault("missing_field", "defaults", Join({"lacks ", id}), {{"value", id}});
  }
}

}  // namespace

void CheckRange(const ObjectReader& row) {
  const double low = row.Find("low")->number;
  const double high = row.Find("high")->number;
  if (low > high) row.ValueFault("implausible", "high", "is under the lowest");
  const JsonValue* expected = row.Find("expected");
  if (expected == nullptr || (expected->number >= low && expected->number <= high)) return;
  row.ValueFault("implausible", "expected", "is not between the lowest and the highest");
}

void CheckPrices(const ObjectReader& bundle, const KnownNames& names, const Catalog& catalog, std::string_view date) {
  static constexpr FieldRule kPrices = rules::Object("prices", kLists);
  if (!CheckField(bundle, kPrices, names) || bundle.Find("prices") == nullptr) return;
  const ObjectReader prices(bundle, "prices");
  for (const FieldRule& list : kLists) {
    ForEachRow(prices, list.key, [&](const ObjectReader& row) { CheckPrice(row, catalog, date); });
  }
  RefuseSecondOffers(prices);
  NeedDefaults(prices);
}

}  // namespace tunefit
