#include "core/codec/catalog_rows.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Flag, rules::Id, rules::Name, rules::Positive, rules::Rows, rules::SourceIds,
    rules::Sources, rules::Text, rules::Texts;

/// A collective's bus bandwidth over the link's rate: a switch that adds up sends less than it delivers.
constexpr double kMeasuredHigh = 1.3;

constexpr FieldRule kMeasured[] = {
    Choice("operation", "copy to_device to_host all_reduce all_gather reduce_scatter all_to_all read write").Needed(),
    Positive("GBps", 100000).Needed(),
    Name("gpu", Table::kGpus),
    Count("ranks", 2, 100000),
    Count("nodes", 1, 10000),
    Positive("payload_MiB", 1048576),
    Flag("in_switch"),
    Text("note", 160),
    SourceIds(),
};

constexpr FieldRule kInterconnect[] = {
    Id(),
    Text("name", 120).Needed(),
    Choice("kind", "pcie nvlink infinity_fabric ethernet infiniband host_link host_memory nvme").Needed(),
    Count("generation", 1, 9),
    Choice("per", "gpu board slot port channel socket node drives").Needed(),
    Positive("one_way_GBps", 100000),
    Texts(Name("gpus", Table::kGpus)).Items(1),
    Rows("measured", kMeasured).Items(1),
    Text("note", 240),
    Sources(),
};

/// A row whose fields are all right.
void CheckInterconnect(const ObjectReader& row) {
  CheckPaths(row);
  const JsonValue* rate = row.Find("one_way_GBps");
  if (rate == nullptr) {
    if (row.Find("measured") == nullptr) row.Require("one_way_GBps");
    return;
  }
  NeedSource(row, "one_way_GBps");
  ForEachRow(row, "measured", [&](const ObjectReader& measured) {
    if (measured.Find("GBps")->number <= kMeasuredHigh * rate->number) return;
    measured.ValueFault("implausible", "GBps", "is too far over the link's rate");
  });
}

}  // namespace

void CheckInterconnects(const ObjectReader& bundle, const KnownNames& names) {
  static constexpr FieldRule kInterconnects = Rows("interconnects", kInterconnect).Items(1);
  if (CheckField(bundle, kInterconnects, names)) ForEachRow(bundle, "interconnects", CheckInterconnect);
}

}  // namespace tunefit
