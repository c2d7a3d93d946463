#include "core/trace/loss.h"

#include <utility>

#include "core/trace/decoder.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kScalar{1, Axis::kOnce};

/// Tokens of a block of the chunked loss.
constexpr double kChunkTokens = 256;

/// The head's output as the model returns it: scaled (Granite) or soft-capped (Gemma 2).
Value Logits(Tracer& tracer, const Architecture& architecture, const LinearModule& head, const Value& hidden) {
  Value logits = Forward(tracer, head, hidden);
  if (architecture.scales_logits) logits = tracer.Scale(std::move(logits));
  if (architecture.logits_softcap) {
    logits = tracer.Scale(std::move(logits));
    logits = tracer.Tanh(std::move(logits));
    logits = tracer.Scale(std::move(logits));
  }
  return logits;
}

/// The logits in fp32 where the loss upcasts them; the loss function holds them until it returns.
Value Upcast(Tracer& tracer, const Habits& habits, const Value& logits) {
  return habits.logits_upcast == LogitsUpcast::kLoss ? tracer.Cast(logits, Dtype::kFp32) : logits;
}

/// What cross entropy sees: a copy without the last row where the stack shifts logits (transformers before 4.50,
/// torchtune before 0.3), not labels.
Value Shift(Tracer& tracer, const Habits& habits, const Value& upcast) {
  if (!habits.loss_shifts_logits) return upcast;
  Size shifted = tracer.SizeOf(upcast);
  // A block a little smaller than the logits': it does not fit where they were, nor they where it was, exactly.
  if (shifted.axis == Axis::kTokens || shifted.axis == Axis::kKept) shifted.axis = Axis::kShifted;
  return tracer.Copy(tracer.Narrow(upcast, shifted), "shifted logits");
}

/// Softmax over classes that come before the tokens makes them contiguous first (torchtune before 0.3 gives cross
/// entropy (sequences, classes, tokens); SoftMax.cu, host_softmax).
Value InOrder(Tracer& tracer, const Habits& habits, Value scores) {
  return habits.loss.classes_first ? tracer.Copy(std::move(scores), "classes first") : scores;
}

/// transformers' ForCausalLMLoss on materialized logits.
Value PlainCrossEntropy(Tracer& tracer, const Habits& habits, const Value& logits, const Value& labels) {
  const Value upcast = Upcast(tracer, habits, logits);
  const Value scores = Shift(tracer, habits, upcast);
  if (habits.loss.loop_holds) tracer.Hold(scores);
  const Value padded = tracer.Empty(tracer.SizeOf(labels), Dtype::kInt64, "padded labels");
  const Value shifted = tracer.Empty(tracer.SizeOf(labels), Dtype::kInt64, "shifted labels");
  const Value ordered = InOrder(tracer, habits, scores);
  Value log_probabilities = tracer.Softmax(tracer.autocast() ? tracer.Cast(ordered, Dtype::kFp32) : ordered);
  return tracer.NegativeLogLikelihood(std::move(log_probabilities), shifted);
}

/// The same on one fused kernel, which turns the scores into their gradient.
Value FusedCrossEntropy(Tracer& tracer, const Habits& habits, const Value& logits) {
  const Value upcast = Upcast(tracer, habits, logits);
  const Value scores = Shift(tracer, habits, upcast);
  return tracer.InPlaceCrossEntropy(scores);
}

/// The loop's name for the logits gets the new ones.
void EndLastStep(Tracer& tracer, const Habits& habits, Value last_logits) {
  last_logits.Drop();
  if (habits.loss.loop_holds) tracer.EndLastGraph();
}

Value StandardLoss(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden,
                   const Value& labels, Value last_logits) {
  const Habits& habits = workload.habits;
  Value logits = TraceLogits(tracer, workload, head, tracer.View(hidden));
  EndLastStep(tracer, habits, std::move(last_logits));
  const bool in_place = workload.loss == Loss::kFusedCe || habits.loss.in_place;
  Value loss = in_place ? FusedCrossEntropy(tracer, habits, logits) : PlainCrossEntropy(tracer, habits, logits, labels);
  const Value returned = ReturnedLogits(tracer, workload, logits);
  return loss;
}

/// Head and loss over blocks of tokens, each run again in backward: no logits of the whole batch.
Value BlocksRunAgain(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden) {
  const auto width = static_cast<double>(workload.architecture.hidden_size);
  const auto block = [&tracer, &workload, &head](const std::array<Value, 3>& inputs) {
    tracer.scope = {"loss", Term::kLogitsAndLoss, false};
    Value logits = Logits(tracer, workload.architecture, head, inputs[0]);
    Value labels = tracer.Empty({1, Axis::kChunk}, Dtype::kInt64, "labels");
    return PlainCrossEntropy(tracer, workload.habits, logits, labels);
  };
  // One block stands for all: they come one after another, and only their gradients for the hidden states stay.
  Value part = tracer.Narrow(hidden, {width, Axis::kChunk});
  Value loss = tracer.Checkpoint(block, {part}, {});
  tracer.EndAutocast();
  return loss;
}

/// Cross entropy over chunks of logits that all exist. Source: LitGPT litgpt/utils.py, chunked_cross_entropy, over the
/// fp32 copy that Fabric's precision plugin returns; torchtune modules/loss/ce_chunked_output_loss.py, which upcasts a
/// chunk at a time.
Value LogitsInChunks(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden,
                     Value last_logits) {
  const Habits& habits = workload.habits;
  Value logits = Logits(tracer, workload.architecture, head, tracer.View(hidden));
  const Size chunk{tracer.SizeOf(logits).coefficient, Axis::kChunk};
  Value returned;
  if (habits.logits_upcast == LogitsUpcast::kModel) {
    returned = tracer.Empty(tracer.SizeOf(logits), Dtype::kFp32, "returned logits");
    if (habits.loss.loop_holds) tracer.Hold(returned);
  }
  EndLastStep(tracer, habits, std::move(last_logits));
  Value loss = tracer.ChunkedCrossEntropy(std::move(logits), returned, chunk);
  tracer.EndAutocast();
  return loss;
}

/// Head and loss of a chunk of tokens after another; what backward needs of every chunk is kept. Source: torchtune
/// modules/loss/cross_entropy_loss.py, LinearCrossEntropyLoss, with no token masked out.
Value HeadInChunks(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden) {
  const Size chunk{static_cast<double>(workload.architecture.hidden_size), Axis::kChunk};
  const Value labels = tracer.Empty({1, Axis::kChunk}, Dtype::kInt64, "labels");
  Value total;
  for (std::int64_t i = 0; i < workload.habits.loss.chunks; ++i) {
    const Value part = tracer.Narrow(hidden, chunk);
    const Value logits = Logits(tracer, workload.architecture, head, part);
    Value loss = PlainCrossEntropy(tracer, workload.habits, logits, labels);
    total = total ? tracer.Add(std::move(total), std::move(loss)) : std::move(loss);
  }
  tracer.EndAutocast();
  return total;
}

Value ChunkedLossOf(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden,
                    Value last_logits) {
  switch (workload.habits.loss.chunked) {
    case ChunkedLoss::kLogitsInChunks:
      return LogitsInChunks(tracer, workload, head, hidden, std::move(last_logits));
    case ChunkedLoss::kHeadInChunks:
      return HeadInChunks(tracer, workload, head, hidden);
    case ChunkedLoss::kBlocksRunAgain:
      break;
  }
  return BlocksRunAgain(tracer, workload, head, hidden);
}

/// What its blocks multiply and move, all of them together: logits, which a kernel turns into their gradient, and from
/// these the gradients of the hidden states and of a head that trains.
void WorkOfFusedLinearLoss(Tracer& tracer, const LinearModule& head, Size hidden, double vocabulary, Dtype compute) {
  const double width = hidden.coefficient;
  const Size matrix{width * vocabulary, Axis::kOnce};
  const Size logits{vocabulary, hidden.axis};
  tracer.Multiply(kScalar, hidden, matrix, logits, compute);
  tracer.Move(logits, 3 * BytesPerElement(compute));  // read twice, and overwritten
  tracer.Multiply(kScalar, logits, matrix, hidden, compute);
  if (tracer.RequiresGradient(head.weight)) tracer.Multiply(kScalar, logits, hidden, matrix, compute);
}

/// Liger's fused linear cross entropy: the forward pass computes the gradients of the hidden states and, where it
/// trains, of the head, block by block; only one block's logits exist at a time.
/// Source: Liger-Kernel ops/fused_linear_cross_entropy.py.
Value FusedLinearLoss(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden) {
  const Architecture& architecture = workload.architecture;
  const auto vocabulary = static_cast<double>(architecture.vocab_size);
  const Dtype compute = tracer.autocast().value_or(tracer.DtypeOf(hidden));
  Value hidden_gradient = tracer.Empty(tracer.SizeOf(hidden), tracer.DtypeOf(hidden), "hidden gradient");
  Value weight_gradient;
  if (tracer.RequiresGradient(head.weight)) {
    weight_gradient = tracer.Empty(tracer.SizeOf(head.weight), tracer.DtypeOf(head.weight), "gradient");
  }
  WorkOfFusedLinearLoss(tracer, head, tracer.SizeOf(hidden), vocabulary, compute);
  Value losses = tracer.Empty(kOnePerToken, Dtype::kFp32, "losses");
  {
    Value copy;
    if (!head.weight || tracer.DtypeOf(head.weight) != compute) {
      const double elements = static_cast<double>(architecture.hidden_size) * vocabulary;
      copy = tracer.Empty({elements, Axis::kOnce}, compute, "cast weight");
    }
    Value logits = tracer.Empty({vocabulary, Axis::kChunk}, compute, "logits of a block");
  }
  Value loss = tracer.Prepared(hidden, head.weight, hidden_gradient, weight_gradient, kScalar, Dtype::kFp32, "loss");
  tracer.EndAutocast();
  return loss;
}

/// Encoder-decoders have the loss written into their class: no upcast, no shift, for the labels are the target itself
/// (T5ForConditionalGeneration.forward).
Value LossOfTarget(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden,
                   const Value& labels) {
  const Value states = workload.architecture.scales_head_input ? tracer.Scale(hidden) : hidden;
  const Value logits = Forward(tracer, head, states);
  Value loss = OwnCrossEntropy(tracer, logits, labels);
  const Value returned = ReturnedLogits(tracer, workload, logits);
  return loss;
}

}  // namespace

Value ReturnedLogits(Tracer& tracer, const Workload& workload, Value logits) {
  tracer.EndAutocast();
  if (!workload.precision.autocast || !workload.habits.outputs_upcast) return logits;
  return tracer.Cast(std::move(logits), Dtype::kFp32);
}

Value OwnCrossEntropy(Tracer& tracer, const Value& scores, Value labels) {
  Value log_probabilities = tracer.Softmax(tracer.autocast() ? tracer.Cast(scores, Dtype::kFp32) : scores);
  return tracer.NegativeLogLikelihood(std::move(log_probabilities), std::move(labels));
}

Value TraceLogits(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden) {
  Value logits = Logits(tracer, workload.architecture, head, hidden);
  if (workload.habits.logits_upcast != LogitsUpcast::kModel) return logits;
  return tracer.Cast(std::move(logits), Dtype::kFp32);
}

ChunkRule LossChunks(const Workload& workload) {
  const Architecture& architecture = workload.architecture;
  if (workload.loss == Loss::kFusedLinearCe) {
    // Liger sizes its blocks so that a block's logits weigh about as much as the hidden states.
    const std::int64_t ratio = (architecture.vocab_size + architecture.hidden_size - 1) / architecture.hidden_size;
    return {.power_of_two_share = static_cast<double>(ratio)};
  }
  ChunkRule rule{.tokens = kChunkTokens};
  const LossHabits& habits = workload.habits.loss;
  if (habits.chunked == ChunkedLoss::kBlocksRunAgain) return rule;
  rule.of_length = static_cast<double>(habits.chunk_length);
  rule.parts = static_cast<double>(habits.chunks);
  return rule;
}

Value LastStepsLogits(Tracer& tracer, const Workload& workload) {
  if (!workload.habits.loss.loop_holds || workload.loss == Loss::kFusedLinearCe) return {};
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  tracer.scope = {"logits of the last step", Term::kLogitsAndLoss, false};
  const Size size{static_cast<double>(workload.architecture.vocab_size), Axis::kKept};
  const bool upcast = workload.habits.logits_upcast == LogitsUpcast::kModel;
  return tracer.Empty(size, upcast ? Dtype::kFp32 : workload.precision.compute, "logits");
}

Value TraceLoss(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& states,
                const Value& labels, Value last_logits) {
  tracer.BeginSection(Moment::kLoss, -1, 1, 1);
  tracer.scope = {head.path, Term::kLogitsAndLoss, false};
  tracer.FuseElementwise(workload.compile && workload.habits.loss.compiled);
  const Value hidden = JoinTokens(tracer, workload, states);
  if (workload.architecture.encodes_source()) return LossOfTarget(tracer, workload, head, hidden, labels);
  switch (workload.loss) {
    case Loss::kChunked:
      return ChunkedLossOf(tracer, workload, head, hidden, std::move(last_logits));
    case Loss::kFusedLinearCe:
      return FusedLinearLoss(tracer, workload, head, hidden);
    case Loss::kStandard:
    case Loss::kFusedCe:
      break;
  }
  return StandardLoss(tracer, workload, head, hidden, labels, std::move(last_logits));
}

}  // namespace tunefit
