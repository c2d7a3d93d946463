#include "core/trace/fsdp1.h"

#include <cmath>
#include <utility>

#include "core/trace/checkpointing.h"

namespace tunefit {

Fsdp1Units::Fsdp1Units(Tracer& tracer, const Workload& workload)
    : ShardedUnits(tracer, workload),
      prefetches_(!ChecksLayers(workload) || LayerRule(workload).recompute != Recompute::kReentrant),
      holds_inputs_(AddsToFrozenModel(workload.method.kind) && !prefetches_) {}

/// The flat parameter is cut into equal parts wherever the cuts fall.
double Fsdp1Units::ShardElements(const WeightShape& shape, double ranks) const {
  return std::ceil(shape.rows * shape.columns / ranks);
}

void Fsdp1Units::Gather(Unit& unit) {
  if (unit.whole) return;
  double cast_elements = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.shard_dtype != parameter.whole_dtype) cast_elements += parameter.together * parameter.shard_elements;
  }
  StorageId brought = BringFromHost(unit);
  StorageId cast = kNoStorage;  // FlatParameter._mp_shard
  if (cast_elements > 0) {
    cast = Allocate(cast_elements, compute_, Term::kCommunication, Stream::kGather, "shards to gather");
  }
  AllocateWhole(unit);
  Release(cast);
  Release(brought);
}

void Fsdp1Units::BeforeForward(std::int32_t unit) {
  if (unit == 0 && summoned_ == kNoStorage) EndCarriedGradients();
  Gather(At(unit));
}

/// The root's parameters stay: backward begins with them, where there is one (_post_forward_reshard).
void Fsdp1Units::AfterForward(std::int32_t unit) {
  if (!StaysWhole(unit, WithGradients())) FreeWhole(At(unit));
}

/// summon_full_params(recurse=False): the root's flat parameter in its own dtype, in place of that of mixed precision
/// (_flat_param.py, _get_padded_unsharded_flat_param). The wrapper is not called, so no hook of the root's runs.
void Fsdp1Units::BeginGeneration() {
  Unit& root = At(0);
  FreeWhole(root);
  double bytes = 0;
  for (const Parameter& parameter : root.parameters) {
    bytes += parameter.together * parameter.whole_elements * BytesPerElement(parameter.shard_dtype);
  }
  StorageId brought = BringFromHost(root);
  summoned_ = Allocate(bytes, Dtype::kUint8, Term::kGathered, Stream::kGather, "root in its own dtype");
  Release(brought);
  root.whole = true;
}

void Fsdp1Units::EndGeneration() {
  At(0).whole = false;
  Release(summoned_);
}

void Fsdp1Units::BeforeBackward(std::int32_t unit) {
  Gather(At(unit));
  const std::int32_t next = Previous(unit);
  if (prefetches_ && next > 0 && At(next).in_backward) Gather(At(next));
}

void Fsdp1Units::AfterBackward(std::int32_t unit) {
  At(unit).backward_done = true;
  Reduce(At(unit));
  FreeWhole(At(unit));  // where nothing was reduced
}

/// Autograd joins the views' gradients (split's backward is a cat), the hook frees the flat parameter, then reduces.
/// HYBRID_SHARD reduces the share among replicas in place (_runtime_utils.py, _reduce_grad).
void Fsdp1Units::Reduce(Unit& unit) {
  const Gradients gradients = CountGradients(unit);
  if (gradients.elements == 0) return;
  SendGradients(gradients, reduce_);
  StorageId joined = Allocate(gradients.elements, gradients.dtype, Term::kGradients, Stream::kCompute, "flat gradient");
  DropGradients(unit);
  FreeWhole(unit);
  StorageId sent = kNoStorage;
  if (reduce_ != gradients.dtype) {
    sent = Allocate(gradients.elements, reduce_, Term::kCommunication, Stream::kReduce, "gradient to reduce");
  }
  StorageId reduced =
      Allocate(gradients.shard_elements, reduce_, Term::kCommunication, Stream::kReduce, "reduced gradients");
  if (reduce_ != gradients.shard_dtype) {
    StorageId narrow = std::exchange(reduced, Allocate(gradients.shard_elements, gradients.shard_dtype,
                                                       Term::kGradients, Stream::kReduce, "gradient shards"));
    Release(narrow);
  }
  KeepReduced(reduced);
  Release(sent);
  Release(joined);
}

void Fsdp1Units::EndBackward() {
  for (std::int32_t unit = units() - 1; unit >= 0; --unit) {
    FreeUnreached(At(unit));
    if (!At(unit).backward_done) AfterBackward(unit);
  }
}

}  // namespace tunefit
