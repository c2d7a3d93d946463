#include "core/trace/attention.h"

#include <utility>

namespace tunefit {
namespace {

constexpr Size Tokens(std::int64_t width) { return {static_cast<double>(width), Axis::kTokens}; }

/// How often a key/value head is repeated to meet every query head.
double CopiesOfHeads(const Attention& attention) {
  const std::int64_t copies = attention.heads / attention.kv_heads;
  return static_cast<double>(copies);
}

struct Heads {
  Value query, key, value;
};

/// x cut in halves, the second negated and put first.
Value RotateHalf(Tracer& tracer, const Value& x) {
  Value first = tracer.Slice(x, 0.5);
  Value second = tracer.Slice(x, 0.5);
  Value negated = tracer.Negate(second);
  return tracer.Cat(std::move(negated), first);
}

Value Rotate(Tracer& tracer, const Value& x, const LayerContext& context) {
  Value straight = tracer.Mul(x, context.cosine);
  Value turned = RotateHalf(tracer, x);
  turned = tracer.Mul(std::move(turned), context.sine);
  return tracer.Add(std::move(straight), std::move(turned));
}

/// A projection seen as heads. Its gradient comes back by heads and is copied into place, unless it arrives by tokens.
Value AsHeads(Tracer& tracer, const Value& projection, bool gradient_by_tokens) {
  return gradient_by_tokens ? tracer.View(projection) : tracer.Reshape(projection);
}

Heads Project(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden) {
  const Attention& attention = *module.attention;
  const bool flash = context.workload->attention == AttentionKernel::kFlash;
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t kv = attention.kv_heads * attention.head_dim;
  Heads heads;
  if (attention.layout == QkvLayout::kFused) {
    Value fused = Forward(tracer, module.query, hidden);
    const std::array<Value, 3> parts = tracer.Split(fused, {Tokens(q), Tokens(kv), Tokens(kv)});
    heads.query = AsHeads(tracer, parts[0], flash && !attention.rotary);
    heads.key = AsHeads(tracer, parts[1], flash && !attention.rotary);
    heads.value = AsHeads(tracer, parts[2], flash);
    return heads;
  }
  const auto norm = [&](const NormModule& module_norm, Value x, std::int64_t count) {
    if (!attention.head_norm) return x;
    return Forward(tracer, module_norm, x, Tokens(count));
  };
  heads.query = AsHeads(tracer, norm(module.query_norm, Forward(tracer, module.query, hidden), attention.heads),
                        flash && !attention.rotary);
  heads.key = AsHeads(tracer, norm(module.key_norm, Forward(tracer, module.key, hidden), attention.kv_heads),
                      flash && !attention.rotary);
  heads.value = AsHeads(tracer, Forward(tracer, module.value, hidden), flash);
  return heads;
}

MixerResult Eager(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Heads& heads) {
  const Attention& attention = *module.attention;
  const double copies = CopiesOfHeads(attention);
  const Size scores_size{static_cast<double>(attention.heads), Axis::kScores};
  Value key = tracer.ExpandHeads(heads.key, copies);
  Value value = tracer.ExpandHeads(heads.value, copies);
  // bmm wants heads first: transposed operands are copied unless the batch is one. The copies stand in for the
  // originals in autograd, so only the second set of bytes is transient.
  const Dtype operand = tracer.autocast().value_or(tracer.DtypeOf(heads.query));
  Value query_copy = tracer.Empty(IfBatched(tracer.SizeOf(heads.query)), operand, "contiguous query");
  Value key_copy;
  Value value_copy;
  if (copies == 1) key_copy = tracer.Empty(IfBatched(tracer.SizeOf(key)), operand, "contiguous key");
  Value scores = tracer.BatchMatmul(heads.query, key, scores_size);
  scores = tracer.Scale(std::move(scores));
  if (attention.score_softcap) {
    scores = tracer.Scale(std::move(scores));
    scores = tracer.Tanh(std::move(scores));
    scores = tracer.Scale(std::move(scores));
  }
  if (context.mask) scores = tracer.Add(std::move(scores), context.mask);
  scores = tracer.Softmax(tracer.Cast(scores, Dtype::kFp32));
  scores = tracer.Cast(scores, tracer.DtypeOf(heads.query));
  scores = tracer.Dropout(std::move(scores), attention.dropout);
  if (copies == 1) value_copy = tracer.Empty(IfBatched(tracer.SizeOf(value)), operand, "contiguous value");
  Value output = tracer.BatchMatmul(scores, value, tracer.SizeOf(heads.query));
  output = tracer.Copy(std::move(output), "contiguous output");
  return {std::move(output), std::move(scores)};
}

/// The mask as scaled_dot_product_attention uses it: boolean becomes additive, in the dtype of the query.
Value AdditiveMask(Tracer& tracer, const Value& mask, Dtype dtype) {
  return tracer.Empty(tracer.SizeOf(mask), dtype, "additive mask");
}

MixerResult Sdpa(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Heads& heads) {
  const Attention& attention = *module.attention;
  const Size rows = Tokens(attention.heads);
  // Without a mask the kernel takes grouped heads and a causal flag; with one, the library repeats the heads.
  const bool grouped = !context.mask && !context.workload->habits.sdpa_repeats_heads;
  if (grouped) return {tracer.FusedAttention(heads.query, heads.key, heads.value, Value(), rows), Value()};
  const double copies = CopiesOfHeads(attention);
  Value key = tracer.ExpandHeads(heads.key, copies);
  Value value = tracer.ExpandHeads(heads.value, copies);
  if (!context.mask) {
    return {tracer.FusedAttention(heads.query, std::move(key), std::move(value), Value(), rows), Value()};
  }
  Value mask = AdditiveMask(tracer, context.mask, tracer.autocast().value_or(tracer.DtypeOf(heads.query)));
  return {tracer.FusedAttention(heads.query, std::move(key), std::move(value), std::move(mask), rows), Value()};
}

MixerResult CoreAttention(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                          const Heads& heads) {
  switch (context.workload->attention) {
    case AttentionKernel::kEager:
      return Eager(tracer, module, context, heads);
    case AttentionKernel::kSdpa:
      return Sdpa(tracer, module, context, heads);
    case AttentionKernel::kFlash:
      break;
  }
  return {tracer.FusedAttention(heads.query, heads.key, heads.value, Value(), Tokens(module.attention->heads)),
          Value()};
}

/// Megatron-LM's selective recomputation: what lies between q, k, v and the output runs again in backward. Its
/// checkpoint is reentrant (tensor_parallel/random.py, CheckpointFunction).
MixerResult Attend(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Heads& heads) {
  const Workload& workload = *context.workload;
  const bool runs_again = workload.checkpointing == Checkpointing::kSelective &&
                          workload.habits.selective_checkpoint == SelectiveCheckpoint::kCoreAttention;
  if (!runs_again) return CoreAttention(tracer, module, context, heads);
  const auto core = [&tracer, &module, &context](const std::array<Value, 3>& inputs) {
    tracer.scope = {"self_attn", Term::kAttention, true};
    return CoreAttention(tracer, module, context, {inputs[0], inputs[1], inputs[2]}).output;
  };
  return {tracer.Checkpoint(core, {heads.query, heads.key, heads.value}, {.recompute = Recompute::kReentrant}),
          Value()};
}

}  // namespace

MixerResult Forward(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden) {
  tracer.scope.term = Term::kAttention;
  Heads heads = Project(tracer, module, context, hidden);
  tracer.scope.module = "self_attn";
  if (module.attention->rotary && context.workload->fused.rope) {
    heads.query = tracer.View(heads.query);  // rotated in place
    heads.key = tracer.View(heads.key);
  } else if (module.attention->rotary) {
    Value query = Rotate(tracer, heads.query, context);
    Value key = Rotate(tracer, heads.key, context);
    heads.query = std::move(query);
    heads.key = std::move(key);
  }
  MixerResult result = Attend(tracer, module, context, heads);
  Value merged = tracer.View(result.output);
  result.output.Drop();
  return {Forward(tracer, module.output, merged), std::move(result.probabilities)};
}

}  // namespace tunefit
