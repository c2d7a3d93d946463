#include "core/codec/catalog.h"

#include <algorithm>
#include <optional>

#include "core/codec/catalog_rows.h"
#include "core/codec/json_reader.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// The index of the row of that name, whatever its case.
std::optional<std::size_t> FindRow(const std::vector<RowName>& names, std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto below = [](const RowName& entry, const std::string& key) { return entry.first < key; };
  const auto found = std::lower_bound(names.begin(), names.end(), lower, below);
  if (found == names.end() || found->first != lower) return {};
  return found->second;
}

/// What rows of the bundle may name.
KnownNames NamesOf(const ObjectReader& bundle) {
  KnownNames names;
  names.Set(Table::kSources, TextsIn(bundle.Find("sources"), "id"));
  names.Set(Table::kGpus, TextsIn(bundle.Find("gpus"), "id"));
  names.Set(Table::kArchitectures, TextsIn(bundle.Find("gpus"), "architecture"));
  names.Set(Table::kPurposes, TextsIn(bundle.Find("purposes"), "id"));
  return names;
}

}  // namespace

const StackVersion& CatalogStack::At(std::string_view month) const {
  std::size_t found = 0;
  while (found + 1 < versions.size() && versions[found + 1].since <= month) ++found;
  return versions[found];
}

const CatalogModel* Catalog::FindModel(std::string_view name) const {
  const auto row = FindRow(model_names, name);
  return row ? &models[*row] : nullptr;
}

const Gpu* Catalog::FindGpu(std::string_view name) const {
  const auto row = FindRow(gpu_names, name);
  return row ? &gpus[*row].gpu : nullptr;
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

const CatalogInterconnect* Catalog::FindInterconnect(std::string_view id) const {
  const std::string wanted = LowerCase(id);
  for (const CatalogInterconnect& link : interconnects) {
    if (link.id == wanted) return &link;
  }
  return nullptr;
}

const CatalogFormula* Catalog::FindFormula(std::string_view of) const {
  for (const CatalogFormula& formula : formulas) {
    if (formula.of == of) return &formula;
  }
  return nullptr;
}

Catalog ReadCatalog(std::string_view text, Issues& issues) {
  static constexpr std::string_view kKnown[] = {"meta",      "gpus",         "purposes",     "interconnects",
                                                "models",    "stacks",       "sources",      "formulas",
                                                "overheads", "efficiencies", "outside_steps"};
  Catalog catalog;
  JsonValue tree;
  if (!ReadBundle(text, tree, issues)) return catalog;
  const ObjectReader bundle(tree, "", NullRule::kRefused, issues);
  NeedParts(bundle, kKnown);
  const KnownNames names = NamesOf(bundle);
  catalog.date = ReadMeta(bundle, names);
  ReadSources(bundle, names, catalog);
  ReadGpus(bundle, names, catalog);
  CheckPurposes(bundle, names);
  ReadInterconnects(bundle, names, catalog);
  ReadModels(bundle, names, catalog);
  ReadStacks(bundle, names, catalog);
  ReadFormulas(bundle, names, catalog);
  ReadOverheads(bundle, names, catalog);
  ReadEfficiencies(bundle, names, catalog);
  ReadOutsideSteps(bundle, names, catalog);
  return catalog;
}

}  // namespace tunefit
