#pragma once

#include <variant>
#include <vector>

#include "core/trace/modules.h"

namespace tunefit {

struct AttentionModule {
  const Attention* attention = nullptr;
  LinearModule query, key, value, output;
  NormModule query_norm, key_norm;
};

struct MlpModule {
  const Mlp* mlp = nullptr;
  LinearModule gate, up, down;
};

struct ExpertsModule {
  const Experts* experts = nullptr;
  LinearModule router;
  Value correction_bias;
  ExpertStack stack;
  MlpModule shared;
  LinearModule shared_gate;
};

/// The modules of a layer; an alternative each for those of Mixer and FeedForward.
using MixerModule = std::variant<AttentionModule>;
using FeedForwardModule = std::variant<MlpModule, ExpertsModule>;

struct LayerModule {
  const Block* block = nullptr;
  bool checkpointed = false;  ///< runs again in backward
  NormModule before_mixer, after_mixer, before_feed_forward, after_feed_forward;
  MixerModule mixer;
  FeedForwardModule feed_forward;
};

/// What every layer reads beside its input: made once a step by the model, before the layers.
struct LayerContext {
  const Workload* workload = nullptr;
  Value cosine, sine;  ///< rotary tables; empty with learned positions
  Value mask;          ///< eager: added to the scores; sdpa: boolean, only where the batch is padded
};

LayerModule MakeLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place);

/// One decoder layer, as the library's own forward reads. `hidden` is the caller's and stays alive.
Value Forward(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden);

}  // namespace tunefit
