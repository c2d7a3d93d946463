#pragma once

#include "core/codec/catalog.h"
#include "core/codec/json_reader.h"
#include "core/codec/row_rules.h"

// The parts of the first bundle, each in a file of its own, and what reading rows has in common. Every function adds
// all faults to the reader's issues; `names` are those of the bundle's own lists.

namespace tunefit {

/// Parses a bundle. False where it is no object, or no JSON.
bool ReadBundle(std::string_view text, JsonValue& tree, Issues& issues);
/// A bundle has these parts and no others.
void NeedParts(const ObjectReader& bundle, std::span<const std::string_view> parts);

/// The date of a bundle: `meta`, which both parts have.
std::string ReadMeta(const ObjectReader& bundle, const KnownNames& names);
void ReadSources(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadGpus(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void CheckPurposes(const ObjectReader& bundle, const KnownNames& names);
void ReadInterconnects(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadModels(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
/// The `config` of a row of models, which must hold whatever counts. Nothing where it has faults.
Architecture ReadConfig(const ObjectReader& row, const KnownNames& names);
void ReadStacks(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadFormulas(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadEfficiencies(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadOutsideSteps(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadOverheads(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);

/// Of the catalog's GB, Gb and GFLOPS.
inline constexpr double kGiga = 1e9;

/// The text and the number under a key of a row that was checked: empty, and 0, where it is left out.
std::string_view TextOf(const ObjectReader& row, std::string_view key);
double NumberOf(const ObjectReader& row, std::string_view key);

/// `low`, `expected` and `high` of an object that was checked; `implausible` at the object where they are not in this
/// order.
Range ReadRange(const ObjectReader& object, std::string_view key);

/// The ids in `sources` of a row that was checked: every id once, sorted.
std::vector<std::string> SourceIdsOf(const ObjectReader& row);
/// `unsourced` where neither the field, nor one that holds it, nor the whole row has a source. Of a row that was
/// checked.
void NeedSource(const ObjectReader& row, std::string_view path);
/// What `sources` and `derived` of a checked row name must be there: `unknown_field` at the path in `sources`,
/// `unknown_value` at `derived`.
void CheckPaths(const ObjectReader& row);

/// Fields that a list of a checked row names are there: `unknown_value` at the list where one is not.
void CheckNamed(const ObjectReader& row, std::string_view list);

/// The texts of a list that was checked; none where it is left out.
std::vector<std::string> TextsOf(const ObjectReader& row, std::string_view key);

/// `duplicate_id` at rows of a list that have the same values under all of these keys, divided by blanks.
void RefuseSecondRows(const ObjectReader& object, std::string_view list, std::string_view keys);

/// An architecture that a GPU of the catalog has; empty for any.
constexpr FieldRule ArchitectureName() {
  FieldRule rule = rules::Text("architecture", 40, TextForm::kAny).Needed();
  rule.names = Table::kArchitectures;
  return rule;
}

/// Sorts names for FindRow. One that stands twice is a fault of that code at the later row of the list under `key`, or
/// at a field of it (".id").
void SortNames(std::vector<RowName>& names, const ObjectReader& object, const char* code, std::string_view key,
               std::string_view field = {});

/// Calls `read(row)` with a reader for every object of the list under `key`.
template <typename Read>
void ForEachRow(const ObjectReader& bundle, std::string_view key, Read read) {
  const JsonValue* list = bundle.List(key);
  if (list == nullptr) return;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const ObjectReader row(bundle, key, i, list->items[i]);
    if (row.present()) read(row);
  }
}

}  // namespace tunefit
