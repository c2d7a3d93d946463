#include "core/trace/sharding.h"

#include <cmath>
#include <utility>

#include "core/trace/fsdp1.h"
#include "core/trace/fsdp2.h"
#include "core/trace/zero3.h"

namespace tunefit {

ShardedUnits::ShardedUnits(Tracer& tracer, const Workload& workload)
    : parallel_(workload.parallel),
      compute_(workload.precision.compute),
      reduce_(workload.parallel.reduce_dtype),
      reshards_(workload.parallel.reshard_after_forward),
      offloads_(workload.parallel.offloads_parameters()),
      upcasts_trainable_(workload.habits.fsdp_upcasts_trainable && workload.precision.autocast),
      // TRL's prepare_fsdp (trl/models/utils.py) calls fully_shard on a frozen model as a whole, on none of its layers.
      wraps_layers_(workload.parallel.strategy != Strategy::kFsdp2 || workload.method.kind != MethodKind::kFrozen),
      tracer_(tracer),
      units_(1) {}

std::int32_t ShardedUnits::Open(std::int64_t layer) {
  open_ = units();
  units_.emplace_back().layer = layer;
  return open_;
}

double ShardedUnits::Divide(const WeightShape& shape, StorageId shard, bool trainable) {
  Storage& resident = tracer_.step_.storages[static_cast<std::size_t>(shard)];
  if (trainable && upcasts_trainable_ && IsFloat(resident.dtype)) resident.dtype = Dtype::kFp32;
  resident.elements.coefficient = ShardElements(shape, ShardsOf(parallel_, resident));
  return resident.elements.coefficient;
}

void ShardedUnits::DeclareApart(const WeightShape& shape, StorageId shard, bool trainable, std::int64_t count) {
  const Storage& resident = tracer_.step_.storages[static_cast<std::size_t>(shard)];
  const double whole_elements = Divide(shape, shard, trainable) * ShardsOf(parallel_, resident);
  const Dtype dtype = resident.dtype;
  apart_bytes_ += static_cast<double>(count) * whole_elements * BytesPerElement(IsFloat(dtype) ? compute_ : dtype);
}

ShardedUnits::Declared ShardedUnits::Declare(const WeightShape& shape, StorageId shard, bool trainable,
                                             std::int64_t count) {
  Parameter parameter;
  parameter.shard = shard;
  parameter.count = count;
  // A layer's section is repeated with its unit's hooks; the root's hooks run once for all that it owns.
  parameter.together = open_ == 0 ? static_cast<std::int32_t>(count) : 1;
  parameter.shard_elements = Divide(shape, shard, trainable);
  const Storage& resident = tracer_.step_.storages[static_cast<std::size_t>(shard)];
  parameter.whole_elements = parameter.shard_elements * ShardsOf(parallel_, resident);
  parameter.shard_dtype = resident.dtype;
  parameter.whole_dtype = IsFloat(resident.dtype) ? compute_ : resident.dtype;
  Storage whole = resident;
  whole.elements.coefficient = parameter.whole_elements;
  whole.dtype = parameter.whole_dtype;
  whole.term = Term::kGathered;
  whole.stream = StreamOfWhole();
  parameter.whole = static_cast<StorageId>(tracer_.step_.storages.size());
  tracer_.step_.storages.push_back(whole);
  tracer_.references_.push_back(Tracer::kUncounted);
  if (Persists(shape.elements().coefficient)) {
    parameter.persists = parameter.is_whole = true;
    tracer_.step_.gradient_buffers.push_back({parameter.whole, count});
  }
  At(open_).parameters.push_back(parameter);
  shards_.push_back(shard);
  return {shard, parameter.whole, parameter.whole_dtype};
}

std::int32_t ShardedUnits::Previous(std::int32_t unit) const {
  if (unit == 0) return units() > 1 ? units() - 1 : -1;
  return unit > 1 ? unit - 1 : -1;
}

StorageId ShardedUnits::Allocate(double elements, Dtype dtype, Term term, Stream stream, const char* role) {
  tracer_.scope.term = term;
  const StorageId storage = tracer_.Allocate({elements, Axis::kOnce}, dtype, role);
  tracer_.step_.storages.back().stream = stream;
  return storage;
}

void ShardedUnits::Release(StorageId& storage) {
  if (storage != kNoStorage) tracer_.Release(std::exchange(storage, kNoStorage));
}

StorageId ShardedUnits::BringFromHost(const Unit& unit) {
  if (!offloads_) return kNoStorage;
  double bytes = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.is_whole) continue;
    bytes += parameter.together * parameter.shard_elements * BytesPerElement(parameter.shard_dtype);
  }
  if (bytes == 0) return kNoStorage;
  return Allocate(bytes, Dtype::kUint8, Term::kCommunication, Stream::kGather, "shards from the host");
}

void ShardedUnits::AllocateWhole(Parameter& parameter) {
  if (std::exchange(parameter.is_whole, true)) return;
  tracer_.step_.events.push_back({parameter.whole, parameter.together});
  tracer_.Send(Group::kData, {parameter.together * parameter.whole_elements, Axis::kOnce},
               BytesPerElement(parameter.whole_dtype));
}

void ShardedUnits::AllocateWhole(Unit& unit) {
  if (std::exchange(unit.whole, true)) return;
  for (Parameter& parameter : unit.parameters) AllocateWhole(parameter);
}

void ShardedUnits::FreeWhole(Parameter& parameter, std::int64_t count) {
  if (parameter.persists || !std::exchange(parameter.is_whole, false)) return;
  tracer_.step_.events.push_back({parameter.whole, -static_cast<std::int32_t>(count)});
}

void ShardedUnits::FreeWhole(Unit& unit) {
  unit.whole = false;
  for (Parameter& parameter : unit.parameters) FreeWhole(parameter, parameter.together);
}

void ShardedUnits::ChangeAll(const Unit& unit, std::int32_t sign) {
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.persists) continue;
    tracer_.step_.events.push_back({parameter.whole, sign * static_cast<std::int32_t>(parameter.count)});
  }
}

void ShardedUnits::GatherAll() {
  for (const Unit& unit : units_) ChangeAll(unit, 1);
  if (apart_bytes_ > 0) {
    apart_ = Allocate(apart_bytes_, Dtype::kUint8, Term::kGathered, StreamOfWhole(), "parameters that never run");
  }
}

void ShardedUnits::FreeAll() {
  Release(apart_);
  for (const Unit& unit : units_) ChangeAll(unit, -1);
}

void ShardedUnits::FreeUnreached(Unit& unit) {
  if (unit.in_backward) return;
  unit.whole = false;
  for (Parameter& parameter : unit.parameters) FreeWhole(parameter, parameter.count);
}

void ShardedUnits::KeepGathered() {
  for (std::int32_t number = 0; number < units(); ++number) {
    if (!StaysWhole(number, false)) continue;
    Unit& unit = At(number);
    unit.whole = true;
    for (Parameter& parameter : unit.parameters) {
      if (std::exchange(parameter.is_whole, true)) continue;
      Storage& whole = tracer_.step_.storages[static_cast<std::size_t>(parameter.whole)];
      whole.term = tracer_.step_.storages[static_cast<std::size_t>(parameter.shard)].term;
      tracer_.step_.weights.push_back({parameter.whole, parameter.count});
    }
  }
}

void ShardedUnits::RunThrough() {
  BeforeForward(0);
  for (std::int32_t unit = 1; unit < units(); ++unit) {
    BeforeForward(unit);
    AfterForward(unit);
  }
}

ShardedUnits::Gradients ShardedUnits::CountGradients(const Unit& unit) const {
  Gradients gradients;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.leaf < 0) continue;
    if (tracer_.nodes_[static_cast<std::size_t>(parameter.leaf)].gradients[0] == kNoStorage) continue;
    gradients.elements += parameter.whole_elements;
    gradients.shard_elements += parameter.shard_elements;
    gradients.dtype = parameter.whole_dtype;
    gradients.shard_dtype = parameter.shard_dtype;
  }
  return gradients;
}

void ShardedUnits::SendGradients(const Gradients& gradients, Dtype dtype) {
  tracer_.Send(Group::kData, {gradients.elements, Axis::kOnce}, BytesPerElement(dtype));
}

void ShardedUnits::DropGradients(const Unit& unit) {
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.leaf >= 0) Release(tracer_.nodes_[static_cast<std::size_t>(parameter.leaf)].gradients[0]);
  }
}

void ShardedUnits::KeepReduced(StorageId reduced) {
  Storage& storage = tracer_.step_.storages[static_cast<std::size_t>(reduced)];
  storage.term = Term::kGradients;
  storage.role = "gradient shards";
  if (tracer_.step_.gradients_alive || offloads_) Release(reduced);
}

void ShardedUnits::HoldToEnd(StorageId& storage) {
  tracer_.HoldToEnd(storage);
  Release(storage);
}

void ShardedUnits::AddCopy(const Parameter& parameter, double elements, const char* role) {
  const Storage whole = tracer_.step_.storages[static_cast<std::size_t>(parameter.whole)];
  const Tracer::Scope outer = tracer_.scope;
  tracer_.scope = {whole.module, Term::kGathered, whole.in_layer};
  tracer_.Allocate({elements, Axis::kOnce}, whole.dtype, role);
  tracer_.scope = outer;
}

void ShardedUnits::CarryGradients() {
  carries_ = true;
  Step& step = tracer_.step_;
  for (const Resident& weight : step.trained) {
    Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    storage.term = Term::kGradients;
    storage.role = "gradient of the last step";
    AddResident(step, step.carried_gradients, storage, weight.count);
    tracer_.references_.push_back(Tracer::kUncounted);
  }
}

void ShardedUnits::EndCarriedGradients() {
  if (tracer_.step_.gradients_alive) return;  // they are being added to
  if (!std::exchange(carries_, false)) return;
  for (const Resident& gradient : tracer_.step_.carried_gradients) {
    tracer_.step_.events.push_back({gradient.storage, -static_cast<std::int32_t>(gradient.count)});
  }
}

std::unique_ptr<ShardedUnits> MakeShardedUnits(Tracer& tracer, const Workload& workload) {
  if (!GathersParameters(workload.parallel)) return nullptr;
  switch (workload.parallel.strategy) {
    case Strategy::kZero3:
      return std::make_unique<Zero3Units>(tracer, workload);
    case Strategy::kFsdp:
      return std::make_unique<Fsdp1Units>(tracer, workload);
    case Strategy::kFsdp2:
      return std::make_unique<Fsdp2Units>(tracer, workload);
    default:
      return nullptr;
  }
}

}  // namespace tunefit
