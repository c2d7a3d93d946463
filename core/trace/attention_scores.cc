// Scores, softmax and the product with the values: written out, or by a fused kernel.
#include <utility>

#include "core/trace/attention.h"

namespace tunefit {
namespace {

/// How often a key/value head is repeated to meet every query head.
double CopiesOfHeads(const Attention& attention) {
  if (attention.repeats_fused_heads) return 1;  // done when the projection was cut
  return static_cast<double>(attention.sharing_heads());
}

Value Softcap(Tracer& tracer, Value scores) {
  scores = tracer.Scale(std::move(scores));
  scores = tracer.Tanh(std::move(scores));
  return tracer.Scale(std::move(scores));
}

/// The scores with everything that is added to them before the softmax.
Value Biased(Tracer& tracer, const Attention& attention, const LayerContext& context, Value scores) {
  if (attention.eager != EagerStyle::kBiasedProduct && context.bias) {
    scores = tracer.Add(std::move(scores), context.bias);
  }
  if (context.mask) scores = tracer.Add(std::move(scores), context.mask);
  return scores;
}

/// From scores to probabilities in the dtype that the product with the values reads.
Value Probabilities(Tracer& tracer, const Attention& attention, const Heads& heads, Value scores) {
  switch (attention.eager) {
    case EagerStyle::kOwnSoftmax:
      if (tracer.autocast()) scores = tracer.Cast(scores, Dtype::kFp32);
      return tracer.Softmax(std::move(scores));
    case EagerStyle::kTypedSoftmax:
      return tracer.Softmax(tracer.Cast(scores, heads.hidden));
    case EagerStyle::kFp32Softmax:
    case EagerStyle::kFp32Scores:
    case EagerStyle::kSinks:
    case EagerStyle::kBiasedProduct:
    case EagerStyle::kBiasInPlace:
    case EagerStyle::kDisentangled:
      break;
  }
  scores = tracer.Softmax(tracer.Cast(scores, Dtype::kFp32));
  return tracer.Cast(scores, tracer.DtypeOf(heads.query));
}

/// gpt-oss: the sinks stand as one more key (their column is not counted beside the others); the largest score is
/// subtracted, softmax stays in the scores' dtype, and the column is cut off. `combined` is the caller's name.
/// Source: transformers' modeling_gpt_oss.py, eager_attention_forward.
Value ProbabilitiesBesideSinks(Tracer& tracer, const Attention& attention, const Value& sinks, const Value& scores,
                               Value& combined) {
  const Size rows{static_cast<double>(attention.heads), Axis::kTokens};
  combined = tracer.Add(scores, tracer.Stretch(sinks, rows));
  std::array<Value, 2> largest = tracer.TopK(combined, rows);
  combined = tracer.Add(combined, tracer.Negate(std::move(largest[0])));
  return tracer.Slice(tracer.Softmax(combined), 1);
}

MixerResult Eager(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads) {
  const double copies = CopiesOfHeads(attention);
  const bool joined = heads.by_heads;
  const Size scores_size{static_cast<double>(attention.heads), Axis::kScores};
  const Size batches{static_cast<double>(attention.heads), Axis::kSequences};
  Value query = heads.query;
  Value key = tracer.ExpandHeads(heads.key, copies);
  Value value = tracer.ExpandHeads(heads.value, copies);
  if (attention.eager == EagerStyle::kFp32Scores) {
    query = tracer.Cast(query, Dtype::kFp32);
    key = tracer.Cast(key, Dtype::kFp32);
  }
  // bmm wants heads first: transposed operands are copied unless the batch is one. The copies stand in for the
  // originals in autograd, so only the second set of bytes is transient.
  const Dtype operand = tracer.autocast().value_or(tracer.DtypeOf(query));
  Value query_copy;
  if (!joined) query_copy = tracer.Empty(IfBatched(tracer.SizeOf(query)), operand, "contiguous query");
  Value key_copy;
  Value value_copy;
  if (copies == 1 && !joined) key_copy = tracer.Empty(IfBatched(tracer.SizeOf(key)), operand, "contiguous key");
  Value scores = tracer.BatchMatmul(query, key, scores_size, batches);
  const bool in_place = attention.eager == EagerStyle::kTypedSoftmax || attention.eager == EagerStyle::kBiasedProduct;
  if (!in_place) scores = tracer.Scale(std::move(scores));
  if (attention.score_softcap) scores = Softcap(tracer, std::move(scores));
  scores = Biased(tracer, attention, context, std::move(scores));
  Value combined;
  if (attention.eager == EagerStyle::kSinks) {
    Value probabilities = ProbabilitiesBesideSinks(tracer, attention, heads.sinks, scores, combined);
    scores = std::move(probabilities);
  } else {
    scores = Probabilities(tracer, attention, heads, std::move(scores));
  }
  scores = tracer.Dropout(std::move(scores), attention.dropout);
  if (copies == 1) value_copy = tracer.Empty(IfBatched(tracer.SizeOf(value)), operand, "contiguous value");
  Value output = tracer.BatchMatmul(scores, value, tracer.SizeOf(value), batches);
  output = tracer.Copy(std::move(output), "contiguous output");
  return {std::move(output), std::move(scores)};
}

/// The mask as scaled_dot_product_attention uses it: boolean becomes additive, in the dtype of the query. A mask that
/// holds ALiBi's matrix for every head is additive already.
Value AdditiveMask(Tracer& tracer, const Value& mask, Dtype dtype) {
  if (tracer.DtypeOf(mask) != Dtype::kBool) return tracer.Cast(mask, dtype);
  return tracer.Empty(tracer.SizeOf(mask), dtype, "additive mask");
}

/// A kernel that knows the causal order by itself leaves out the scores above it.
AttentionSpan SpanOf(const Attention& attention, const LayerContext& context, const Heads& heads) {
  const Architecture& architecture = context.workload->architecture;
  const bool in_decoder = !architecture.encodes_source() || (context.source && !heads.crosses);
  return {attention.window, architecture.encoder == EncoderKind::kNone && in_decoder};
}

MixerResult Sdpa(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads) {
  const Size rows = context.tokens * static_cast<double>(attention.heads);
  const AttentionSpan span = SpanOf(attention, context, heads);
  // Without a mask the kernel takes grouped heads and a causal flag; with one, the library repeats the heads.
  const bool grouped = !context.mask && !context.workload->habits.sdpa_repeats_heads;
  if (grouped) return {tracer.FusedAttention(heads.query, heads.key, heads.value, Value(), rows, span), Value()};
  const double copies = CopiesOfHeads(attention);
  // repeat_kv reshapes what it stretched: with a single head there is nothing to copy, the view stays one.
  const bool views = attention.stretches_heads || attention.kv_heads == 1;
  Value key = views ? tracer.StretchHeads(heads.key, copies) : tracer.ExpandHeads(heads.key, copies);
  Value value = views ? tracer.StretchHeads(heads.value, copies) : tracer.ExpandHeads(heads.value, copies);
  if (!context.mask) {
    return {tracer.FusedAttention(heads.query, std::move(key), std::move(value), Value(), rows, span), Value()};
  }
  // A mask may forbid anything: the kernel computes every score.
  Value mask = AdditiveMask(tracer, context.mask, tracer.autocast().value_or(tracer.DtypeOf(heads.query)));
  return {tracer.FusedAttention(heads.query, std::move(key), std::move(value), std::move(mask), rows, {0, false}),
          Value()};
}

bool RepeatsForFlash(const Attention& attention, const Habits& habits) {
  if (habits.flash_repeats == FlashRepeats::kAll) return attention.flash_heads != FlashHeads::kGrouped;
  return habits.flash_repeats == FlashRepeats::kUnconverted && attention.flash_heads == FlashHeads::kRepeatedLonger;
}

MixerResult CoreAttention(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads) {
  switch (context.kernel) {
    case AttentionKernel::kEager:
      if (attention.eager == EagerStyle::kBiasInPlace) return AttendRelative(tracer, attention, context, heads);
      return Eager(tracer, attention, context, heads);
    case AttentionKernel::kSdpa:
      return Sdpa(tracer, attention, context, heads);
    case AttentionKernel::kFlash:
    case AttentionKernel::kXformers:
      break;
  }
  const Size rows = context.tokens * static_cast<double>(attention.heads);
  const AttentionSpan span = SpanOf(attention, context, heads);
  // xformers' kernel has no grouped heads: they are written out.
  const bool repeats =
      context.kernel == AttentionKernel::kXformers || RepeatsForFlash(attention, context.workload->habits);
  const double copies = repeats ? CopiesOfHeads(attention) : 1;
  Value key = tracer.ExpandHeads(heads.key, copies);
  Value value = tracer.ExpandHeads(heads.value, copies);
  return {tracer.FusedAttention(heads.query, std::move(key), std::move(value), Value(), rows, span), Value()};
}

}  // namespace

/// Megatron-LM's selective recomputation: what lies between q, k, v and the output runs again in backward. Its
/// checkpoint is reentrant (tensor_parallel/random.py, CheckpointFunction).
MixerResult Attend(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads) {
  const Workload& workload = *context.workload;
  const bool runs_again = workload.checkpointing == Checkpointing::kSelective &&
                          workload.habits.selective_checkpoint == SelectiveCheckpoint::kCoreAttention;
  if (!runs_again) return CoreAttention(tracer, attention, context, heads);
  // It runs again when `heads` is long gone, on copies of its inputs; a gate multiplies later, outside of it.
  Heads rest;
  rest.hidden = heads.hidden;
  rest.by_heads = heads.by_heads;
  rest.sinks = heads.sinks;
  const auto core = [&tracer, &attention, &context, rest](const std::array<Value, 3>& inputs) {
    tracer.scope = {"self_attn", Term::kAttention, true};
    Heads again = rest;
    again.query = inputs[0];
    again.key = inputs[1];
    again.value = inputs[2];
    return CoreAttention(tracer, attention, context, again).output;
  };
  return {tracer.Checkpoint(core, {heads.query, heads.key, heads.value}, {.recompute = Recompute::kReentrant}),
          Value()};
}

}  // namespace tunefit
