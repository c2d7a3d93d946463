#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Name, rules::Number, rules::Positive, rules::Rows, rules::SourceIds,
    rules::Text;

/// A figure that the page starts from: its unit, and the least and the most that it can be.
struct Default {
  std::string_view id, unit;
  double low, high;
};
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();
constexpr Default kDefaults[] = {
    {"electricity", "EUR_per_kWh", 0, 10},
    {"pue", "ratio", 1, 10},
    {"eur_per_usd", "EUR_per_USD", kAboveZero, 100},
    {"support_share", "per_year", 0, 1},
    {"rdimm_64GB", "USD", kAboveZero, 1e6},
    {"grid_co2", "g_per_kWh", 0, 5000},
    {"lifetime", "years", kAboveZero, 100},
    {"gpu_working", "share", 0, 1},
    {"gpu_waiting", "share", 0, 1},
};
constexpr FieldRule kDefaultId =
    Choice("id", "electricity pue eur_per_usd support_share rdimm_64GB grid_co2 lifetime gpu_working gpu_waiting")
        .Needed();
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
    Choice("bills", "own padded"),
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
    Choice("unit", "EUR_per_kWh ratio EUR_per_USD per_year USD g_per_kWh years share").Needed(),
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

/// What holds for the catalog's own prices.
void CheckListed(const ObjectReader& row, const PriceContext& context) {
  CheckPrice(row, context);
  if (row.Find("confidence") == nullptr && IsWeak(row, context.catalog)) {
    row.Fault("missing_field", "confidence", "is missing, and no source is the seller's or a kept table", {});
  }
}

void CheckDefaults(const ObjectReader& prices) {
  for (const Default& known : kDefaults) {
    bool is_there = false;
    ForEachRow(prices, "defaults", [&](const ObjectReader& row) {
      if (row.Find("id")->text != known.id) return;
      is_there = true;
      const std::string& unit = row.Find("unit")->text;
      if (unit != known.unit) row.UnknownValue("unit", unit, std::array{known.unit});
      for (const std::string_view key : {"low", "expected", "high"}) row.Number(key, known.low, known.high);
    });
    if (!is_there) prices.Fault("missing_field", "defaults", Join({"lacks ", known.id}), {{"value", known.id}});
  }
}

/// `low` to `high`, and `expected` between them.
void CheckRange(const ObjectReader& row) {
  if (row.Find("low") == nullptr) return;
  const double low = row.Find("low")->number;
  const double high = row.Find("high")->number;
  if (low > high) row.ValueFault("implausible", "high", Join({"is under the lowest, ", NumberText(low)}));
  const JsonValue* expected = row.Find("expected");
  if (expected == nullptr || (expected->number >= low && expected->number <= high)) return;
  row.ValueFault("implausible", "expected", "is not between the lowest and the highest");
}

/// A price of a machine is of cards that it takes.
void CheckMachine(const ObjectReader& row, const Market& market) {
  const JsonValue* id = row.Find("server");
  const CatalogServer* server = id == nullptr ? nullptr : market.FindServer(id->text);
  if (server == nullptr) return;
  const JsonValue* gpu = row.Find("gpu");
  const auto takes = [gpu](const std::vector<std::string>& gpus) {
    return std::find(gpus.begin(), gpus.end(), gpu->text) != gpus.end();
  };
  if (gpu != nullptr && !takes(server->gpus) && !takes(server->gpus_unconfirmed)) {
    row.Fault("gpu_not_in_server", "gpu", Join({"is \"", gpu->text, "\", which ", server->id, " does not take"}),
              {{"value", gpu->text}, {"server", server->id}});
  }
  const JsonValue* gpus = row.Find("gpus");
  if (gpus == nullptr || gpus->number <= static_cast<double>(server->gpus_max)) return;
  const std::string count = NumberText(gpus->number);
  const std::string high = std::to_string(server->gpus_max);
  row.Fault("too_many_gpus_in_server", "gpus", Join({"is ", count, ", and ", server->id, " takes at most ", high}),
            {{"value", count}, {"high", high}, {"server", server->id}});
}

}  // namespace

void CheckPrice(const ObjectReader& row, const PriceContext& context) {
  CheckRange(row);
  CheckMachine(row, context.market);
  if (!context.date.empty() && IsLater(row.Find("date")->text, context.date)) {
    row.ValueFault("implausible", "date", Join({"is later than the catalog's date in meta.json, ", context.date}));
  }
}

void CheckPrices(const ObjectReader& bundle, const KnownNames& names, const PriceContext& context) {
  static constexpr FieldRule kPrices = rules::Object("prices", kLists);
  if (!CheckField(bundle, kPrices, names) || bundle.Find("prices") == nullptr) return;
  const ObjectReader prices(bundle, "prices");
  for (const FieldRule& list : kLists) {
    ForEachRow(prices, list.key, [&](const ObjectReader& row) { CheckListed(row, context); });
  }
  RefuseSecondRows(prices, "rented", "provider instance gpu gpus term region date");
  RefuseSecondRows(prices, "gpus", "gpu kind currency date");
  RefuseSecondRows(prices, "servers", "what server gpu gpus kind currency date");
  RefuseSecondRows(prices, "services", "provider method models currency date");
  CheckDefaults(prices);
}

}  // namespace tunefit
