#include "core/codec/catalog.h"

#include <algorithm>
#include <optional>

#include "core/codec/catalog_rows.h"
#include "core/codec/json_reader.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// Names of all models, for the lookup; a name that two models share is a fault.
void IndexNames(Catalog& catalog, const ObjectReader& bundle) {
  auto& names = catalog.model_names;
  for (std::size_t i = 0; i < catalog.models.size(); ++i) {
    const CatalogModel& model = catalog.models[i];
    names.emplace_back(LowerCase(model.id), i);
    if (!model.hf_id.empty()) names.emplace_back(LowerCase(model.hf_id), i);
    for (const std::string& alias : model.aliases) names.emplace_back(LowerCase(alias), i);
  }
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first) continue;
    bundle.Fault("duplicate_name", "models." + std::to_string(names[i].second),
                 Join({"shares the name \"", names[i].first, "\" with another name of this list"}),
                 {{"value", names[i].first}});
  }
}

}  // namespace

const StackVersion& CatalogStack::At(std::string_view month) const {
  std::size_t found = 0;
  while (found + 1 < versions.size() && versions[found + 1].since <= month) ++found;
  return versions[found];
}

const CatalogModel* Catalog::FindModel(std::string_view name) const {
  const std::string lower = LowerCase(name);
  const auto below = [](const auto& entry, const std::string& key) { return entry.first < key; };
  const auto found = std::lower_bound(model_names.begin(), model_names.end(), lower, below);
  return found != model_names.end() && found->first == lower ? &models[found->second] : nullptr;
}

const Gpu* Catalog::FindGpu(std::string_view id) const {
  const std::string lower = LowerCase(id);
  for (const CatalogGpu& row : gpus) {
    if (row.gpu.id == lower) return &row.gpu;
  }
  return nullptr;
}

const CatalogStack* Catalog::FindStack(std::string_view id) const {
  for (const CatalogStack& stack : stacks) {
    if (stack.id == id) return &stack;
  }
  return nullptr;
}

const CatalogSource* Catalog::FindSource(std::string_view id) const {
  const auto below = [](const CatalogSource& source, std::string_view key) { return source.id < key; };
  const auto found = std::lower_bound(sources.begin(), sources.end(), id, below);
  return found != sources.end() && found->id == id ? &*found : nullptr;
}

const CatalogFormula* Catalog::FindFormula(std::string_view of) const {
  for (const CatalogFormula& formula : formulas) {
    if (formula.of == of) return &formula;
  }
  return nullptr;
}

Catalog ReadCatalog(std::string_view text, Issues& issues) {
  static constexpr std::string_view kKnown[] = {"meta", "gpus", "models", "stacks", "sources", "formulas", "overheads"};
  Catalog catalog;
  const JsonValue tree = ParseJson(text, kFileLimits, issues);
  if (!issues.empty()) return catalog;
  if (tree.kind != JsonKind::kObject) {
    AddIssue(issues, "wrong_type", "", "The catalog must be an object.",
             {{"expected", "an object"}, {"found", JsonKindName(tree.kind)}});
    return catalog;
  }
  const ObjectReader bundle(tree, "", NullRule::kRefused, issues);
  bundle.RefuseUnknown(kKnown);
  for (const std::string_view part : kKnown) bundle.Require(part);
  ReadMeta(bundle, catalog);
  ReadSources(bundle, catalog);
  ReadGpus(bundle, catalog);
  ReadModels(bundle, catalog);
  ReadStacks(bundle, catalog);
  ReadFormulas(bundle, catalog);
  ReadOverheads(bundle, catalog);
  IndexNames(catalog, bundle);
  return catalog;
}

}  // namespace tunefit
