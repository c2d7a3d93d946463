#include "core/trace/decoder.h"

#include <utility>

#include "core/trace/attention.h"
#include "core/trace/experts.h"
#include "core/trace/mlp.h"

namespace tunefit {
namespace {

constexpr Size kOneRowPerToken{1, Axis::kTokens};

/// The residual stream between layers: kept whole where layers are checkpointed.
Value AddResidual(Tracer& tracer, const LayerModule& layer, const Value& residual, Value output) {
  tracer.scope.module = "residual";
  tracer.scope.term = layer.checkpointed ? Term::kCheckpoints : Term::kNorms;
  if (layer.block->scales_residual) output = tracer.Scale(std::move(output));
  return tracer.Add(residual, std::move(output));
}

AttentionModule MakePart(ModuleFactory& factory, const Attention& attention, Place place) {
  AttentionModule module;
  module.attention = &attention;
  module.query = factory.MakeLinear(attention.query, attention.query.name, Term::kAttention, place);
  if (attention.layout == QkvLayout::kSeparate) {
    module.key = factory.MakeLinear(attention.key, attention.key.name, Term::kAttention, place);
    module.value = factory.MakeLinear(attention.value, attention.value.name, Term::kAttention, place);
  }
  if (attention.head_norm) {
    module.query_norm = factory.MakeNorm(NormKind::kRmsNorm, "q_norm", attention.head_dim, place);
    module.key_norm = factory.MakeNorm(NormKind::kRmsNorm, "k_norm", attention.head_dim, place);
  }
  module.output = factory.MakeLinear(attention.output, attention.output.name, Term::kAttention, place);
  return module;
}

MlpModule MakePart(ModuleFactory& factory, const Mlp& mlp, Place place) { return MakeMlp(factory, mlp, place); }

ExpertsModule MakePart(ModuleFactory& factory, const Experts& experts, Place place) {
  return MakeExperts(factory, experts, place);
}

}  // namespace

LayerModule MakeLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place) {
  const auto norm = [&](const char* path) { return factory.MakeNorm(block.norm, path, hidden_size, place); };
  LayerModule layer;
  layer.block = &block;
  layer.before_mixer = norm("input_layernorm");
  layer.mixer =
      std::visit([&](const auto& part) -> MixerModule { return MakePart(factory, part, place); }, block.mixer);
  if (block.arrangement == Arrangement::kSandwichNorm) {
    layer.after_mixer = norm("post_attention_layernorm");
    layer.before_feed_forward = norm("pre_feedforward_layernorm");
    layer.after_feed_forward = norm("post_feedforward_layernorm");
  } else {
    layer.before_feed_forward = norm("post_attention_layernorm");
  }
  layer.feed_forward = std::visit([&](const auto& part) -> FeedForwardModule { return MakePart(factory, part, place); },
                                  block.feed_forward);
  return layer;
}

Value Forward(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden) {
  const Block& block = *layer.block;
  const bool sandwich = block.arrangement == Arrangement::kSandwichNorm;
  const auto norm = [&tracer](const NormModule& module, const Value& x) {
    tracer.scope.term = Term::kNorms;
    return Forward(tracer, module, x, kOneRowPerToken);
  };
  tracer.scope.in_layer = true;
  Value states = norm(layer.before_mixer, hidden);
  // What the mixer returns beside its output (eager attention's probabilities) lives to the end of the layer.
  MixerResult mixed =
      std::visit([&](const auto& module) { return Forward(tracer, module, context, states); }, layer.mixer);
  states = std::move(mixed.output);
  states = tracer.Dropout(std::move(states), block.residual_dropout);
  if (sandwich) states = norm(layer.after_mixer, states);
  states = AddResidual(tracer, layer, hidden, states);

  const Value residual = states;
  states = norm(layer.before_feed_forward, states);
  states = std::visit([&](const auto& module) { return Forward(tracer, module, context, states); }, layer.feed_forward);
  states = tracer.Dropout(std::move(states), block.residual_dropout);
  if (sandwich) states = norm(layer.after_feed_forward, states);
  states = AddResidual(tracer, layer, residual, states);
  tracer.scope.in_layer = false;
  return states;
}

}  // namespace tunefit
