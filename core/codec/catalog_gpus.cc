#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;
/// What the driver shows, of the capacity on the box: ECC over GDDR costs a sixteenth.
constexpr double kUsableLow = 0.9;
constexpr double kUsableHigh = 1;
/// A measured rate over the printed one: cards clock higher than their makers print.
constexpr double kMeasuredHigh = 1.15;
/// Dense 16-bit rate over memory bandwidth, flops a byte.
constexpr double kIntensityLow = 20;
constexpr double kIntensityHigh = 700;
constexpr Known kMeasured = {"fp16", "bf16", "fp8"};

/// Reads the number and asks for its source.
double ReadNumber(const ObjectReader& row, std::string_view key, double low, double high) {
  if (row.Find(key) != nullptr) NeedSource(row, key);
  return row.Number(key, low, high).value_or(0);
}

/// The rates of an object of rates, each with a source.
void CheckRates(const ObjectReader& row, std::string_view key, std::span<const std::string_view> dtypes) {
  const ObjectReader rates(row, key);
  rates.RefuseUnknown(dtypes);
  for (const std::string_view dtype : dtypes) {
    if (rates.Find(dtype) == nullptr) continue;
    rates.Number(dtype, std::numeric_limits<double>::min(), 100000);
    NeedSource(row, Join({key, ".", dtype}));
  }
}

double RateOf(const ObjectReader& rates, std::string_view dtype) {
  const JsonValue* value = rates.Find(dtype);
  return value == nullptr ? 0 : value->number;
}

/// A capacity in the name, "A100 PCIe 40GB", or 0.
double NamedGiB(std::string_view name) {
  for (std::size_t at = name.find("GB"); at != name.npos; at = name.find("GB", at + 1)) {
    if (at + 2 < name.size() && (name[at + 2] >= 'A' && name[at + 2] <= 'z')) continue;
    std::size_t end = at;
    if (end > 0 && name[end - 1] == ' ') --end;
    std::size_t begin = end;
    double number = 0;
    while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
    for (std::size_t i = begin; i < end; ++i) number = number * 10 + (name[i] - '0');
    if (begin < end) return number;
  }
  return 0;
}

void CheckPlausible(const ObjectReader& row, const Gpu& gpu, double bandwidth_gbps) {
  const double capacity = gpu.memory_bytes;
  for (const std::string_view key : {"memory_usable_MiB", "memory_usable_ecc_on_MiB", "memory_usable_ecc_off_MiB"}) {
    const JsonValue* value = row.Find(key);
    if (value == nullptr || capacity == 0) continue;
    const double fraction = value->number * kMiB / capacity;
    if (fraction < kUsableLow || fraction > kUsableHigh) {
      row.ValueFault("implausible", key, "is too far from the capacity on the box");
    }
  }
  if (const double named = NamedGiB(gpu.name); named != 0 && capacity != 0 && named * kGiB != capacity) {
    row.ValueFault("implausible", "name", "holds another capacity than memory_GiB");
  }
  const ObjectReader rates(row, "dense_TFLOPS");
  const double rate = rates.Find("bf16") != nullptr ? RateOf(rates, "bf16") : RateOf(rates, "fp16");
  if (rate != 0 && bandwidth_gbps != 0) {
    const double intensity = rate * 1000 / bandwidth_gbps;
    if (intensity < kIntensityLow || intensity > kIntensityHigh) {
      row.Fault("implausible", "dense_TFLOPS", "does not go with the memory bandwidth", {{"value", NumberText(rate)}});
    }
  }
  const ObjectReader measured(row, "measured_TFLOPS");
  for (const std::string_view dtype : kMeasured) {
    if (measured.Find(dtype) != nullptr && RateOf(measured, dtype) > kMeasuredHigh * RateOf(rates, dtype)) {
      measured.ValueFault("implausible", dtype, "is too far over the peak rate");
    }
  }
}

void ReadSupports(const ObjectReader& row, Gpu& gpu) {
  static constexpr std::array<std::pair<std::string_view, Dtype>, 3> kSupports = {
      {{"bf16", Dtype::kBf16}, {"fp8", Dtype::kFp8}, {"fp4", Dtype::kFp4}}};
  static constexpr Known kWords = {"bf16", "fp8", "fp4"};
  gpu.dtypes = {Dtype::kFp32, Dtype::kFp16};
  row.Require("supports");
  const auto supports = row.Texts("supports").value_or(std::vector<std::string_view>());
  for (const std::string_view word : supports) {
    if (std::find(std::begin(kWords), std::end(kWords), word) == std::end(kWords)) {
      row.UnknownValue("supports", word, kWords);
    }
  }
  const ObjectReader rates(row, "dense_TFLOPS");
  for (const auto& [word, dtype] : kSupports) {
    const bool supported = std::find(supports.begin(), supports.end(), word) != supports.end();
    if (supported) gpu.dtypes.push_back(dtype);
    if (!supported && rates.Find(word) != nullptr) {
      row.Fault("implausible", "supports", Join({"lacks ", word, ", which has a rate"}),
                {{"value", std::string(word)}});
    }
  }
}

/// What is checked here and not used by the core yet.
void CheckRest(const ObjectReader& row) {
  static constexpr Known kLinks = {"none", "nvlink", "infinity_fabric", "xe_link", "ethernet"};
  static constexpr Known kTopologies = {"bridge", "switch", "mesh", "direct"};
  static constexpr Known kEcc = {"none", "off", "on", "supported"};
  static constexpr Known kDense = {"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};
  CheckRates(row, "dense_TFLOPS", kDense);
  CheckRates(row, "measured_TFLOPS", kMeasured);
  ReadNumber(row, "fp16_accumulate_TFLOPS", std::numeric_limits<double>::min(), 100000);
  ReadNumber(row, "dense_int8_TOPS", std::numeric_limits<double>::min(), 100000);
  row.Require("link");
  const auto link = row.Choice("link", kLinks);
  row.Choice("link_topology", kTopologies);
  for (const std::string_view key : {"link_GBps", "link_gpus"}) {
    if (row.Find(key) != nullptr) row.Require("link_topology");
    ReadNumber(row, key, std::numeric_limits<double>::min(), 10000);
  }
  if (link == std::size_t{0} && row.Find("link_topology") != nullptr) {
    row.Fault("implausible", "link_topology", "describes a link that is not there", {});
  }
  ReadNumber(row, "host_link_GBps", std::numeric_limits<double>::min(), 10000);
  ReadNumber(row, "pcie_gen", 3, 7);
  ReadNumber(row, "pcie_lanes", 1, 16);
  ReadNumber(row, "tdp_W", 10, 3000);
  ReadNumber(row, "partitions", 0, 16);
  row.Count("devices_per_board", 2, 8);
  row.Choice("ecc", kEcc);
  row.Text("form", 60);
  row.Text("memory_type", 40);
  row.Text("note", 240);
  row.Texts("derived");
}

constexpr Known kGpuKeys = {"id",
                            "name",
                            "aliases",
                            "vendor",
                            "architecture",
                            "segment",
                            "memory_GiB",
                            "memory_type",
                            "memory_usable_MiB",
                            "memory_usable_ecc_on_MiB",
                            "memory_usable_ecc_off_MiB",
                            "memory_bandwidth_GBps",
                            "dense_TFLOPS",
                            "fp16_accumulate_TFLOPS",
                            "dense_int8_TOPS",
                            "measured_TFLOPS",
                            "supports",
                            "link",
                            "link_topology",
                            "link_gpus",
                            "link_GBps",
                            "host_link_GBps",
                            "pcie_gen",
                            "pcie_lanes",
                            "tdp_W",
                            "form",
                            "ecc",
                            "compute_capability",
                            "partitions",
                            "devices_per_board",
                            "release",
                            "note",
                            "unconfirmed",
                            "derived",
                            "sources"};

bool HasField(const ObjectReader& row, std::string_view path) {
  std::size_t dot = path.find('.');
  const JsonValue* value = row.Find(path.substr(0, dot));
  while (value != nullptr && dot != path.npos) {
    path.remove_prefix(dot + 1);
    dot = path.find('.');
    value = value->Find(path.substr(0, dot));
  }
  return value != nullptr;
}

/// Fields that are in doubt are fields of the row.
void CheckUnconfirmed(const ObjectReader& row, const KnownNames& names) {
  static constexpr FieldRule kUnconfirmed = rules::Texts(rules::Text("unconfirmed", 0, TextForm::kAny)).Items(1);
  if (!CheckField(row, kUnconfirmed, names)) return;
  for (const std::string& path : TextsOf(row, "unconfirmed")) {
    if (HasField(row, path)) continue;
    const std::string shown = Shortened(path);
    row.Fault("unknown_field", "unconfirmed", Join({"names \"", shown, "\", which the row lacks"}), {{"value", shown}});
  }
}

std::vector<std::string> ReadAliases(const ObjectReader& row, const KnownNames& names) {
  static constexpr FieldRule kAliases = rules::Texts(rules::Text("aliases", 80)).Items(1);
  CheckField(row, kAliases, names);
  return TextsOf(row, "aliases");
}

/// The names of the catalog's last GPU, for the lookup.
void AddNames(Catalog& catalog) {
  const CatalogGpu& last = catalog.gpus.back();
  const std::size_t index = catalog.gpus.size() - 1;
  catalog.gpu_names.emplace_back(LowerCase(last.gpu.id), index);
  for (const std::string& alias : last.aliases) catalog.gpu_names.emplace_back(LowerCase(alias), index);
}

void ReadGpu(const ObjectReader& row, const KnownNames& names, Catalog& catalog) {
  static constexpr Known kVendors = {"NVIDIA", "AMD", "Intel"};
  static constexpr Known kSegments = {"consumer", "workstation", "datacenter", "desktop"};
  row.RefuseUnknown(kGpuKeys);
  CatalogGpu read;
  Gpu& gpu = read.gpu;
  gpu.id = ReadId(row);
  gpu.name = ReadText(row, "name", 120);
  read.aliases = ReadAliases(row, names);
  gpu.architecture = ReadText(row, "architecture", 40);
  for (const std::string_view key : {"vendor", "segment", "memory_GiB", "memory_bandwidth_GBps", "dense_TFLOPS"}) {
    row.Require(key);
  }
  if (const auto vendor = row.Choice("vendor", kVendors)) gpu.vendor = kVendors[*vendor];
  if (const auto segment = row.Choice("segment", kSegments)) gpu.segment = kSegments[*segment];
  gpu.compute_capability = row.Text("compute_capability", 12).value_or("");
  gpu.memory_bytes = ReadNumber(row, "memory_GiB", 1, 1000) * kGiB;
  gpu.usable_bytes = ReadNumber(row, "memory_usable_MiB", 1024, 1024000) * kMiB;
  ReadNumber(row, "memory_usable_ecc_on_MiB", 1024, 1024000);
  ReadNumber(row, "memory_usable_ecc_off_MiB", 1024, 1024000);
  const double bandwidth = ReadNumber(row, "memory_bandwidth_GBps", 50, 50000);
  ReadSupports(row, gpu);
  CheckRest(row);
  CheckPlausible(row, gpu, bandwidth);
  CheckUnconfirmed(row, names);
  if (row.Find("release") != nullptr) read.release = ReadRelease(row);
  gpu.source_ids = ReadSourceIds(row, names);
  RefuseSecond(row, catalog.gpus, gpu.id,
               [](const CatalogGpu& earlier) -> const std::string& { return earlier.gpu.id; });
  catalog.gpus.push_back(std::move(read));
  AddNames(catalog);
}

/// GPU-1  What a card shows as its total where nobody printed it: capacity x the smallest share seen among the cards of
/// the same vendor, or among all cards for a vendor without any. Checked by: catalog_test.cc.
void DeriveUsable(std::vector<CatalogGpu>& gpus) {
  const auto smallest_share = [&](const std::string* vendor) {
    double share = 2;
    for (const CatalogGpu& row : gpus) {
      const Gpu& gpu = row.gpu;
      if (gpu.usable_is_derived || gpu.usable_bytes == 0 || gpu.memory_bytes == 0) continue;
      if (vendor == nullptr || gpu.vendor == *vendor) share = std::min(share, gpu.usable_bytes / gpu.memory_bytes);
    }
    return share;
  };
  const double of_all = smallest_share(nullptr);
  for (CatalogGpu& row : gpus) {
    if (row.gpu.usable_bytes != 0) continue;
    double share = smallest_share(&row.gpu.vendor);
    if (share > 1) share = of_all > 1 ? kUsableLow : of_all;
    row.gpu.usable_is_derived = true;
    row.gpu.usable_bytes = static_cast<double>(static_cast<std::int64_t>(row.gpu.memory_bytes * share));
  }
}

}  // namespace

void ReadGpus(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  ForEachRow(bundle, "gpus", [&](const ObjectReader& row) { ReadGpu(row, names, catalog); });
  SortNames(catalog.gpu_names, bundle, "duplicate_name", "gpus");
  DeriveUsable(catalog.gpus);
}

}  // namespace tunefit
