#include "core/trace/data_parallel.h"

#include "core/trace/offload.h"
#include "core/trace/optimizer.h"

namespace tunefit {
namespace {

/// DeepSpeed's stages 1 and 2 reduce gradients by way of a buffer of reduce_bucket_size elements, two where reduction
/// overlaps with backward (stage_1_and_2.py, backward()), also on a single rank. The size is that of transformers'
/// documented configuration of stage 2.
constexpr double kReduceBucketElements = 2e8;

}  // namespace

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

std::vector<Value> ReductionBuckets(Tracer& tracer, const Workload& workload) {
  const bool reduces =
      ShardsStatesOnly(workload.parallel.strategy) && workload.habits.master_gradients == MasterGradients::kCastInStep;
  if (!reduces) return {};
  tracer.scope = {"engine", Term::kCommunication, false};
  std::vector<Value> buckets;
  for (int i = 0; i < 2; ++i) {
    buckets.push_back(
        tracer.Empty({kReduceBucketElements, Axis::kOnce}, workload.precision.weights, "reduction bucket"));
  }
  return buckets;
}

void AddLasting(Step& step, const Workload& workload, const std::vector<StorageId>& shards) {
  AddOptimizer(step, workload);
  AddGradientBuffers(step, workload);
  MoveToHost(step, workload, shards);
}

}  // namespace tunefit
