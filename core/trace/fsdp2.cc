#include "core/trace/fsdp2.h"

#include <cmath>
#include <utility>

namespace tunefit {

Fsdp2Units::Fsdp2Units(Tracer& tracer, const Workload& workload)
    : ShardedUnits(tracer, workload), has_replicas_(workload.parallel.Replicas() > 1) {}

/// torch.chunk along the first dimension, the last rank padded to the others' size; along the next one where there are
/// fewer experts than ranks (torchtitan, parallelize.py: shard_placement_fn).
double Fsdp2Units::ShardElements(const WeightShape& shape, double ranks) const {
  if (ranks > shape.rows && shape.last > 0) return shape.rows * std::ceil(shape.columns / ranks);
  return std::ceil(shape.rows / ranks) * shape.columns;
}

/// foreach_all_gather: shards that have to be cast are cast into one flat tensor first.
void Fsdp2Units::Gather(Unit& unit) {
  if (unit.whole || unit.gathered != kNoStorage) return;
  double cast_elements = 0;
  double bytes = 0;
  double elements = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.shard_dtype != parameter.whole_dtype) cast_elements += parameter.together * parameter.shard_elements;
    const double whole_elements = parameter.together * parameter.whole_elements;
    elements += whole_elements;
    bytes += whole_elements * BytesPerElement(parameter.whole_dtype);
  }
  StorageId brought = BringFromHost(unit);
  StorageId cast = kNoStorage;
  if (cast_elements > 0) {
    cast = Allocate(cast_elements, compute_, Term::kCommunication, Stream::kGather, "shards to gather");
  }
  const bool uniform = bytes == elements * BytesPerElement(compute_);
  unit.gathered = uniform ? Allocate(elements, compute_, Term::kCommunication, Stream::kGather, "all-gather")
                          : Allocate(bytes, Dtype::kUint8, Term::kCommunication, Stream::kGather, "all-gather");
  Release(cast);
  Release(brought);
}

void Fsdp2Units::BeforeForward(std::int32_t unit) {
  Gather(At(unit));
  Release(copied_out_);
  AllocateWhole(At(unit));
  copied_out_ = std::exchange(At(unit).gathered, kNoStorage);
}

void Fsdp2Units::AfterForward(std::int32_t unit) {
  if (!StaysWhole(unit, WithGradients())) FreeWhole(At(unit));
}

void Fsdp2Units::EndForward() { Release(copied_out_); }

void Fsdp2Units::BeforeBackward(std::int32_t unit) {
  Gather(At(unit));  // unless it was prefetched
  AllocateWhole(At(unit));
  Release(At(unit).gathered);
  const std::int32_t next = Previous(unit);
  if (next > 0) Gather(At(next));
}

void Fsdp2Units::AfterBackward(std::int32_t unit) {
  At(unit).backward_done = true;
  FreeWhole(At(unit));
  Release(reducing_);
  Reduce(At(unit));
}

/// foreach_reduce: gradients are copied into one buffer and freed, then reduced into one rank's share of it. Among
/// replicas that share is reduced in place; where it is then cast, its unit holds it to the end of the backward pass
/// (_fsdp_param_group.py, _all_reduce_state: torch 2.6 on).
void Fsdp2Units::Reduce(const Unit& unit) {
  const Gradients gradients = CountGradients(unit);
  if (gradients.elements == 0) return;
  SendGradients(gradients, reduce_);
  reducing_ = Allocate(gradients.elements, reduce_, Term::kCommunication, Stream::kCompute, "reduce-scatter");
  DropGradients(unit);
  StorageId reduced =
      Allocate(gradients.shard_elements, reduce_, Term::kCommunication, Stream::kReduce, "reduced gradients");
  if (reduce_ != gradients.shard_dtype) {
    StorageId wide = std::exchange(reduced, Allocate(gradients.shard_elements, gradients.shard_dtype, Term::kGradients,
                                                     Stream::kReduce, "gradient shards"));
    if (has_replicas_) {
      HoldToEnd(wide);
    } else {
      Release(wide);
    }
  }
  KeepReduced(reduced);
}

/// The root's inputs need no gradient, so its hook runs when the whole pass has ended, and so does that of any unit
/// like it. Layers are gathered ahead by the order of the forward pass alone: one that backward never came to is let go
/// here (finalize_backward).
void Fsdp2Units::EndBackward() {
  for (std::int32_t unit = 0; unit < units(); ++unit) {
    Release(At(unit).gathered);
    FreeUnreached(At(unit));
    if (!At(unit).backward_done) AfterBackward(unit);
  }
  Release(reducing_);
}

}  // namespace tunefit
