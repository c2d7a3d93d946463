#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Id, rules::Name, rules::Object, rules::Rows, rules::SourceIds, rules::Text,
    rules::Texts;

constexpr double kFewestParameters = 1e6;
constexpr double kMostParameters = 1e14;

constexpr FieldRule kAdjustment[] = {
    Text("what", 160).Needed(),
    Count("count", -kMostParameters, kMostParameters).Needed(),
};
constexpr FieldRule kModelSources[] = {SourceIds("config"), SourceIds("parameters"), SourceIds("card")};

constexpr FieldRule kModel[] = {
    Id(),
    Text("name", 120).Needed(),
    Text("hf_id", 120, TextForm::kHubName).Needed(),
    Texts(Text("aliases", 120, TextForm::kHubName)).Needed(),
    Text("family", 40).Needed(),
    Text("organisation", 60).Needed(),
    Text("licence", 120),
    Text("release", 0, TextForm::kDate).Needed(),
    Texts(Name("good_for", Table::kPurposes)).Items(1, 3),
    FieldRule{.key = "config"}.Needed(),
    Count("parameters", kFewestParameters, kMostParameters).Needed(),
    Count("hub_total", kFewestParameters, kMostParameters),
    Rows("adjustments", kAdjustment).Items(1),
    Count("printed_total", kFewestParameters, kMostParameters),
    Choice("confidence", "A B C D").Needed(),
    Text("note", 240),
    Object("sources", kModelSources).Needed(),
};

/// Exact: no count is over 2^53, and 8e9 is one as well.
std::int64_t CountOf(const ObjectReader& row, std::string_view key) {
  return static_cast<std::int64_t>(row.Find(key)->number);
}

/// A printed size is the count within its rounding.
void CheckPrintedTotal(const ObjectReader& row, std::int64_t parameters) {
  constexpr double kRounding = 0.01;
  if (row.Find("printed_total") == nullptr) return;
  const auto printed = static_cast<double>(CountOf(row, "printed_total"));
  if (std::abs(static_cast<double>(parameters) - printed) <= kRounding * printed) return;
  const std::string value = std::to_string(parameters);
  row.Fault("implausible", "printed_total", Join({"is more than a hundredth away from the parameters, ", value}),
            {{"value", value}});
}

/// What the hub shows besides must be explained to the last parameter.
void CheckHubTotal(const ObjectReader& row, std::int64_t parameters) {
  if (row.Find("hub_total") != nullptr) row.Require("adjustments");
  if (row.Find("adjustments") != nullptr) row.Require("hub_total");
  if (row.Find("hub_total") == nullptr) return;
  std::int64_t explained = parameters;
  ForEachRow(row, "adjustments", [&](const ObjectReader& adjustment) { explained += CountOf(adjustment, "count"); });
  if (explained == CountOf(row, "hub_total")) return;
  const std::string value = std::to_string(explained);
  row.Fault("implausible", "hub_total", Join({"is not what the parameters and adjustments add up to, ", value}),
            {{"value", value}});
}

/// The names of the row, which stands at the end of the catalog's rows.
void AddNames(Catalog& catalog) {
  const CatalogModel& model = catalog.models.back();
  const auto add = [&](std::string_view name) {
    catalog.model_names.emplace_back(LowerCase(name), catalog.models.size() - 1);
  };
  add(model.id);
  add(model.hf_id);
  for (const std::string& alias : model.aliases) add(alias);
}

/// A row whose fields are all right.
void ReadModel(const ObjectReader& row, const KnownNames& names, Catalog& catalog) {
  CatalogModel model;
  model.id = row.Find("id")->text;
  model.name = row.Find("name")->text;
  model.hf_id = row.Find("hf_id")->text;
  model.aliases = TextsOf(row, "aliases");
  model.family = row.Find("family")->text;
  model.organisation = row.Find("organisation")->text;
  model.source_ids = SourceIdsOf(row);
  const std::int64_t stated = CountOf(row, "parameters");
  const std::size_t before = row.issues().size();
  model.architecture = ReadConfig(row, names);
  if (row.issues().size() == before) {
    model.parameters = CountParameters(model.architecture).total();
    if (model.parameters != stated) {
      const std::string counted = std::to_string(model.parameters);
      row.Fault("parameters_mismatch", "parameters", Join({"is not what the config gives, ", counted}),
                {{"value", std::to_string(stated)}, {"expected", counted}});
    }
  }
  CheckHubTotal(row, stated);
  CheckPrintedTotal(row, stated);
  catalog.models.push_back(std::move(model));
  AddNames(catalog);
}

}  // namespace

void ReadModels(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kModels = Rows("models", kModel).Items(1);
  if (!CheckField(bundle, kModels, names)) return;
  ForEachRow(bundle, "models", [&](const ObjectReader& row) { ReadModel(row, names, catalog); });
  SortNames(catalog.model_names, bundle, "duplicate_name", "models");
}

}  // namespace tunefit
