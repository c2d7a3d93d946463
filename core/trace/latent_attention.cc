// Multi-head latent attention. Sources: transformers' DeepseekV2Attention, DeepseekV3Attention, DeepseekV32Attention.
#include "core/trace/latent_attention.h"

#include <array>
#include <utility>

namespace tunefit {
namespace {

struct Turned {
  Value query, key;
};

/// DeepSeek V2 turns as complex numbers in fp32: a product with the table, then back (apply_rotary_emb).
Turned TurnComplex(Tracer& tracer, const LayerContext& context, const Value& query, const Value& key) {
  const Value wide_query = tracer.Cast(query, Dtype::kFp32);
  const Value wide_key = tracer.Cast(key, Dtype::kFp32);
  Turned turned;
  turned.query = tracer.Cast(tracer.Mul(wide_query, context.cosine), tracer.DtypeOf(query));
  turned.key = tracer.Cast(tracer.Mul(wide_key, context.cosine), tracer.DtypeOf(key));
  return turned;
}

/// Even and odd places of a head turn against each other (apply_rotary_pos_emb_interleave).
Value TurnPair(Tracer& tracer, const LayerContext& context, const Value& even, const Value& odd) {
  Value first = tracer.Mul(even, context.cosine);
  first = tracer.Add(std::move(first), tracer.Mul(odd, context.sine));
  Value second = tracer.Mul(odd, context.cosine);
  second = tracer.Add(std::move(second), tracer.Mul(even, context.sine));
  return tracer.Cat(std::move(first), std::move(second));
}

Turned TurnPairs(Tracer& tracer, const LayerContext& context, const Value& query, const Value& key) {
  const Value even_query = tracer.Slice(query, 0.5);
  const Value odd_query = tracer.Slice(query, 0.5);
  const Value even_key = tracer.Slice(key, 0.5);
  const Value odd_key = tracer.Slice(key, 0.5);
  Turned turned;
  turned.query = TurnPair(tracer, context, even_query, odd_query);
  turned.key = TurnPair(tracer, context, even_key, odd_key);
  return turned;
}

/// The scorer of DeepSeek's sparse attention, without gradients: which keys each query does not see, for the mask.
/// Source: DeepseekV32Indexer and what the eager and sdpa paths of DeepseekV32Attention do with its answer.
Value IndexMask(Tracer& tracer, const Indexer& indexer, const LayerContext& context, Dtype dtype) {
  tracer.scope.module = "indexer";
  constexpr Size kPairs{1, Axis::kScores};
  const auto heads = static_cast<double>(indexer.heads);
  const Size queries = context.tokens * static_cast<double>(indexer.heads * indexer.head_dim);
  const Size keys = context.tokens * static_cast<double>(indexer.head_dim);
  const Value projected = tracer.Empty(queries, dtype, "query");
  const Value query = tracer.Empty(queries, dtype, "turned query");
  const Value key = tracer.Empty(keys, dtype, "turned key");
  Value best;
  {
    const Value wide = tracer.Empty(queries, Dtype::kFp32, "query");
    Value scores = tracer.Empty(kPairs * heads, Dtype::kFp32, "scores");
    scores = tracer.Empty(kPairs * heads, Dtype::kFp32, "positive scores");
    const Value sum = tracer.Empty(kPairs, Dtype::kFp32, "index scores");
    best = tracer.Empty(context.tokens * static_cast<double>(indexer.top_k), Dtype::kInt32, "top k indices");
  }
  return tracer.Empty(kPairs, Dtype::kBool, "unseen keys");
}

/// hidden -> queries, by way of a latent vector where there is one.
Value ProjectQuery(Tracer& tracer, const LatentAttentionModule& module, const LayerContext& context,
                   const Value& hidden) {
  Value query = Forward(tracer, module.query, hidden);
  if (module.attention->query_rank == 0) return query;
  query = Forward(tracer, module.query_norm, query, context.tokens);
  return Forward(tracer, module.query_up, query);
}

}  // namespace

LatentAttentionModule MakePart(ModuleFactory& factory, const LatentAttention& attention, Place place) {
  const auto linear = [&](const LinearShape& shape) {
    return factory.MakeLinear(shape, shape.name, Term::kAttention, place);
  };
  LatentAttentionModule module;
  module.attention = &attention;
  module.query = linear(attention.query);
  if (attention.query_rank > 0) {
    module.query_norm = factory.MakeNorm(NormKind::kRmsNorm, "q_a_layernorm", attention.query_rank, place);
    module.query_up = linear(attention.query_up);
  }
  module.kv_down = linear(attention.kv_down);
  module.kv_norm = factory.MakeNorm(NormKind::kRmsNorm, "kv_a_layernorm", attention.kv_rank, place);
  module.kv_up = linear(attention.kv_up);
  module.output = linear(attention.output);
  if (attention.indexer.heads > 0) factory.MakeIndexer(attention.indexer, place);
  return module;
}

MixerResult Forward(Tracer& tracer, const LatentAttentionModule& module, const LayerContext& context,
                    const Value& hidden) {
  const LatentAttention& latent = *module.attention;
  const Attention& scores = latent.scores;
  const auto sized = [&](std::int64_t width) { return context.tokens * static_cast<double>(width); };
  tracer.scope.term = Term::kAttention;
  // Every Python name lives to the end of the function, as here.
  const Value query = tracer.Reshape(ProjectQuery(tracer, module, context, hidden));
  const std::array<Value, 3> query_parts =
      tracer.Split(query, {sized(scores.heads * latent.plain_dim), sized(scores.heads * latent.turned_dim), {}});
  const Value compressed = Forward(tracer, module.kv_down, hidden);
  const std::array<Value, 3> latent_parts =
      tracer.Split(compressed, {sized(latent.kv_rank), sized(latent.turned_dim), {}});
  Value kv = Forward(tracer, module.kv_up, Forward(tracer, module.kv_norm, latent_parts[0], context.tokens));
  kv = tracer.Reshape(kv);
  const std::array<Value, 3> kv_parts =
      tracer.Split(kv, {sized(scores.heads * latent.plain_dim), sized(scores.heads * scores.value_width()), {}});

  tracer.scope.module = "self_attn";
  const Turned turned = latent.complex_rotary ? TurnComplex(tracer, context, query_parts[1], latent_parts[1])
                                              : TurnPairs(tracer, context, query_parts[1], latent_parts[1]);
  const Value shared_key = tracer.Stretch(turned.key, sized(scores.heads * latent.turned_dim));
  Heads heads;
  heads.by_heads = true;
  heads.hidden = tracer.DtypeOf(hidden);
  heads.query = tracer.Cat(query_parts[0], turned.query);
  heads.key = tracer.Cat(kv_parts[0], shared_key);
  heads.value = kv_parts[1];
  Value mask;
  if (latent.indexer.heads > 0) mask = IndexMask(tracer, latent.indexer, context, tracer.DtypeOf(hidden));
  // Flash attention takes heads of one width: values are padded, the output is cut.
  const bool padded = context.kernel == AttentionKernel::kFlash && scores.value_width() != scores.head_dim;
  if (padded) heads.value = tracer.Pad(heads.value, sized(scores.heads * scores.head_dim));
  MixerResult result = Attend(tracer, scores, context, heads);
  Value merged = tracer.View(result.output);
  result.output.Drop();
  if (padded) {
    merged = tracer.Narrow(merged, sized(scores.heads * scores.value_width()));
  }
  if (context.kernel != AttentionKernel::kEager) merged = tracer.Copy(std::move(merged), "output by tokens");
  return {Forward(tracer, module.output, merged), std::move(result.probabilities)};
}

}  // namespace tunefit
