#include <utility>

#include "core/codec/catalog_rows.h"

namespace tunefit {
namespace {

using rules::Number, rules::Object, rules::Rows;

/// Beyond any memory of a GPU.
constexpr double kMostBytes = 1e13;

constexpr FieldRule kRange[] = {
    Number("low", 0, kMostBytes).Needed(),
    Number("expected", 0, kMostBytes).Needed(),
    Number("high", 0, kMostBytes).Needed(),
};
constexpr FieldRule kContext[] = {ArchitectureName(), Object("bytes", kRange).Needed()};

constexpr FieldRule kOverheads[] = {
    Number("allocated_low_fraction", 0, 1).Needed(), Number("allocated_high_fraction", 0, 10).Needed(),
    Number("reserved_low_fraction", 0, 1).Needed(),  Number("reserved_high_fraction", 0, 10).Needed(),
    Number("reserved_high_of_loss", 0, 10).Needed(), Object("collectives", kRange).Needed(),
    Rows("contexts", kContext).Items(1).Needed(),
};

}  // namespace

void ReadOverheads(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kRule = Object("overheads", kOverheads);
  if (!CheckField(bundle, kRule, names) || bundle.Find("overheads") == nullptr) return;
  const ObjectReader object(bundle, "overheads");
  const auto number = [&object](std::string_view key) { return object.Find(key)->number; };
  Overheads& overheads = catalog.overheads;
  overheads.allocated_low_fraction = number("allocated_low_fraction");
  overheads.allocated_high_fraction = number("allocated_high_fraction");
  overheads.reserved_low_fraction = number("reserved_low_fraction");
  overheads.reserved_high_fraction = number("reserved_high_fraction");
  overheads.reserved_high_of_loss = number("reserved_high_of_loss");
  overheads.collectives = ReadRange(object, "collectives");
  bool has_any = false;
  ForEachRow(object, "contexts", [&](const ObjectReader& row) {
    Overheads::Context context;
    context.architecture = row.Find("architecture")->text;
    context.bytes = ReadRange(row, "bytes");
    has_any = has_any || context.architecture.empty();
    overheads.contexts.push_back(std::move(context));
  });
  RefuseSecondRows(object, "contexts", "architecture");
  if (!has_any) object.Fault("missing_field", "contexts", "must hold one without an architecture, for any GPU", {});
}

}  // namespace tunefit
