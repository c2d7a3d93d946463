#include "core/trace/fsdp1.h"

#include <cmath>
#include <utility>

#include "core/trace/checkpointing.h"

namespace tunefit {

Fsdp1Units::Fsdp1Units(Tracer& tracer, const Workload& workload)
    : ShardedUnits(tracer, workload),
      prefetches_(!ChecksLayers(workload) || LayerRule(workload).recompute != Recompute::kReentrant),
      holds_inputs_(workload.method.kind == MethodKind::kLora && !prefetches_) {}

/// The flat parameter is cut into equal parts wherever the cuts fall.
double Fsdp1Units::ShardElements(const WeightShape& shape) const {
  return std::ceil(shape.rows * shape.columns / ranks_);
}

void Fsdp1Units::Gather(Unit& unit) {
  if (unit.whole) return;
  double cast_elements = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (parameter.shard_dtype != parameter.whole_dtype) cast_elements += parameter.shard_elements;
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
  if (unit == 0) EndCarriedGradients();
  Gather(At(unit));
}

/// The root's parameters stay: backward begins with them.
void Fsdp1Units::AfterForward(std::int32_t unit) {
  if (reshards_ && unit != 0) FreeWhole(At(unit));
}

void Fsdp1Units::BeforeBackward(std::int32_t unit) {
  Gather(At(unit));
  const std::int32_t next = Previous(unit);
  if (prefetches_ && next > 0) Gather(At(next));
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
    if (!At(unit).backward_done) AfterBackward(unit);
  }
}

}  // namespace tunefit
