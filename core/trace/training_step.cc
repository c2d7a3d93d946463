#include "core/trace/training_step.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/trace/checkpointing.h"
#include "core/trace/encoder_decoder.h"
#include "core/trace/loss.h"
#include "core/trace/model.h"
#include "core/trace/model_inputs.h"
#include "core/trace/offload.h"
#include "core/trace/optimizer.h"
#include "core/trace/sharding.h"
#include "core/trace/task_step.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kOnePerSequence{1, Axis::kSequences};

/// DeepSpeed's stages 1 and 2 reduce gradients by way of a buffer of reduce_bucket_size elements, two where reduction
/// overlaps with backward (stage_1_and_2.py, backward()), also on a single rank. The size is that of transformers'
/// documented configuration of stage 2.
constexpr double kReduceBucketElements = 2e8;

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

}  // namespace

TrainedParameters CountTrainedParameters(const Workload& workload) {
  Tracer tracer(std::nullopt, false);
  const TracedModel model = MakeModel(tracer, workload, Unrolling::kFolded);
  const Step step = tracer.Finish();
  return {step.adapter_parameters, step.trained_parameters};
}

Step TraceTrainingStep(const Workload& workload, Unrolling unrolling) {
  const bool encoder = workload.architecture.encoder != EncoderKind::kNone;
  const bool plain = encoder || workload.task == Task::kSft || workload.task == Task::kPretrain;
  if (!plain) return TraceTaskStep(workload, unrolling);
  const GradientFate fate = GradientsAfterBackward(workload);
  const bool offloads = OffloadsGradients(workload);
  Tracer tracer(workload.precision.autocast ? std::optional(workload.precision.compute) : std::nullopt,
                workload.batch.gradient_accumulation > 1 && fate == GradientFate::kStays && !offloads);
  tracer.DecideGradients(
      fate, [&workload](const Step& step, const Resident& weight) { return UpdateBytes(step, workload, weight); });
  if (fate == GradientFate::kIsDivided) {
    tracer.KeepShareOfGradients(offloads ? 0 : 1 / static_cast<double>(workload.parallel.Shards()));
  }
  const std::unique_ptr<ShardedUnits> units = MakeShardedUnits(tracer, workload);
  tracer.ShardWith(units.get());
  const TracedModel model = MakeModel(tracer, workload, unrolling);
  if (workload.parallel.strategy == Strategy::kFsdp && workload.habits.fsdp1_keeps_gradients && units && !offloads) {
    units->CarryGradients();
  }
  tracer.scope = {"inputs", Term::kInputs, false};
  const Value ids = MakeSourceInput(tracer, workload);
  const bool pads = workload.architecture.encodes_source() && !workload.architecture.hears();
  const Value padding = pads ? tracer.Input(kOnePerToken, Dtype::kInt64, "attention_mask") : Value();
  const bool classifies = workload.architecture.labels > 0;
  const Value labels =
      tracer.Input(classifies ? kOnePerSequence : Size{1, TokensOfData(workload)}, Dtype::kInt64, "labels");
  Value all_labels = LabelsOfAll(tracer, workload, labels);
  LayerContext context;
  Value last_logits = LastStepsLogits(tracer, workload);
  Value hidden = RunModel(tracer, model, ids, context, Moment::kForward);
  // A stage that is not the last sends its output on and gets the gradient of it.
  Value loss = hidden;
  if (model.encoder_head) {
    loss = TraceEncoderLoss(tracer, workload, *model.encoder_head, hidden, labels);
  } else if (workload.stage.is_last) {
    loss = TraceLoss(tracer, workload, model.head, hidden, all_labels, std::move(last_logits));
  } else {
    tracer.EndAutocast();
  }
  if (units) {
    loss = tracer.LeaveUnit(0, loss);
    units->EndForward();
  }
  context.DropPrompts();
  all_labels.Drop();
  hidden.Drop();  // the Trainer drops the model's outputs before backward
  if (!ChecksLayers(workload)) context.source.Drop();
  const std::vector<Value> buckets = ReductionBuckets(tracer, workload);
  tracer.Backward(std::move(loss));
  context = {};  // a checkpointed layer's arguments lived until its recomputation was done
  Step step = tracer.Finish();
  step.chunk = LossChunks(workload);
  step.in_flight = workload.stage.in_flight;
  AddOptimizer(step, workload);
  AddGradientBuffers(step, workload);
  MoveToHost(step, workload, units ? units->shards() : std::vector<StorageId>());
  return step;
}

}  // namespace tunefit
