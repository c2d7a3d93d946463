#pragma once

#include "core/codec/catalog.h"
#include "core/codec/json_reader.h"

// The parts of the bundle, each in a file of its own. Every function adds all faults to the reader's issues.

namespace tunefit {

void ReadMeta(const ObjectReader& bundle, Catalog& catalog);
/// Before the others: they look their source ids up.
void ReadSources(const ObjectReader& bundle, Catalog& catalog);
void ReadGpus(const ObjectReader& bundle, Catalog& catalog);
void ReadModels(const ObjectReader& bundle, Catalog& catalog);
void ReadStacks(const ObjectReader& bundle, Catalog& catalog);
void ReadFormulas(const ObjectReader& bundle, Catalog& catalog);
void ReadOverheads(const ObjectReader& bundle, Catalog& catalog);

/// "2024", "2024-05" or "2024-05-20".
bool IsDate(std::string_view text, bool day_needed);

/// Reads the `sources` of a row: field to ids. An id that is not in the catalog is `unknown_source`.
class RowSources {
 public:
  RowSources(const ObjectReader& row, const Catalog& catalog);
  /// The path, or one that holds it, has a source.
  bool Covers(std::string_view path) const;
  /// `unsourced` unless covered.
  void Need(std::string_view path) const;
  /// Every id once, sorted.
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  const ObjectReader& row_;
  const JsonValue* sources_ = nullptr;
  std::vector<std::string> ids_;
};

/// A text of the form of an id: lower case letters, digits, and single `.`, `_` or `-` between them. `malformed`
/// otherwise.
std::string ReadId(const ObjectReader& row);
/// The `release`, which must be there: a date of some precision. `malformed` otherwise.
std::string ReadRelease(const ObjectReader& row);
/// A text that must be there; empty when it is not.
std::string ReadText(const ObjectReader& row, std::string_view key, std::size_t longest);
/// `duplicate_id` where an earlier row has the id.
template <typename Rows, typename IdOf>
void RefuseSecond(const ObjectReader& row, const Rows& rows, const std::string& id, IdOf id_of) {
  for (const auto& earlier : rows) {
    if (id_of(earlier) != id) continue;
    row.Fault("duplicate_id", "id", "is the id of an earlier row", {{"value", id}});
    return;
  }
}

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
