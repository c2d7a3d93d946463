// A layer of Gemma 3n, in the order of Gemma3nTextDecoderLayer.forward, Gemma3nTextAltUp and Gemma3nTextLaurelBlock
// (transformers, modeling_gemma3n.py). Names stand for Python's, and live as long.
#include "core/trace/streams.h"

#include <utility>

#include "core/trace/attention.h"
#include "core/trace/mlp.h"

namespace tunefit {
namespace {

double CountOf(const LayerModule& layer) { return static_cast<double>(layer.streams->layer->streams); }

/// The stream that the layer works on: a view, whose gradient is as large as all of them.
Value FirstOf(Tracer& tracer, const LayerModule& layer, const Value& streams) {
  return tracer.Slice(streams, 1 / CountOf(layer));
}

Value Normalize(Tracer& tracer, const LayerContext& context, const NormModule& module, const Value& x) {
  tracer.scope.term = Term::kNorms;
  return Forward(tracer, module, x, context.tokens);
}

/// compute_router_modalities: a number for each stream, by tanh in fp32.
Value Route(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& x) {
  const StreamLayerModule& module = *layer.streams;
  const Dtype dtype = tracer.DtypeOf(x);
  const Value inputs = tracer.Scale(Normalize(tracer, context, module.router_norm, x));
  tracer.scope.term = Term::kMlp;
  const Value routed = Forward(tracer, module.router, inputs);
  Value numbers = tracer.Tanh(tracer.Cast(routed, Dtype::kFp32));
  return tracer.Cast(std::move(numbers), dtype);
}

/// Every stream predicted from all of them, and added to itself in place through a view.
Value Predict(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden) {
  const Value numbers = Route(tracer, layer, context, FirstOf(tracer, layer, hidden));
  const Value coefficients = Forward(tracer, layer.streams->prediction, numbers);
  const Size size = tracer.SizeOf(hidden);
  tracer.scope.module = "altup";
  tracer.scope.term = Term::kNorms;
  Value predictions = tracer.BatchMatmul(hidden, coefficients, size, context.tokens);
  predictions = tracer.AddThroughView(std::move(predictions), hidden, size);
  predictions = tracer.Copy(std::move(predictions), "predictions");
  return tracer.Cast(std::move(predictions), tracer.DtypeOf(hidden));
}

/// In training the class multiplies by the clamped weight itself, past an adapter that may sit there.
Value CorrectionOf(Tracer& tracer, const LinearModule& module, const Value& numbers) {
  if (!tracer.gradients()) return Forward(tracer, module, numbers);
  tracer.scope.module = module.path;
  const Value weight = tracer.Clamp(module.weight);
  return tracer.Linear(numbers, weight, Value(), static_cast<double>(module.shape.in_features),
                       static_cast<double>(module.shape.out_features));
}

/// Every stream corrected by what became of the first one.
Value Correct(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& predictions,
              const Value& activated) {
  const Value numbers = Route(tracer, layer, context, activated);
  Value innovation = tracer.Subtract(activated, FirstOf(tracer, layer, predictions));
  innovation = tracer.ExpandHeads(std::move(innovation), CountOf(layer));
  const Value coefficients = tracer.Shift(CorrectionOf(tracer, layer.streams->correction, numbers));
  tracer.scope.module = "altup";
  tracer.scope.term = layer.checkpointed ? Term::kCheckpoints : Term::kNorms;
  Value corrected = tracer.Mul(innovation, coefficients);
  corrected = tracer.AddInPlace(std::move(corrected), predictions);
  return tracer.Cast(std::move(corrected), tracer.DtypeOf(activated));
}

/// LAuReL: two matrices of a low rank, a norm, and the input itself.
Value LowRankPath(Tracer& tracer, const StreamLayerModule& module, const LayerContext& context, const Value& normed) {
  tracer.scope.term = Term::kMlp;
  Value states = Forward(tracer, module.left, normed);
  states = Forward(tracer, module.right, states);
  const Value path = Normalize(tracer, context, module.low_rank_norm, states);
  return tracer.Add(normed, path);
}

/// What the first stream makes of the layer's own embedding is added to all others: Python's += adds to a view, and
/// then sets the view to itself.
Value AddEmbedding(Tracer& tracer, const LayerModule& layer, const LayerContext& context, Value corrected,
                   const Value& own) {
  const StreamLayerModule& module = *layer.streams;
  tracer.scope.term = Term::kMlp;
  Value first = tracer.Copy(FirstOf(tracer, layer, corrected), "first stream");
  if (module.output_scale) {
    const Dtype dtype = tracer.DtypeOf(first);
    first = tracer.Mul(tracer.Cast(first, tracer.DtypeOf(module.output_scale)), module.output_scale);
    first = tracer.Cast(std::move(first), dtype);
  }
  first = Forward(tracer, module.gate, first);
  first = Activate(tracer, std::get<MlpModule>(layer.feed_forward).mlp->activation, first);
  first = tracer.Mul(first, own);
  first = Forward(tracer, module.projection, first);
  first = Normalize(tracer, context, module.embedding_norm, first);
  const Size others = tracer.SizeOf(corrected) * ((CountOf(layer) - 1) / CountOf(layer));
  corrected = tracer.AddThroughView(std::move(corrected), first, others);
  const Value changed = tracer.Narrow(corrected, others);
  return tracer.CopyThroughView(std::move(corrected), changed);
}

}  // namespace

StreamLayerModule MakeStreamLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place) {
  const StreamLayer& layer = *block.streams;
  const auto linear = [&](const LinearShape& shape) {
    return factory.MakeLinear(shape, shape.name, Term::kMlp, place);
  };
  StreamLayerModule module;
  module.layer = &layer;
  module.output_scale = factory.MakeVector("altup", "correct_output_scale", hidden_size, Term::kMlp, place);
  if (!layer.scales_corrected) module.output_scale.Drop();  // it is there all the same
  module.correction = linear(layer.correction);
  module.prediction = linear(layer.prediction);
  module.router = linear(layer.router);
  module.router_norm = factory.MakeNorm(block.norm, "altup.router_norm", hidden_size, place);
  module.left = linear(layer.left);
  module.right = linear(layer.right);
  module.low_rank_norm = factory.MakeNorm(block.norm, "laurel.post_laurel_norm", hidden_size, place);
  module.gate = linear(layer.gate);
  module.projection = linear(layer.projection);
  module.embedding_norm = factory.MakeNorm(block.norm, "post_per_layer_input_norm", hidden_size, place);
  return module;
}

Value ForwardStreams(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden,
                     const Value& own) {
  const auto& attention = std::get<AttentionModule>(layer.mixer);
  const auto& mlp = std::get<MlpModule>(layer.feed_forward);
  const auto residual = [&tracer] {
    tracer.scope.module = "residual";
    tracer.scope.term = Term::kNorms;
  };
  const Value predictions = Predict(tracer, layer, context, hidden);
  const Value active = FirstOf(tracer, layer, predictions);
  const Value normed = Normalize(tracer, context, *layer.mixer_norms.before, active);
  const Value path = LowRankPath(tracer, *layer.streams, context, normed);
  MixerResult mixed = Forward(tracer, attention, context, normed);
  const Value attended = Normalize(tracer, context, *layer.mixer_norms.after, mixed.output);
  mixed.output.Drop();
  residual();
  const Value gated = tracer.Add(active, attended);
  const Value joined = tracer.Scale(tracer.Add(gated, path));
  const Value fed_from = Normalize(tracer, context, *layer.feed_forward_norms.before, joined);
  const Value fed = Forward(tracer, mlp, context, fed_from);
  const Value fed_normed = Normalize(tracer, context, *layer.feed_forward_norms.after, fed);
  residual();
  const Value activated = tracer.Add(joined, fed_normed);
  Value corrected = Correct(tracer, layer, context, predictions, activated);
  return AddEmbedding(tracer, layer, context, std::move(corrected), own);
}

}  // namespace tunefit
