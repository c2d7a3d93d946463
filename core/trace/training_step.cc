#include "core/trace/training_step.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/trace/data_parallel.h"
#include "core/trace/loss.h"
#include "core/trace/plain_pass.h"
#include "core/trace/task_step.h"

namespace tunefit {

TrainedParameters CountTrainedParameters(const Workload& workload) {
  Tracer tracer(std::nullopt, false);
  const TracedModel model = MakeModel(tracer, workload, Unrolling::kFolded);
  const Step step = tracer.Finish();
  return {step.adapter_parameters, step.trained_parameters};
}

Step TraceTrainingStep(const Workload& workload, Unrolling unrolling) {
  if (!HasPlainLoss(workload)) return TraceTaskStep(workload, unrolling);
  Tracer tracer(AutocastOf(workload), AddsToGradients(workload));
  DecideGradients(tracer, workload);
  std::unique_ptr<ShardedUnits> units;
  const TracedModel model = MakeWrapped(tracer, workload, unrolling, units);
  PlainPass pass(tracer, workload, model);
  Value loss = pass.Loss(Moment::kForward);
  std::vector<Value> buckets = ReductionBuckets(tracer, workload);
  tracer.Backward(std::move(loss));
  buckets.clear();
  pass.EndContext();
  Step step = tracer.Finish();
  step.chunk = LossChunks(workload);
  step.in_flight = workload.stage.in_flight;
  AddLasting(step, workload, units ? units->shards() : std::vector<StorageId>());
  return step;
}

}  // namespace tunefit
