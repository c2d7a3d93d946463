#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Id, rules::Number, rules::Object, rules::OneOf, rules::Positive,
    rules::Sources, rules::Text, rules::Texts;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kTera = 1e12;
/// What the driver shows, of the capacity on the box: ECC over GDDR costs a sixteenth.
constexpr double kUsableLow = 0.9;
constexpr double kUsableHigh = 1;
/// A measured rate over the printed one: cards clock higher than their makers print.
constexpr double kMeasuredHigh = 1.15;
/// Dense 16-bit rate over memory bandwidth, flops a byte.
constexpr double kIntensityLow = 20;
constexpr double kIntensityHigh = 700;
constexpr double kMostTflops = 100000;

constexpr FieldRule kDense[] = {
    Positive("fp32", kMostTflops), Positive("tf32", kMostTflops), Positive("fp16", kMostTflops),
    Positive("bf16", kMostTflops), Positive("fp8", kMostTflops),  Positive("fp4", kMostTflops),
};
constexpr FieldRule kMeasured[] = {Positive("fp16", kMostTflops), Positive("bf16", kMostTflops),
                                   Positive("fp8", kMostTflops)};

constexpr std::array<std::pair<std::string_view, LinkTopology>, 4> kTopologies = {{{"bridge", LinkTopology::kBridge},
                                                                                   {"switch", LinkTopology::kSwitch},
                                                                                   {"mesh", LinkTopology::kMesh},
                                                                                   {"direct", LinkTopology::kDirect}}};

/// The dtypes that a card may lack.
constexpr std::array<std::pair<std::string_view, Dtype>, 3> kSupports = {
    {{"bf16", Dtype::kBf16}, {"fp8", Dtype::kFp8}, {"fp4", Dtype::kFp4}}};

/// Follows from the name.
constexpr std::string_view kUnsourced = "devices_per_board";

constexpr FieldRule kGpu[] = {
    Id(),
    Text("name", 120).Needed(),
    Texts(Text("aliases", 80)).Items(1),
    Choice("vendor", "NVIDIA AMD Intel").Needed(),
    Text("architecture", 40).Needed(),
    Choice("segment", "consumer workstation datacenter desktop").Needed(),
    Number("memory_GiB", 1, 1000).Needed(),
    Text("memory_type", 40),
    Number("memory_usable_MiB", 1024, 1024000),
    Number("memory_usable_ecc_on_MiB", 1024, 1024000),
    Number("memory_usable_ecc_off_MiB", 1024, 1024000),
    Number("memory_bandwidth_GBps", 50, 50000).Needed(),
    Object("dense_TFLOPS", kDense).Items(1).Needed(),
    Positive("fp16_accumulate_TFLOPS", kMostTflops),
    Positive("dense_int8_TOPS", kMostTflops),
    Object("measured_TFLOPS", kMeasured).Items(1),
    Texts(Choice("supports", "bf16 fp8 fp4")).Needed(),
    Choice("link", "none nvlink infinity_fabric xe_link ethernet").Needed(),
    Choice("link_topology", "bridge switch mesh direct"),
    Count("link_gpus", 2, 1024),
    Positive("link_GBps", 10000),
    Positive("host_link_GBps", 10000),
    Count("pcie_gen", 3, 7),
    OneOf("pcie_lanes", "1 2 4 8 16"),
    Number("tdp_W", 10, 3000),
    Text("form", 60),
    Choice("ecc", "none off on supported"),
    Text("compute_capability", 0, TextForm::kCapability),
    Count("partitions", 0, 16),
    Count(kUnsourced, 2, 8),
    Text("release", 0, TextForm::kDate),
    Text("note", 240),
    Texts(Text("unconfirmed", 0, TextForm::kAny)).Items(1),
    Texts(Text("derived", 0, TextForm::kAny)).Items(1),
    Sources(),
};

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

void CheckUsable(const ObjectReader& row, double capacity) {
  for (const std::string_view key : {"memory_usable_MiB", "memory_usable_ecc_on_MiB", "memory_usable_ecc_off_MiB"}) {
    if (row.Find(key) == nullptr) continue;
    const double fraction = NumberOf(row, key) * kMiB / capacity;
    if (fraction >= kUsableLow && fraction <= kUsableHigh) continue;
    const std::string share = NumberText(fraction);
    row.ValueFault("implausible", key, Join({"is ", share, " of memory_GiB; cards show 0.9 to 1"}));
  }
}

void CheckRates(const ObjectReader& row) {
  const ObjectReader rates(row, "dense_TFLOPS");
  const double rate = NumberOf(rates, rates.Find("bf16") != nullptr ? "bf16" : "fp16");
  const double intensity = rate * 1000 / NumberOf(row, "memory_bandwidth_GBps");
  if (rate != 0 && (intensity < kIntensityLow || intensity > kIntensityHigh)) {
    const std::string shown = NumberText(intensity);
    row.Fault("implausible", "dense_TFLOPS",
              Join({"does not go with the memory bandwidth: ", shown, " operations a byte, and cards have 20 to 700"}),
              {{"value", NumberText(rate)}});
  }
  const ObjectReader measured(row, "measured_TFLOPS");
  for (const FieldRule& dtype : kMeasured) {
    if (NumberOf(measured, dtype.key) <= kMeasuredHigh * NumberOf(rates, dtype.key)) continue;
    measured.ValueFault("implausible", dtype.key, "is too far over the peak rate");
  }
}

void ReadSupports(const ObjectReader& row, Gpu& gpu) {
  gpu.dtypes = {Dtype::kFp32, Dtype::kFp16};
  const std::vector<std::string> supports = TextsOf(row, "supports");
  const ObjectReader rates(row, "dense_TFLOPS");
  for (const auto& [word, dtype] : kSupports) {
    const bool supported = std::find(supports.begin(), supports.end(), word) != supports.end();
    if (supported) gpu.dtypes.push_back(dtype);
    if (!supported && rates.Find(word) != nullptr) {
      row.Fault("implausible", "supports", Join({"lacks ", word, ", which has a rate"}), {{"value", word}});
    }
  }
}

/// Every number has a source.
void CheckSourced(const ObjectReader& row) {
  for (const FieldRule& rule : kGpu) {
    if (row.Find(rule.key) == nullptr || rule.key == kUnsourced) continue;
    if (rule.is_number()) NeedSource(row, rule.key);
    if (rule.kind != FieldKind::kObject) continue;
    for (const JsonMember& rate : row.Find(rule.key)->members) NeedSource(row, Join({rule.key, ".", rate.key}));
  }
}

/// What is looked at besides the single fields.
void CheckGpu(const ObjectReader& row, const Gpu& gpu) {
  CheckSourced(row);
  CheckPaths(row);
  CheckNamed(row, "unconfirmed");
  for (const std::string_view key : {"link_GBps", "link_gpus"}) {
    if (row.Find(key) != nullptr) row.Require("link_topology");
  }
  if (row.Find("link")->text == "none" && row.Find("link_topology") != nullptr) {
    row.Fault("implausible", "link_topology", "describes a link that is not there", {});
  }
  if (const double named = NamedGiB(gpu.name); named != 0 && named * kGiB != gpu.memory_bytes) {
    row.ValueFault("implausible", "name", "holds another capacity than memory_GiB");
  }
  CheckUsable(row, gpu.memory_bytes);
  CheckRates(row);
}

/// The names of the catalog's last GPU, for the lookup.
void AddNames(Catalog& catalog) {
  const CatalogGpu& last = catalog.gpus.back();
  const std::size_t index = catalog.gpus.size() - 1;
  catalog.gpu_names.emplace_back(LowerCase(last.gpu.id), index);
  for (const std::string& alias : last.aliases) catalog.gpu_names.emplace_back(LowerCase(alias), index);
}

MatrixRates RatesOf(const ObjectReader& row, std::string_view key) {
  const ObjectReader rates(row, key);
  const auto flops = [&rates](std::string_view dtype) { return NumberOf(rates, dtype) * kTera; };
  return {flops("fp32"), flops("fp16"), flops("bf16"), flops("fp8")};
}

/// One way, of one lane, by generation (PCI-SIG: 8, 16 and 32 GT/s under 128b/130b; 64 and 128 under flits of 242 in
/// 256 bytes).
double LaneBytesPerSecond(double generation) {
  const double transfers = std::ldexp(1e9, static_cast<int>(generation));
  return generation <= 5 ? transfers / 8 * 128 / 130 : transfers / 8 * 242 / 256;
}

void ReadLinks(const ObjectReader& row, Gpu& gpu) {
  const std::string_view topology = TextOf(row, "link_topology");
  for (const auto& [word, link] : kTopologies) {
    if (topology == word) gpu.link = link;
  }
  gpu.link_gpus = static_cast<std::int64_t>(NumberOf(row, "link_gpus"));
  gpu.link_bytes_per_second = NumberOf(row, "link_GBps") * kGiga / 2;
  gpu.host_bytes_per_second = NumberOf(row, "host_link_GBps") * kGiga / 2;
  if (gpu.host_bytes_per_second == 0) {
    gpu.host_bytes_per_second = NumberOf(row, "pcie_lanes") * LaneBytesPerSecond(NumberOf(row, "pcie_gen"));
  }
}

/// A row whose fields are all right.
void ReadGpu(const ObjectReader& row, Catalog& catalog) {
  CatalogGpu read;
  Gpu& gpu = read.gpu;
  gpu.id = TextOf(row, "id");
  gpu.name = TextOf(row, "name");
  read.aliases = TextsOf(row, "aliases");
  read.release = TextOf(row, "release");
  read.form = TextOf(row, "form");
  read.ecc = TextOf(row, "ecc");
  gpu.architecture = TextOf(row, "architecture");
  gpu.vendor = TextOf(row, "vendor");
  gpu.segment = TextOf(row, "segment");
  gpu.compute_capability = TextOf(row, "compute_capability");
  gpu.memory_bytes = NumberOf(row, "memory_GiB") * kGiB;
  gpu.usable_bytes = NumberOf(row, "memory_usable_MiB") * kMiB;
  gpu.board_power_watts = NumberOf(row, "tdp_W");
  gpu.source_ids = SourceIdsOf(row);
  gpu.peak = RatesOf(row, "dense_TFLOPS");
  gpu.measured = RatesOf(row, "measured_TFLOPS");
  gpu.memory_bytes_per_second = NumberOf(row, "memory_bandwidth_GBps") * kGiga;
  ReadLinks(row, gpu);
  ReadSupports(row, gpu);
  CheckGpu(row, gpu);
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

/// The share of a printed rate that the measured card reaches which has nearly as many watts for its rate as `gpu`, of
/// those that are kin to it. 0 without one.
template <typename IsKin>
double NearestShare(const Gpu& gpu, const std::vector<CatalogGpu>& gpus, double MatrixRates::*rate, IsKin is_kin) {
  const auto watts_per_rate = [rate](const Gpu& card) { return card.board_power_watts / (card.peak.*rate); };
  double share = 0;
  double nearest = std::numeric_limits<double>::infinity();
  for (const CatalogGpu& row : gpus) {
    const Gpu& kin = row.gpu;
    if (kin.measured.*rate == 0 || kin.segment != gpu.segment || !is_kin(kin)) continue;
    const double distance = std::abs(watts_per_rate(kin) - watts_per_rate(gpu));
    if (distance >= nearest) continue;
    nearest = distance;
    share = kin.measured.*rate / (kin.peak.*rate);
  }
  return share;
}

/// GPU-2  Of a printed rate, what a card reaches that nobody measured: as much as its kin of the same architecture and
/// segment, else of the same vendor and segment. Watts decide how a card clocks under load. Checked by:
/// catalog_test.cc.
double KinShare(const Gpu& gpu, const std::vector<CatalogGpu>& gpus, double MatrixRates::*rate) {
  const auto alike = [&](const Gpu& kin) { return kin.architecture == gpu.architecture; };
  const double share = NearestShare(gpu, gpus, rate, alike);
  return share > 0 ? share : NearestShare(gpu, gpus, rate, [&](const Gpu& kin) { return kin.vendor == gpu.vendor; });
}

void DeriveRates(std::vector<CatalogGpu>& gpus) {
  for (double MatrixRates::*rate : {&MatrixRates::fp16, &MatrixRates::bf16, &MatrixRates::fp8}) {
    for (CatalogGpu& row : gpus) {
      Gpu& gpu = row.gpu;
      if (gpu.peak.*rate > 0 && gpu.measured.*rate == 0) gpu.kin_share.*rate = KinShare(gpu, gpus, rate);
    }
  }
}

}  // namespace

void ReadGpus(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kGpus = rules::Rows("gpus", kGpu).Items(1);
  if (!CheckField(bundle, kGpus, names)) return;
  ForEachRow(bundle, "gpus", [&](const ObjectReader& row) { ReadGpu(row, catalog); });
  SortNames(catalog.gpu_names, bundle, "duplicate_name", "gpus");
  DeriveUsable(catalog.gpus);
  DeriveRates(catalog.gpus);
}

}  // namespace tunefit
