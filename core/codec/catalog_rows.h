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
std::string ReadMeta(const ObjectReader& bundle);
/// Before the formulas, which look their source ids up.
void ReadSources(const ObjectReader& bundle, Catalog& catalog);
void ReadGpus(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void CheckPurposes(const ObjectReader& bundle, const KnownNames& names);
void CheckInterconnects(const ObjectReader& bundle, const KnownNames& names);
void ReadModels(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadStacks(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog);
void ReadFormulas(const ObjectReader& bundle, Catalog& catalog);
void ReadOverheads(const ObjectReader& bundle, Catalog& catalog);

/// Reads the `sources` of a row, field to ids: every id once, sorted.
std::vector<std::string> ReadSourceIds(const ObjectReader& row, const KnownNames& names);
/// `unsourced` where neither the field, nor one that holds it, nor the whole row has a source. Nothing for a row
/// without `sources`: that is said already.
void NeedSource(const ObjectReader& row, std::string_view path);

/// A text of the form of an id: lower case letters, digits, and single `.`, `_` or `-` between them. `malformed`
/// otherwise.
std::string ReadId(const ObjectReader& row);
/// The `release`, which must be there: a date of some precision. `malformed` otherwise.
std::string ReadRelease(const ObjectReader& row);
/// A text that must be there; empty when it is not.
std::string ReadText(const ObjectReader& row, std::string_view key, std::size_t longest);
/// The texts of a list that was checked; none where it is left out.
std::vector<std::string> TextsOf(const ObjectReader& row, std::string_view key);
/// `duplicate_id` where an earlier row has the id.
template <typename Rows, typename IdOf>
void RefuseSecond(const ObjectReader& row, const Rows& rows, const std::string& id, IdOf id_of) {
  for (const auto& earlier : rows) {
    if (id_of(earlier) != id) continue;
    row.Fault("duplicate_id", "id", "is the id of an earlier row", {{"value", id}});
    return;
  }
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
