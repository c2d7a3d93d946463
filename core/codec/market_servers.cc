#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"

namespace tunefit {
namespace {

constexpr double kBitsOfByte = 8;

using rules::Choice, rules::Count, rules::Id, rules::Name, rules::Number, rules::Sources, rules::Text, rules::Texts;

constexpr int kMostGpus = 1024;

constexpr FieldRule kServer[] = {
    Id(),
    Text("name", 120).Needed(),
    Text("maker", 60).Needed(),
    Choice("kind", "server workstation edge tray rack instance").Needed(),
    Text("generation", 40),
    Texts(Name("gpus", Table::kGpus)).Needed(),
    Texts(Name("gpus_unconfirmed", Table::kGpus)).Items(1),
    Count("gpus_max", 1, kMostGpus).Needed(),
    Choice("mount", "hgx oam pcie pcie_single pcie_low superchip").Needed(),
    Choice("link", "switch mesh direct bridge pcie none").Needed(),
    Count("link_gpus", 2, 1024),
    Count("pcie_gen", 3, 7),
    Choice("pcie_topology", "direct switched dual_root nic_per_gpu c2c"),
    Count("sockets", 1, 64),
    Text("cpu", 120),
    Count("dimm_slots", 0, 256),
    Number("memory_max_GB", 1, 1000000),
    Text("memory_type", 80),
    Count("nic_count", 1, 256),
    Number("nic_Gbps", 1, 10000),
    Text("network", 200),
    Text("pcie_slots", 160),
    Text("storage", 160),
    Count("psu_count", 1, 64),
    Number("psu_W", 100, 100000),
    Text("psu_redundancy", 0, TextForm::kRedundancy),
    Choice("psu_efficiency", "titanium platinum"),
    Number("power_W", 50, 1000000),
    Choice("cooling", "air liquid air_or_liquid"),
    Text("cooling_note", 160),
    Choice("form", "rack tower box rack_cabinet"),
    Number("height_U", 1, 60),
    Number("weight_kg", 1, 5000),
    Text("tested", 200),
    Text("note", 300),
    Texts(Choice("unconfirmed",
                 "name gpus gpus_max mount link link_gpus pcie_gen pcie_topology sockets cpu dimm_slots "
                 "memory_max_GB memory_type nic_count nic_Gbps network pcie_slots storage psu_count psu_W "
                 "psu_redundancy psu_efficiency power_W cooling form height_U weight_kg tested price"))
        .Items(1),
    Texts(Text("derived", 0, TextForm::kAny)).Items(1),
    Sources(),
};

/// A machine's supplies, as far as all of them are known, must be what it says they are, and feed it.
void CheckSupplies(const ObjectReader& row) {
  const double count = NumberOf(row, "psu_count");
  if (count == 0) return;
  const auto together = SuppliesOf(TextOf(row, "psu_redundancy"));
  if (together && *together != count) {
    row.ValueFault("implausible", "psu_redundancy", "is of another number of supplies than psu_count");
  }
  const double supplied = count * NumberOf(row, "psu_W");
  if (supplied > 0 && NumberOf(row, "power_W") > supplied) {
    row.ValueFault("implausible", "power_W", "is more than its supplies give");
  }
}

/// A row whose fields are all right.
void ReadServer(const ObjectReader& row, Market& market) {
  if (row.Find("nic_Gbps") != nullptr) row.Require("nic_count");
  for (const FieldRule& rule : kServer) {
    if (rule.is_number() && row.Find(rule.key) != nullptr) NeedSource(row, rule.key);
  }
  CheckPaths(row);
  CheckSupplies(row);
  CatalogServer server;
  server.id = TextOf(row, "id");
  server.name = TextOf(row, "name");
  server.is_sold = TextOf(row, "kind") != "instance";
  server.has_maker = TextOf(row, "maker") != "Generic";
  server.gpus = TextsOf(row, "gpus");
  server.gpus_unconfirmed = TextsOf(row, "gpus_unconfirmed");
  server.gpus_max = row.Count("gpus_max", 1, kMostGpus).value_or(0);
  server.joins_by_host = TextOf(row, "link") == "pcie";
  server.network_bytes_per_second = NumberOf(row, "nic_count") * NumberOf(row, "nic_Gbps") * kGiga / kBitsOfByte;
  server.power_watts = NumberOf(row, "power_W");
  server.memory_bytes = NumberOf(row, "memory_max_GB") * kGiga;
  server.form = TextOf(row, "form");
  server.cooling = TextOf(row, "cooling");
  server.height_units = static_cast<std::int64_t>(NumberOf(row, "height_U"));
  server.memory_bytes_max = NumberOf(row, "memory_max_GB") * kGiga;
  for (const std::string& gpu : server.gpus_unconfirmed) {
    if (std::find(server.gpus.begin(), server.gpus.end(), gpu) == server.gpus.end()) continue;
    row.Fault("implausible", "gpus_unconfirmed", "holds a GPU that is confirmed", {{"value", gpu}});
  }
  if (TextOf(row, "link") == "none" && server.gpus_max > 1) {
    row.ValueFault("implausible", "link", "is none, between several GPUs");
  }
  market.servers.push_back(std::move(server));
}

}  // namespace

void ReadServers(const ObjectReader& bundle, const KnownNames& names, Market& market) {
  static constexpr FieldRule kServers = rules::Rows("servers", kServer).Items(1);
  if (!CheckField(bundle, kServers, names)) return;
  ForEachRow(bundle, "servers", [&](const ObjectReader& row) { ReadServer(row, market); });
}

}  // namespace tunefit
