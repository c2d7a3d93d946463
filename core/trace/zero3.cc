#include "core/trace/zero3.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/model/parameters.h"
#include "core/trace/checkpointing.h"

namespace tunefit {
namespace {

/// Elements that run after the last layer and then, first of all, in backward.
double HeadElements(const Workload& workload) {
  if (!workload.stage.is_last) return 0;
  const Architecture& architecture = workload.architecture;
  const std::int64_t rows = architecture.labels > 0 ? architecture.labels : architecture.vocab_size;
  return static_cast<double>(rows) * static_cast<double>(architecture.hidden_size);
}

}  // namespace

std::int64_t FirstReusedLayer(const Workload& workload) {
  const std::vector<LayerRun>& runs = workload.architecture.runs;
  const auto most = static_cast<double>(workload.parallel.zero.max_reuse_distance);
  double between = 2 * HeadElements(workload);
  std::int64_t layer = workload.stage.first_layer + CountLayers(runs);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    for (std::int64_t i = run->repeats * static_cast<std::int64_t>(run->period.size()); i > 0; --i) {
      const Block& block = run->period[static_cast<std::size_t>(i - 1) % run->period.size()];
      const auto own = static_cast<double>(CountBlock(block, workload.architecture.hidden_size).total());
      if (between + own >= most) return layer;
      --layer;
      between += own * (ChecksLayer(workload, layer) ? 3 : 2);  // forward, again, backward
    }
  }
  return layer;
}

Zero3Units::Zero3Units(Tracer& tracer, const Workload& workload)
    : ShardedUnits(tracer, workload), zero_(workload.parallel.zero), first_reused_(FirstReusedLayer(workload)) {}

double Zero3Units::ShardElements(const WeightShape& shape, double ranks) const {
  return std::ceil(shape.elements().coefficient / ranks);
}

/// parameter_offload.py, mark_persistent_parameters.
bool Zero3Units::Persists(double elements) const {
  return elements <= static_cast<double>(zero_.param_persistence_threshold);
}

void Zero3Units::Fetch(Unit& unit) {
  StorageId brought = BringFromHost(unit);
  for (Parameter& parameter : unit.parameters) AllocateWhole(parameter);
  Release(brought);
}

Zero3Units::Ahead Zero3Units::ElementsAhead() const {
  if (zero_.prefetch_bucket_size == 0) return {};
  double largest = 0;
  double all = 0;
  double reused = 0;
  for (std::int32_t unit = 1; unit < units(); ++unit) {
    double layer = 0;
    for (const Parameter& parameter : At(unit).parameters) {
      if (parameter.persists) continue;
      const double of_all = static_cast<double>(parameter.count) * parameter.whole_elements;
      layer += parameter.whole_elements;
      all += of_all;
      if (At(unit).layer >= first_reused_) reused += of_all;
    }
    largest = std::max(largest, layer);
  }
  const double alive = std::min(all, static_cast<double>(zero_.max_live_parameters));
  const double ahead = std::max(0.0, alive - std::max(largest, reused));
  const double next = std::min(ahead, largest);
  return {next, ahead - next};
}

/// Parameter by parameter, the last of them may be over what may be alive.
void Zero3Units::FetchAhead(std::int32_t unit) {
  if (unit <= 0 || unit >= units()) return;
  double room = ElementsAhead().of_next;
  for (Parameter& parameter : At(unit).parameters) {
    if (parameter.persists) continue;
    if (room <= 0) return;
    AllocateWhole(parameter);
    room -= parameter.whole_elements;
  }
}

void Zero3Units::LetGo(Unit& unit) {
  FreeWhole(unit);
  if (zero_.hpz_partition_size <= 1 || std::exchange(unit.copied, true)) return;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.persists) continue;
    AddCopy(parameter, std::floor(parameter.whole_elements / static_cast<double>(zero_.hpz_partition_size)),
            "secondary shard");
  }
}

/// The order of modules goes on from the forward pass into backward: what is ahead at the end of one begins the other.
void Zero3Units::BeforeForward(std::int32_t unit) {
  if (all_gathered_) return;
  Fetch(At(unit));
  FetchAhead(unit + 1);
  if (unit != 1 || ahead_ != kNoStorage) return;
  const double ahead = ElementsAhead().of_others;
  if (ahead > 0) ahead_ = Allocate(ahead, compute_, Term::kGathered, StreamOfWhole(), "parameters of layers ahead");
}

/// The root's parameters stay: backward begins with them. Where no backward follows nothing is used again.
bool Zero3Units::StaysWhole(std::int32_t unit, bool with_gradients) const {
  return with_gradients && (unit == 0 || At(unit).layer >= first_reused_);
}

void Zero3Units::AfterForward(std::int32_t unit) {
  if (all_gathered_ || StaysWhole(unit, WithGradients())) return;
  if (WithGradients()) {
    LetGo(At(unit));
  } else {
    FreeWhole(At(unit));
  }
}

void Zero3Units::EndForward() {
  if (!WithGradients()) Release(ahead_);
}

/// GatheredParameters over the whole model, without its hooks (ds3_gather_for_generation, which is on unless told
/// otherwise).
void Zero3Units::BeginGeneration() {
  all_gathered_ = true;
  GatherAll();
}

void Zero3Units::EndGeneration() {
  all_gathered_ = false;
  FreeAll();
}

void Zero3Units::BeforeBackward(std::int32_t unit) {
  if (unit == 1) Release(ahead_);
  Fetch(At(unit));
  const std::int32_t next = Previous(unit);
  if (next > 0 && At(next).in_backward) FetchAhead(next);
}

void Zero3Units::AfterBackward(std::int32_t unit) {
  At(unit).backward_done = true;
  SendGradients(CountGradients(At(unit)), compute_);
  DropGradients(At(unit));
  LetGo(At(unit));
}

void Zero3Units::EndBackward() {
  Release(ahead_);
  for (std::int32_t unit = units() - 1; unit >= 0; --unit) {
    FreeUnreached(At(unit));
    if (!At(unit).backward_done) AfterBackward(unit);
  }
}

}  // namespace tunefit
