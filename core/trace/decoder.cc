#include "core/trace/decoder.h"

#include <utility>

#include "core/trace/attention.h"
#include "core/trace/experts.h"
#include "core/trace/latent_attention.h"
#include "core/trace/mlp.h"
#include "core/trace/recurrent.h"
#include "core/trace/streams.h"

namespace tunefit {
namespace {

MlpModule MakePart(ModuleFactory& factory, const Mlp& mlp, Place place) { return MakeMlp(factory, mlp, place); }

ExpertsModule MakePart(ModuleFactory& factory, const Experts& experts, Place place) {
  return MakeExperts(factory, experts, place);
}

NoPart MakePart(ModuleFactory& /*factory*/, const NoPart& none, Place /*place*/) { return none; }

/// The residual stream between layers: kept whole where layers are checkpointed.
Value AddResidual(Tracer& tracer, const LayerModule& layer, const Value& residual, Value output) {
  tracer.scope.module = "residual";
  tracer.scope.term = layer.checkpointed ? Term::kCheckpoints : Term::kNorms;
  if (layer.block->arrangement == Arrangement::kNormedResidual) {
    Value scaled = tracer.Scale(residual);
    return tracer.Add(std::move(scaled), tracer.Scale(std::move(output)));
  }
  if (layer.block->scales_residual) output = tracer.Scale(std::move(output));
  return tracer.Add(residual, std::move(output));
}

Value Normalize(Tracer& tracer, const LayerContext& context, const std::optional<NormModule>& module, const Value& x) {
  if (!module) return x;
  tracer.scope.term = Term::kNorms;
  return Forward(tracer, *module, x, context.tokens / context.workload->parallel.StreamRanks());
}

MixerResult Forward(Tracer& /*tracer*/, const NoPart& /*none*/, const LayerContext& /*context*/,
                    const Value& /*normed*/) {
  return {};
}

/// Of all tokens to this rank's.
MixerResult Mix(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& tokens) {
  MixerResult mixed =
      std::visit([&](const auto& mixer) { return Forward(tracer, mixer, context, tokens); }, layer.mixer);
  mixed.output = DivideTokens(tracer, *context.workload, mixed.output);
  return mixed;
}

/// Of this rank's tokens to this rank's; `all` are those of all ranks where they have been joined already.
Value FeedForwardOf(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& own,
                    const Value& all = {}) {
  const Workload& workload = *context.workload;
  const auto* experts = std::get_if<ExpertsModule>(&layer.feed_forward);
  if (experts != nullptr && workload.parallel.ExpertsTakeOwnTokens()) {
    LayerContext of_rank = context;
    of_rank.tokens = context.tokens / workload.parallel.StreamRanks();
    return Forward(tracer, *experts, of_rank, own);
  }
  const Value tokens = all ? all : JoinTokens(tracer, workload, own);
  Value fed;
  if (experts != nullptr) {
    fed = Forward(tracer, *experts, context, tokens);
  } else if (const auto* mlp = std::get_if<MlpModule>(&layer.feed_forward)) {
    fed = Forward(tracer, *mlp, context, tokens);
  }
  return DivideTokens(tracer, workload, fed);
}

/// x + mixer(norm(x)) + feed_forward(norm(x)); the norms are one where the arrangement has one.
Value ForwardParallel(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden) {
  const Block& block = *layer.block;
  const Workload& workload = *context.workload;
  const Value normed = Normalize(tracer, context, layer.mixer_norms.before, hidden);
  const Value tokens = JoinTokens(tracer, workload, normed);
  MixerResult mixed = Mix(tracer, layer, context, tokens);
  Value attended = tracer.Dropout(std::move(mixed.output), block.residual_dropout);
  const bool two = block.arrangement == Arrangement::kParallelTwoNorms;
  Value fed;
  if (two) {
    const Value own = Normalize(tracer, context, layer.feed_forward_norms.before, hidden);
    fed = FeedForwardOf(tracer, layer, context, own);
  } else {
    fed = FeedForwardOf(tracer, layer, context, normed, tokens);
  }
  fed = tracer.Dropout(std::move(fed), block.residual_dropout);
  tracer.scope.module = "residual";
  tracer.scope.term = Term::kNorms;
  Value sum = tracer.Add(attended, fed);
  return AddResidual(tracer, layer, hidden, sum);
}

/// The decoder's states of a token ask the encoder's output.
Value AttendToSource(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden) {
  const Value normed = Normalize(tracer, context, layer.cross_norms.before, hidden);
  MixerResult mixed = ForwardCross(tracer, *layer.cross, context, normed);
  Value states = tracer.Dropout(std::move(mixed.output), layer.block->residual_dropout);
  return AddResidual(tracer, layer, hidden, states);
}

/// One part after the other, each with the norms that the arrangement gives it.
Value ForwardSequential(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden) {
  const double dropout = layer.block->residual_dropout;
  const bool normed_residual = layer.block->arrangement == Arrangement::kNormedResidual;
  Value states = hidden;
  MixerResult mixed;  // what the mixer returns beside its output lives to the end of the layer
  if (!std::holds_alternative<NoPart>(layer.mixer)) {
    states = Normalize(tracer, context, layer.mixer_norms.before, hidden);
    const Value normed = normed_residual ? states : Value();
    mixed = Mix(tracer, layer, context, JoinTokens(tracer, *context.workload, states));
    states = tracer.Dropout(std::move(mixed.output), dropout);
    states = Normalize(tracer, context, layer.mixer_norms.after, states);
    states = AddResidual(tracer, layer, normed_residual ? normed : hidden, states);
    states = Normalize(tracer, context, layer.mixer_norms.after_addition, states);
  }
  const Value attended = layer.cross ? states : Value();  // T5Block's name for it lives to its end
  if (layer.cross) states = AttendToSource(tracer, layer, context, states);
  if (std::holds_alternative<NoPart>(layer.feed_forward)) return states;
  Value residual = states;
  states = Normalize(tracer, context, layer.feed_forward_norms.before, states);
  if (normed_residual) residual = states;
  states = FeedForwardOf(tracer, layer, context, states);
  states = tracer.Dropout(std::move(states), dropout);
  states = Normalize(tracer, context, layer.feed_forward_norms.after, states);
  states = AddResidual(tracer, layer, residual, states);
  return Normalize(tracer, context, layer.feed_forward_norms.after_addition, states);
}

/// Megatron-LM's fused norm and first matrix: the kernel writes FP8, unless an adapter reads the output too.
/// Source: transformer_engine/pytorch/module/layernorm_linear.py, with_quantized_norm;
/// core/models/gpt/gpt_layer_specs.py.
bool TakesFp8(const LinearModule& first) { return first.KeepsFp8() && !first.adapter; }

bool TakesFp8(const MixerModule& mixer) {
  const auto* attention = std::get_if<AttentionModule>(&mixer);
  if (attention == nullptr || !TakesFp8(attention->query)) return false;
  const bool fused = attention->attention->layout != QkvLayout::kSeparate;
  return fused || (TakesFp8(attention->key) && TakesFp8(attention->value));
}

bool TakesFp8(const FeedForwardModule& feed_forward) {
  const auto* mlp = std::get_if<MlpModule>(&feed_forward);
  if (mlp == nullptr || !TakesFp8(mlp->up)) return false;
  return !mlp->mlp->gated || mlp->mlp->fused_gate || TakesFp8(mlp->gate);
}

/// A kernel's norm before a part; one that two parts read, or the residual stream, stays as it is.
void LetNormsWriteFp8(LayerModule& layer) {
  const Arrangement arrangement = layer.block->arrangement;
  if (arrangement == Arrangement::kParallel || arrangement == Arrangement::kNormedResidual) return;
  const auto let = [](std::optional<NormModule>& norm, bool takes) {
    if (norm) norm->writes_fp8 = takes && (norm->fused || norm->kind == NormKind::kLayerNorm);
  };
  let(layer.mixer_norms.before, TakesFp8(layer.mixer));
  let(layer.feed_forward_norms.before, TakesFp8(layer.feed_forward));
}

/// Norms in the order of Hugging Face's modules, so that reports name them as the library does.
void MakeNorms(ModuleFactory& factory, LayerModule& layer, std::int64_t hidden_size, Place place) {
  const Block& block = *layer.block;
  const auto norm = [&](const char* path) { return factory.MakeNorm(block.norm, path, hidden_size, place); };
  const bool mixes = !std::holds_alternative<NoPart>(block.mixer);
  const bool feeds = !std::holds_alternative<NoPart>(block.feed_forward);
  switch (block.arrangement) {
    case Arrangement::kSandwichNorm:
      if (mixes) layer.mixer_norms = {norm("input_layernorm"), norm("post_attention_layernorm"), std::nullopt};
      if (feeds) {
        layer.feed_forward_norms = {norm("pre_feedforward_layernorm"), norm("post_feedforward_layernorm"),
                                    std::nullopt};
      }
      break;
    case Arrangement::kNormAfter:
      if (mixes) layer.mixer_norms.after = norm("post_attention_layernorm");
      if (feeds) layer.feed_forward_norms.after = norm("post_feedforward_layernorm");
      break;
    case Arrangement::kPostNorm:
      if (mixes) layer.mixer_norms.after_addition = norm("attention.output.LayerNorm");
      if (feeds) layer.feed_forward_norms.after_addition = norm("output.LayerNorm");
      break;
    case Arrangement::kParallel:
      layer.mixer_norms.before = norm("input_layernorm");
      break;
    case Arrangement::kPreNorm:
    case Arrangement::kParallelTwoNorms:
    case Arrangement::kNormedResidual:
      if (mixes && !block.lacks_first_norm) layer.mixer_norms.before = norm("input_layernorm");
      if (block.cross) layer.cross_norms.before = norm("cross_attention_layernorm");
      if (feeds) layer.feed_forward_norms.before = norm("post_attention_layernorm");
      break;
  }
}

}  // namespace

Value JoinTokens(Tracer& tracer, const Workload& workload, const Value& x) {
  const double ranks = workload.parallel.StreamRanks();
  if (ranks == 1 || !x) return x;
  tracer.Send(Group::kTensor, tracer.SizeOf(x) * ranks, BytesPerElement(tracer.DtypeOf(x)));
  const Value part = workload.habits.gathers_tokens_again ? x : Value();
  return tracer.Exchange(x, tracer.SizeOf(x) * ranks, "tokens of all ranks", part);
}

Value DivideTokens(Tracer& tracer, const Workload& workload, const Value& x) {
  const double ranks = workload.parallel.StreamRanks();
  if (!x) return x;
  const double bytes = BytesPerElement(tracer.DtypeOf(x));
  if (workload.parallel.tensor > 1) tracer.Send(Group::kTensor, tracer.SizeOf(x), ranks == 1 ? 2 * bytes : bytes);
  if (ranks == 1) return x;
  return tracer.Exchange(x, tracer.SizeOf(x) / ranks, "tokens of this rank", Value());
}

void LayerContext::DropTensors() {
  for (Value* value : {&cosine, &sine, &mask, &bias, &source, &cross_mask, &distance_table, &distances}) value->Drop();
  if (biases != nullptr) *biases = {};
  if (lenders != nullptr) *lenders = {};
}

void LayerContext::DropPrompts() {
  prompts.Drop();
  prompted_rows.Drop();
}

LayerModule MakeLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place) {
  LayerModule layer;
  layer.block = &block;
  MakeNorms(factory, layer, hidden_size, place);
  layer.mixer =
      std::visit([&](const auto& part) -> MixerModule { return MakePart(factory, part, place); }, block.mixer);
  if (block.cross) layer.cross = MakePart(factory, *block.cross, place);
  layer.feed_forward = std::visit([&](const auto& part) -> FeedForwardModule { return MakePart(factory, part, place); },
                                  block.feed_forward);
  if (block.streams) layer.streams = MakeStreamLayer(factory, block, hidden_size, place);
  LetNormsWriteFp8(layer);
  return layer;
}

Value Forward(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden,
              const Value& own) {
  const Arrangement arrangement = layer.block->arrangement;
  tracer.scope.in_layer = true;
  const bool parallel = arrangement == Arrangement::kParallel || arrangement == Arrangement::kParallelTwoNorms;
  Value states;
  if (layer.streams) {
    states = ForwardStreams(tracer, layer, context, hidden, own);
  } else {
    states =
        parallel ? ForwardParallel(tracer, layer, context, hidden) : ForwardSequential(tracer, layer, context, hidden);
  }
  tracer.scope.in_layer = false;
  return states;
}

}  // namespace tunefit
