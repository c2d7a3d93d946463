#include "core/trace/training_step.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/trace/checkpointing.h"
#include "core/trace/encoder_decoder.h"
#include "core/trace/loss.h"
#include "core/trace/model.h"
#include "core/trace/offload.h"
#include "core/trace/optimizer.h"
#include "core/trace/sharding.h"
#include "core/trace/task_step.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kOnePerSequence{1, Axis::kSequences};

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

/// accelerate returns a placed model's outputs to the card of its inputs, and there casts those of autocast to fp32;
/// the Trainer lets go of them at once. A loss that makes no logits returns none.
void ReceiveLogits(Tracer& tracer, const Workload& workload) {
  if (workload.loss == Loss::kFusedLinearCe || workload.architecture.encoder != EncoderKind::kNone) return;
  tracer.BeginSection(Moment::kLoss, -1, 1, 1);
  tracer.scope = {"lm_head", Term::kLogitsAndLoss, false};
  const bool returns_fp32 = workload.habits.logits_upcast == LogitsUpcast::kModel;
  const Size size{static_cast<double>(workload.architecture.vocab_size), Axis::kTokens};
  const Value logits =
      tracer.Empty(size, returns_fp32 ? Dtype::kFp32 : workload.precision.compute, "logits from another card");
  if (workload.precision.autocast && workload.habits.outputs_upcast) {
    const Value upcast = tracer.Cast(logits, Dtype::kFp32);
  }
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
  const Value labels =
      tracer.Input(workload.architecture.labels > 0 ? kOnePerSequence : kOnePerToken, Dtype::kInt64, "labels");
  LayerContext context;
  Value last_logits = LastStepsLogits(tracer, workload);
  Value hidden = RunModel(tracer, model, ids, context, Moment::kForward);
  // A stage that is not the last sends its output on and gets the gradient of it.
  Value loss = hidden;
  if (model.encoder_head) {
    loss = TraceEncoderLoss(tracer, workload, *model.encoder_head, hidden, labels);
  } else if (workload.stage.is_last) {
    loss = TraceLoss(tracer, workload, model.head, hidden, labels, std::move(last_logits));
  } else {
    tracer.EndAutocast();
    if (workload.stage.gets_logits) ReceiveLogits(tracer, workload);
  }
  if (units) {
    loss = tracer.LeaveUnit(0, loss);
    units->EndForward();
  }
  hidden.Drop();  // the Trainer drops the model's outputs before backward
  if (!ChecksLayers(workload)) context.source.Drop();
  std::vector<Value> buckets = ReductionBuckets(tracer, workload);
  tracer.Backward(std::move(loss));
  buckets.clear();
  context = {};  // a checkpointed layer's arguments lived until its recomputation was done
  Step step = tracer.Finish();
  step.chunk = LossChunks(workload);
  step.in_flight = workload.stage.in_flight;
  AddOptimizer(step, workload);
  AddGradientBuffers(step, workload);
  MoveOffCard(step, workload, units ? units->shards() : std::vector<StorageId>());
  return step;
}

}  // namespace tunefit
