// T5Attention, which is written out in every version: transformers' modeling_t5.py. The bias of a stack's first layer
// is added to the scores of all its layers, and so gets a gradient from each; UMT5's layers each make their own.
#include <utility>

#include "core/trace/attention.h"
#include "core/trace/checkpointing.h"

namespace tunefit {
namespace {

/// compute_bias: a bucket for every distance between two positions, a row of the table for every bucket.
Value LookUpBias(Tracer& tracer, const Attention& attention, const Value& table) {
  constexpr Size kPairs{1, Axis::kPairs};
  const Value distances = tracer.Empty(kPairs, Dtype::kInt64, "relative positions");
  const Value buckets = tracer.Empty(kPairs, Dtype::kInt64, "buckets");
  {
    const Value absolute = tracer.Empty(kPairs, Dtype::kInt64, "absolute positions");
    const Value large = tracer.Empty(kPairs, Dtype::kInt64, "logarithmic buckets");
    const Value chosen = tracer.Empty(kPairs, Dtype::kInt64, "chosen buckets");
  }
  return tracer.Embedding(buckets, table, kPairs * static_cast<double>(attention.heads));
}

/// Attention to the encoder's output has no positions: zeros, which are told to require a gradient, by T5 where layers
/// are checkpointed, by UMT5 in every training step (modeling_umt5.py).
Value NoBias(Tracer& tracer, const Attention& attention, const LayerContext& context, Size pairs, Dtype dtype) {
  Value zeros = tracer.Empty(pairs, dtype, "no bias");
  const bool trains = attention.own_relative_bias || ChecksLayers(*context.workload);
  if (!trains || !tracer.gradients()) return zeros;
  zeros = tracer.RequireGradient(std::move(zeros));
  if (!tracer.recomputing()) tracer.Hold(zeros);  // its gradient keeps it
  return zeros;
}

Value MakeBias(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads,
               Dtype scores) {
  const auto count = static_cast<double>(attention.heads);
  const Size pairs{count, Axis::kPairs};
  Value bias = heads.relative_table ? LookUpBias(tracer, attention, heads.relative_table)
                                    : NoBias(tracer, attention, context, pairs, scores);
  const Value& mask = heads.crosses ? context.cross_mask : context.mask;
  if (!mask) return bias;
  const Value stretched = tracer.Stretch(bias, {count, Axis::kScores});
  bias.Drop();
  return tracer.Add(stretched, mask);
}

}  // namespace

MixerResult AttendRelative(Tracer& tracer, const Attention& attention, const LayerContext& context,
                           const Heads& heads) {
  const Size scores_size{static_cast<double>(attention.heads), Axis::kScores};
  const Size batches{static_cast<double>(attention.heads), Axis::kSequences};
  // As in every attention that is written out, transposed operands are copied unless the batch is one.
  const Dtype operand = tracer.autocast().value_or(tracer.DtypeOf(heads.query));
  const Value query_copy = tracer.Empty(IfBatched(tracer.SizeOf(heads.query)), operand, "contiguous query");
  const Value key_copy = tracer.Empty(IfBatched(tracer.SizeOf(heads.key)), operand, "contiguous key");
  Value scores = tracer.BatchMatmul(heads.query, heads.key, scores_size, batches);
  Value own;
  Value& shared = heads.crosses ? context.biases->cross : context.biases->own;
  Value& bias = attention.own_relative_bias ? own : shared;
  if (!bias) bias = MakeBias(tracer, attention, context, heads, tracer.DtypeOf(scores));
  scores = tracer.AddInPlace(std::move(scores), bias);
  Value probabilities = tracer.Softmax(tracer.Cast(scores, Dtype::kFp32));
  probabilities = tracer.Cast(std::move(probabilities), tracer.DtypeOf(scores));
  probabilities = tracer.Dropout(std::move(probabilities), attention.dropout);
  const Value value_copy = tracer.Empty(IfBatched(tracer.SizeOf(heads.value)), operand, "contiguous value");
  Value output = tracer.BatchMatmul(probabilities, heads.value, tracer.SizeOf(heads.query), batches);
  output = tracer.Copy(std::move(output), "contiguous output");
  return {std::move(output), Value(), std::move(scores)};
}

}  // namespace tunefit
