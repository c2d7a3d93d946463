#include "core/codec/plan_subject.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/cost/bought.h"
#include "core/cost/rented.h"

namespace tunefit {
namespace {

/// GPUs of a machine where the request says nothing of it, as in an estimate.
constexpr std::int64_t kUsualMachine = 8;

/// Of a machine's memory, a GPU's part, where nobody says it: what the large clouds put beside a data centre's GPU at
/// the least (AWS p4d.24xlarge: 1,152 GiB for eight A100), and what a workstation's board takes for one card.
constexpr double kUsualHostBytesPerGpu = 128e9;
/// Cards that somebody puts into a machine of his own.
constexpr std::int64_t kMostLooseCards = 4;

/// Modules of boards (SXM, OAM) and superchips come in machines only.
bool IsCard(const CatalogGpu& row) { return row.form.starts_with("PCIe") || row.gpu.segment == "desktop"; }

Word CheckpointingWord(Checkpointing checkpointing) {
  switch (checkpointing) {
    case Checkpointing::kNone:
      return "none";
    case Checkpointing::kFull:
      return "full";
    case Checkpointing::kSelective:
      return "selective";
    case Checkpointing::kOffload:
      return "offload";
  }
  return "none";
}

/// The same adapters under every stack, whose own defaults differ: else one would win by training less. All linear
/// layers, as large as PEFT's examples have them.
void SetAdapters(MethodFields& method) {
  constexpr std::int64_t kRank = 16;
  if (!method.target_modules) method.target_modules = Targets{.all_linear = true, .modules = {}};
  if (!method.rank) method.rank = kRank;
  if (!method.dropout) method.dropout = 0;
}

void SetMethod(RequestFields& fields, TunedBy method) {
  const bool is_said = fields.method.kind && *fields.method.kind != "lora";
  if (is_said) return;  // whatever it is, nothing else was open
  fields.method.kind = method == TunedBy::kFull ? "full" : "lora";
  if (method != TunedBy::kFull) SetAdapters(fields.method);
  if (fields.quantization.given) return;
  fields.quantization.given = true;
  if (method == TunedBy::kQlora) fields.quantization.kind = "nf4";
}

/// A card without bf16 computes in fp16: adapters over fp16 weights, whole models over fp32 ones, whose gradients the
/// scaler accepts.
void SetFp16(RequestFields& fields, TunedBy method) {
  if (fields.precision.compute || fields.precision.weights) return;
  fields.precision.compute = "fp16";
  fields.precision.weights = method == TunedBy::kFull ? "fp32" : "fp16";
}

void SetLayout(ParallelFields& fields, const Layout& layout) {
  const auto set = [](Field<std::int64_t>& field, std::int64_t ranks) {
    if (ranks > 1) field = ranks;
  };
  fields.gpus = layout.gpus;
  fields.strategy = words::kStrategy[static_cast<std::size_t>(layout.strategy)];
  set(fields.tensor, layout.tensor);
  set(fields.pipeline, layout.pipeline);
  set(fields.context, layout.context);
  set(fields.expert, layout.expert);
  if (fields.offload || !layout.offloads()) return;
  fields.offload = true;
  if (layout.offloads_optimizer) fields.offload_optimizer = "cpu";
  if (layout.offloads_parameters) fields.offload_parameters = "cpu";
}

bool Has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

RequestSubject::RequestSubject(const RequestFields& asked, const std::vector<StackSpace>& stacks,
                               const Catalog& catalog, const Market& market)
    : asked_(asked), stacks_(stacks), catalog_(catalog), market_(market) {
  const Gpu* gpu = asked.gpu ? catalog.FindGpu(*asked.gpu) : nullptr;
  needs_fp16_ = gpu != nullptr && !ComputesIn(*gpu, Dtype::kBf16);
}

RequestFields RequestSubject::FieldsOf(const PlanChoice& choice) const {
  RequestFields fields = asked_;
  fields.plan = {};
  fields.plan_written = nullptr;
  fields.include.reset();
  fields.detail.reset();
  fields.stack = stacks_[static_cast<std::size_t>(choice.stack)].id;
  SetMethod(fields, choice.method);
  if (needs_fp16_) SetFp16(fields, choice.method);
  SetLayout(fields.parallel, choice.layout);
  if (!fields.checkpointing.kind && !fields.checkpointing.every) {
    fields.checkpointing.kind = CheckpointingWord(choice.checkpointing);
  }
  fields.batch.per_device = choice.batch.per_device;
  fields.batch.gradient_accumulation = choice.batch.gradient_accumulation;
  return fields;
}

RequestFields RequestSubject::FieldsOf(const PlanChoice& choice, const Supply& supply) const {
  RequestFields fields = FieldsOf(choice);
  fields.gpu = supply.gpu->id;
  if (supply.server >= 0) fields.server = market_.servers[static_cast<std::size_t>(supply.server)].id;
  fields.parallel.gpus_per_node = supply.gpus_per_machine;
  return fields;
}

std::optional<Workload> RequestSubject::WorkloadOf(const PlanChoice& choice) {
  RequestFields fields = FieldsOf(choice);
  // A bound is of one GPU, whatever the machine holds.
  fields.server.reset();
  RequestReading reading = CompleteFields(std::move(fields), catalog_, &market_);
  if (HasError(reading.issues)) return {};
  return std::move(reading.workload);
}

bool RequestSubject::IsWished(const CatalogGpu& row) const {
  const PlanFields& plan = asked_.plan;
  if (asked_.gpu && catalog_.FindGpu(*asked_.gpu) != &row.gpu) return false;
  if (plan.ecc_required.value_or(false) && !row.has_ecc()) return false;
  if (!plan.gpus) return true;
  return std::any_of(plan.gpus->begin(), plan.gpus->end(),
                     [&](Word name) { return catalog_.FindGpu(name) == &row.gpu; });
}

double RequestSubject::HostBytes(const Supply& supply) const {
  if (supply.server >= 0) {
    const double said = market_.servers[static_cast<std::size_t>(supply.server)].memory_bytes;
    if (said > 0) return said;
  }
  return kUsualHostBytesPerGpu * static_cast<double>(std::min(supply.gpus, supply.gpus_per_machine));
}

std::optional<Wiring> RequestSubject::WiringOf(const CatalogGpu& row, const Supply& supply) const {
  RequestReading reading;
  reading.completed.gpu = row.gpu.id;
  reading.completed.interconnect = asked_.interconnect;
  if (supply.server >= 0) reading.completed.server = market_.servers[static_cast<std::size_t>(supply.server)].id;
  reading.completed.parallel.gpus = supply.gpus;
  reading.completed.parallel.gpus_per_node = supply.gpus_per_machine;
  FindHardware(reading, catalog_, &market_);
  if (HasError(reading.issues)) return {};
  return reading.wiring;
}

void RequestSubject::AddRented(const CatalogGpu& row, Supply supply, std::vector<Supply>& supplies) const {
  if (asked_.server) return;
  CostedRun run;
  run.gpu = &row.gpu;
  run.time.seconds = Exactly(kSecondsPerHour);
  run.time.gpus = supply.gpus;
  run.time.gpus_per_machine = supply.gpus_per_machine;
  Issues issues;
  const Currency currency = asked_.prices.currency.value_or(market_.prices.currency);
  const std::vector<RentedLine> lines = RentedLines(run, market_.prices, asked_.prices, currency, issues);
  const std::int64_t line = ReferenceLine(lines, asked_.prices);
  if (line < 0) return;
  const std::optional<Wiring> wiring = WiringOf(row, supply);
  if (!wiring) return;
  supply.by = Acquisition::kRent;
  supply.wiring = *wiring;
  supply.host_bytes = HostBytes(supply);
  supply.price = Exactly(lines[static_cast<std::size_t>(line)].price_per_hour);
  supplies.push_back(supply);
}

/// The cheapest machine that takes the cards, or what the market sells where none of ours has a price.
void RequestSubject::AddBought(const CatalogGpu& row, Supply supply, std::vector<Supply>& supplies) const {
  supply.by = Acquisition::kBuy;
  CostedRun run;
  run.gpu = &row.gpu;
  run.time.seconds = Exactly(kSecondsPerHour);
  run.time.gpus = supply.gpus;
  const Currency currency = asked_.prices.currency.value_or(market_.prices.currency);
  std::optional<Supply> best;
  const auto consider = [&](std::int64_t server, std::int64_t gpus_per_machine) {
    supply.server = server;
    supply.gpus_per_machine = run.time.gpus_per_machine = gpus_per_machine;
    Machine machine;
    run.machine = nullptr;
    if (server >= 0) {
      machine = MachineOf(market_.servers[static_cast<std::size_t>(server)], catalog_);
      run.machine = &machine;
    }
    const std::optional<Purchase> purchase = PurchaseOf(run, market_.prices, asked_.prices, currency);
    if (!purchase) return;
    const bool whole = purchase->is_of_machines;
    const std::int64_t machines = MachinesFor(supply.gpus, gpus_per_machine);
    const bool loose = server < 0 && IsCard(row) && supply.gpus <= kMostLooseCards;
    // Cards alone are priced for a machine of their own, or where machines of a data centre have no other price.
    if (!whole && !loose && (server < 0 || (machines > 1 && row.gpu.segment != "datacenter"))) return;
    const std::tuple order(!whole, machines, purchase->price.expected);
    if (best && order >= std::tuple(!best->price_is_whole, MachinesFor(best->gpus, best->gpus_per_machine),
                                    best->price.expected)) {
      return;
    }
    const std::optional<Wiring> wiring = WiringOf(row, supply);
    if (!wiring) return;
    supply.wiring = *wiring;
    supply.price = purchase->price;
    supply.price_is_whole = whole;
    supply.host_bytes = HostBytes(supply);
    best = supply;
  };
  const bool ours = asked_.plan.vendor_only.value_or(false);
  for (std::size_t i = 0; i < market_.servers.size(); ++i) {
    const CatalogServer& server = market_.servers[i];
    if (asked_.server && market_.FindServer(*asked_.server) != &server) continue;
    if (!server.is_sold || (ours && !server.has_maker) || !Has(server.gpus, row.gpu.id)) continue;
    const std::int64_t held = asked_.parallel.gpus_per_node.value_or(std::min(supply.gpus, server.gpus_max));
    if (supply.gpus % held == 0) consider(static_cast<std::int64_t>(i), held);
  }
  const std::int64_t held = asked_.parallel.gpus_per_node.value_or(kUsualMachine);
  if (!asked_.server && !ours && (!best || !best->price_is_whole)) consider(-1, held);
  if (best) supplies.push_back(*best);
}

const std::vector<Supply>& RequestSubject::SuppliesOf(std::int64_t gpus) {
  const auto known = supplies_.find(gpus);
  if (known != supplies_.end()) return known->second;
  std::vector<Supply>& supplies = supplies_[gpus];
  for (std::size_t i = 0; i < catalog_.gpus.size(); ++i) {
    const CatalogGpu& row = catalog_.gpus[i];
    if (!HasRates(row.gpu) || !IsWished(row)) continue;
    Supply supply;
    supply.gpu = &row.gpu;
    supply.gpu_place = static_cast<std::int64_t>(i);
    supply.gpus = gpus;
    supply.gpus_per_machine = asked_.parallel.gpus_per_node.value_or(kUsualMachine);
    AddRented(row, supply, supplies);
    AddBought(row, supply, supplies);
  }
  return supplies;
}

}  // namespace tunefit
