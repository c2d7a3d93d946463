#include "core/trace/plain_pass.h"

#include <utility>

#include "core/trace/checkpointing.h"
#include "core/trace/encoder_decoder.h"
#include "core/trace/loss.h"
#include "core/trace/model_inputs.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kOnePerSequence{1, Axis::kSequences};

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

bool HasPlainLoss(const Workload& workload) {
  return workload.architecture.encoder != EncoderKind::kNone || workload.task == Task::kSft ||
         workload.task == Task::kPretrain;
}

PlainPass::PlainPass(Tracer& tracer, const Workload& workload, const TracedModel& model)
    : tracer_(tracer), workload_(workload), model_(model) {
  tracer.scope = {"inputs", Term::kInputs, false};
  ids_ = MakeSourceInput(tracer, workload);
  const bool pads = workload.architecture.encodes_source() && !workload.architecture.hears();
  if (pads) padding_ = tracer.Input(kOnePerToken, Dtype::kInt64, "attention_mask");
  const Size labels = workload.architecture.labels > 0 ? kOnePerSequence : Size{1, TokensOfData(workload)};
  labels_ = tracer.Input(labels, Dtype::kInt64, "labels");
  all_labels_ = LabelsOfAll(tracer, workload, labels_);
}

Value PlainPass::Loss(Moment moment) {
  Value last_logits = tracer_.gradients() ? LastStepsLogits(tracer_, workload_) : Value();
  const Value hidden = RunModel(tracer_, model_, ids_, context_, moment);
  // A stage that is not the last sends its output on and gets the gradient of it.
  Value loss = hidden;
  if (model_.encoder_head) {
    loss = TraceEncoderLoss(tracer_, workload_, *model_.encoder_head, hidden, labels_);
  } else if (workload_.stage.is_last) {
    loss = TraceLoss(tracer_, workload_, model_.head, hidden, all_labels_, std::move(last_logits));
  } else {
    tracer_.EndAutocast();
    if (workload_.stage.gets_logits) ReceiveLogits(tracer_, workload_);
  }
  loss = LeaveModel(tracer_, model_, loss);
  context_.DropPrompts();
  all_labels_.Drop();
  if (!ChecksLayers(workload_)) context_.source.Drop();
  return loss;  // the Trainer drops the model's outputs before backward
}

}  // namespace tunefit
