#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

/// Beyond any memory of a GPU.
constexpr double kMostBytes = 1e13;

double ReadNumber(const ObjectReader& object, std::string_view key, double high) {
  object.Require(key);
  return object.Number(key, 0, high).value_or(0);
}

Range ReadRange(const ObjectReader& object, std::string_view key, double high) {
  static constexpr Known kKnown = {"low", "expected", "high"};
  object.Require(key);
  const ObjectReader reader(object, key);
  reader.RefuseUnknown(kKnown);
  Range range;
  range.low = ReadNumber(reader, "low", high);
  range.expected = ReadNumber(reader, "expected", high);
  range.high = ReadNumber(reader, "high", high);
  if (range.low > range.expected || range.expected > range.high) {
    object.Fault("implausible", key, "must have low, expected and high in this order", {});
  }
  return range;
}

/// Every constant names the runs that it was fitted on.
void CheckRuns(const ObjectReader& overheads, std::span<const std::string_view> constants) {
  overheads.Require("runs");
  const ObjectReader runs(overheads, "runs");
  runs.RefuseUnknown(constants);
  for (const std::string_view constant : constants) {
    runs.Require(constant);
    const auto names = runs.Texts(constant, 4096);
    if (names && names->empty()) overheads.Fault("unsourced", constant, "names no run", {});
  }
}

}  // namespace

void ReadOverheads(const ObjectReader& bundle, Catalog& catalog) {
  static constexpr Known kConstants = {"allocated_low_fraction",
                                       "allocated_high_fraction",
                                       "reserved_low_fraction",
                                       "reserved_high_fraction",
                                       "reserved_high_of_loss",
                                       "contexts",
                                       "collectives"};
  static constexpr Known kKnown = {"allocated_low_fraction",
                                   "allocated_high_fraction",
                                   "reserved_low_fraction",
                                   "reserved_high_fraction",
                                   "reserved_high_of_loss",
                                   "contexts",
                                   "collectives",
                                   "runs"};
  static constexpr Known kContextKnown = {"architecture", "bytes"};
  const ObjectReader object(bundle, "overheads");
  if (!object.present()) return;
  Overheads& overheads = catalog.overheads;
  object.RefuseUnknown(kKnown);
  overheads.allocated_low_fraction = ReadNumber(object, "allocated_low_fraction", 1);
  overheads.allocated_high_fraction = ReadNumber(object, "allocated_high_fraction", 10);
  overheads.reserved_low_fraction = ReadNumber(object, "reserved_low_fraction", 1);
  overheads.reserved_high_fraction = ReadNumber(object, "reserved_high_fraction", 10);
  overheads.reserved_high_of_loss = ReadNumber(object, "reserved_high_of_loss", 10);
  overheads.collectives = ReadRange(object, "collectives", kMostBytes);
  object.Require("contexts");
  bool has_any = false;
  ForEachRow(object, "contexts", [&](const ObjectReader& row) {
    row.RefuseUnknown(kContextKnown);
    row.Require("architecture");
    Overheads::Context context;
    context.architecture = row.Text("architecture", 40).value_or("");
    context.bytes = ReadRange(row, "bytes", kMostBytes);
    has_any = has_any || context.architecture.empty();
    overheads.contexts.push_back(std::move(context));
  });
  if (object.List("contexts") != nullptr && !has_any) {
    object.Fault("missing_field", "contexts", "must hold one without an architecture, for any GPU", {});
  }
  CheckRuns(object, kConstants);
}

}  // namespace tunefit
