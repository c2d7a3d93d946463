#include "core/trace/data_parallel.h"

#include <algorithm>

#include "core/trace/offload.h"
#include "core/trace/optimizer.h"

namespace tunefit {
std::optional<Dtype> AutocastOf(const Workload& workload) {
  return workload.precision.autocast ? std::optional(workload.precision.compute) : std::nullopt;
}

bool AddsToGradients(const Workload& workload) {
  return workload.batch.gradient_accumulation > 1 && GradientsAfterBackward(workload) == GradientFate::kStays &&
         !OffloadsGradients(workload);
}

void DecideGradients(Tracer& tracer, const Workload& workload) {
  const GradientFate fate = GradientsAfterBackward(workload);
  tracer.DecideGradients(
      fate, [&workload](const Step& step, const Resident& weight) { return UpdateBytes(step, workload, weight); });
  if (fate != GradientFate::kIsDivided) return;
  tracer.KeepShareOfGradients(OffloadsGradients(workload) ? 0 : 1 / static_cast<double>(workload.parallel.Shards()));
}

Dtype DtypeAtWork(const Workload& workload) {
  return GathersParameters(workload.parallel) ? workload.precision.compute : workload.precision.weights;
}

TracedModel MakeWrapped(Tracer& tracer, const Workload& workload, Unrolling unrolling,
                        std::unique_ptr<ShardedUnits>& units) {
  units = MakeShardedUnits(tracer, workload);
  tracer.ShardWith(units.get());
  TracedModel model = MakeModel(tracer, workload, unrolling);
  model.units = units.get();
  if (units == nullptr) return model;
  if (workload.method.kind == MethodKind::kFrozen) {
    units->KeepGathered();
  } else if (workload.parallel.strategy == Strategy::kFsdp && workload.habits.fsdp1_keeps_gradients &&
             !OffloadsGradients(workload)) {
    units->CarryGradients();
  }
  return model;
}

Value LeaveModel(Tracer& tracer, const TracedModel& model, const Value& x) {
  if (model.units == nullptr) return x;
  Value out = tracer.LeaveUnit(0, x);
  model.units->EndForward();
  return out;
}

/// What DeepSpeed's stages 1 and 2 reduce gradients by way of (stage_1_and_2.py), also on a single rank, from the first
/// gradient to the end of backward. With contiguous_gradients a buffer of reduce_bucket_size elements, two where
/// reduction overlaps with backward (setup_buckets). Without, gradients wait until as many have come, then all of them
/// are flattened (buffered_reduce_fallback); with overlap those of the reduction before wait as well. In stage 1 they
/// stay in any case.
std::vector<Value> ReductionBuckets(Tracer& tracer, const Workload& workload) {
  if (!HasReductionBuckets(workload)) return {};
  const ZeroSettings& zero = workload.parallel.zero;
  auto elements = static_cast<double>(zero.reduce_bucket_size);
  int count = zero.overlap_comm ? 2 : 1;
  if (!zero.contiguous_gradients) {
    elements = std::min(elements, tracer.TrainedElements());
    count = workload.parallel.strategy == Strategy::kZero1 ? 1 : count + 1;
  }
  tracer.scope = {"engine", Term::kCommunication, false};
  std::vector<Value> buckets;
  for (int i = 0; i < count; ++i) {
    buckets.push_back(tracer.Empty({elements, Axis::kOnce}, workload.precision.weights, "reduction bucket"));
  }
  return buckets;
}

void AddLasting(Step& step, const Workload& workload, const std::vector<StorageId>& shards) {
  AddOptimizer(step, workload);
  AddGradientBuffers(step, workload);
  MoveOffCard(step, workload, shards);
}

}  // namespace tunefit
