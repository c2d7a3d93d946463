// DisentangledSelfAttention (transformers, modeling_deberta_v2.py, as it reads from 4.48 on): to the product of
// contents come those of contents with the positions' keys and queries, which the same matrices project from a table of
// distances that all layers share. It is written out in every version.
#include <utility>

#include "core/trace/attention.h"

namespace tunefit {
namespace {

constexpr Size kPairs{1, Axis::kPairs};

/// transpose_for_scores: heads first, and so a copy.
Value AsHeads(Tracer& tracer, const LinearModule& module, const Value& x) {
  Value projection = Forward(tracer, module, x);
  tracer.scope.module = "attention.self";
  return tracer.Copy(tracer.Reshape(projection), "heads");
}

/// Every distance's key or query, repeated for every sequence.
Value AsPositions(Tracer& tracer, const LinearModule& module, const Value& table) {
  const Value heads = AsHeads(tracer, module, table);
  const Value every = tracer.Stretch(heads, {tracer.SizeOf(heads).coefficient, Axis::kSequences});
  return tracer.Copy(every, "positions");
}

/// The row of the table that stands for each pair: clamp(distance + span).
Value PlacesOf(Tracer& tracer, bool turned) {
  Value distances = turned ? tracer.Empty(kPairs, Dtype::kInt64, "turned distances") : Value();
  const Value shifted = tracer.Empty(kPairs, Dtype::kInt64, "shifted distances");
  distances.Drop();
  return tracer.Empty(kPairs, Dtype::kInt64, "places");
}

/// Products of contents with every row of the table, of which each pair's own is taken.
Value ByDistance(Tracer& tracer, const LayerContext& context, double heads, const Value& content,
                 const Value& positions, bool turned) {
  const auto rows = static_cast<double>(context.workload->architecture.distance_rows);
  Value places = turned ? PlacesOf(tracer, turned) : Value();
  const Value products = tracer.BatchMatmul(content, positions, {heads * rows, Axis::kTokens}, {heads, Axis::kOnce});
  if (!places) places = PlacesOf(tracer, turned);
  return tracer.Select(products, places, {heads, Axis::kScores});
}

/// disentangled_attention_bias: content to position and position to content.
Value BiasOf(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& query,
             const Value& key) {
  const auto heads = static_cast<double>(module.attention->heads);
  const Value table = tracer.Dropout(context.distance_table, module.attention->distance_dropout);
  const Value position_query = AsPositions(tracer, module.query, table);
  const Value position_key = AsPositions(tracer, module.key, table);
  const Value to_position = ByDistance(tracer, context, heads, query, position_key, false);
  Value score = tracer.Shift(tracer.Scale(to_position));
  const Value to_content = ByDistance(tracer, context, heads, key, position_query, true);
  return tracer.AddInPlace(std::move(score), tracer.Scale(to_content));
}

/// masked_fill, in memory of its own.
Value Masked(Tracer& tracer, const Value& scores) {
  constexpr Size kMask{1, Axis::kScores};
  const Value allowed = tracer.Empty(kMask, Dtype::kBool, "allowed");
  return tracer.Where(tracer.Empty(kMask, Dtype::kBool, "forbidden"), scores, Value());
}

}  // namespace

MixerResult ForwardDisentangled(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                                const Value& hidden) {
  tracer.scope.term = Term::kAttention;
  const Attention& attention = *module.attention;
  const Size scores_size{static_cast<double>(attention.heads), Axis::kScores};
  const Size batches{static_cast<double>(attention.heads), Axis::kSequences};
  Value merged;
  {
    const Value query = AsHeads(tracer, module.query, hidden);
    const Value key = AsHeads(tracer, module.key, hidden);
    const Value value = AsHeads(tracer, module.value, hidden);
    Value scores = tracer.BatchMatmul(query, tracer.Scale(key), scores_size, batches);
    const Value bias = BiasOf(tracer, module, context, query, key);
    tracer.scope.module = "attention.self";
    scores = tracer.Add(scores, bias);
    scores = Masked(tracer, scores);
    Value probabilities = tracer.Softmax(tracer.autocast() ? tracer.Cast(scores, Dtype::kFp32) : scores);
    probabilities = tracer.Dropout(std::move(probabilities), attention.dropout);
    merged = tracer.BatchMatmul(probabilities, value, tracer.SizeOf(query), batches);
    merged = tracer.Copy(std::move(merged), "output by tokens");
  }
  return {Forward(tracer, module.output, merged), Value()};
}

}  // namespace tunefit
