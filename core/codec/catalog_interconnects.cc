#include <optional>
#include <string_view>
#include <utility>

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

/// Nothing where the row joins neither GPUs nor machines. An Ethernet port is taken to be a machine's only one; of
/// InfiniBand a machine has one for each GPU.
std::optional<Joins> JoinsOf(std::string_view kind, std::string_view per) {
  if (kind == "pcie") return Joins::kGpusByHost;
  if (kind == "nvlink" || kind == "infinity_fabric") return Joins::kGpus;
  if (kind == "infiniband") return per == "node" ? Joins::kMachines : Joins::kMachinesByGpu;
  if (kind == "ethernet") return per == "gpu" ? Joins::kGpus : Joins::kMachines;
  return {};
}

void ReadInterconnect(const ObjectReader& row, Catalog& catalog) {
  CheckInterconnect(row);
  const std::optional<Joins> joins = JoinsOf(row.Find("kind")->text, row.Find("per")->text);
  const JsonValue* rate = row.Find("one_way_GBps");
  if (!joins || rate == nullptr) return;
  CatalogInterconnect link{row.Find("id")->text, row.Find("name")->text, *joins, rate->number * kGiga, {}};
  if (row.Find("gpus") != nullptr) link.gpus = TextsOf(row, "gpus");
  if (link.joins == Joins::kGpus && link.gpus.empty()) return;
  catalog.interconnects.push_back(std::move(link));
}

}  // namespace

void ReadInterconnects(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kInterconnects = Rows("interconnects", kInterconnect).Items(1);
  if (!CheckField(bundle, kInterconnects, names)) return;
  ForEachRow(bundle, "interconnects", [&](const ObjectReader& row) { ReadInterconnect(row, catalog); });
}

}  // namespace tunefit
