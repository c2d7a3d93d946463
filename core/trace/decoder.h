#pragma once

#include <array>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/trace/modules.h"

namespace tunefit {

struct AttentionModule {
  const Attention* attention = nullptr;
  LinearModule query, key, value, output;  ///< `query` is all three where one matrix projects
  NormModule query_norm, key_norm, value_norm;
  Value sinks;
  Value relative_table;  ///< empty but in the layer that makes the biases
};

struct LatentAttentionModule {
  const LatentAttention* attention = nullptr;
  LinearModule query, query_up, kv_down, kv_up, output;
  NormModule query_norm, kv_norm;
};

/// A convolution's filters, and what a recurrent mixer trains besides matrices and norms (decays, skips, step biases),
/// in one vector.
struct RecurrentVectors {
  Value filters, filter_bias, scalars;
};

struct Mamba1Module {
  const Mamba1* mamba = nullptr;
  LinearModule in, parameters, step, out;
  NormModule step_norm, input_norm, output_norm;
  RecurrentVectors vectors;
};

struct Mamba2Module {
  const Mamba2* mamba = nullptr;
  LinearModule in, out;
  NormModule norm;
  RecurrentVectors vectors;
};

struct GatedDeltaModule {
  const GatedDelta* delta = nullptr;
  LinearModule qkvz, gates, qkv, z, beta, decay, out;
  NormModule norm;
  RecurrentVectors vectors;
};

struct LightningAttentionModule {
  const LightningAttention* attention = nullptr;
  LinearModule qkv, out, gate;
  NormModule norm;
};

struct ShortConvolutionModule {
  const ShortConvolution* mixer = nullptr;
  LinearModule in, out;
  RecurrentVectors vectors;
};

/// Trained scalars of an activation (xIELU's two); empty where it has none.
using ActivationScalars = std::array<Value, 2>;

struct MlpModule {
  const Mlp* mlp = nullptr;
  LinearModule gate, up, down;
  ActivationScalars scalars;
};

struct ExpertsModule {
  const Experts* experts = nullptr;
  LinearModule router;
  Value correction_bias;
  ExpertStack stack;
  std::vector<MlpModule> loop;  ///< experts as modules of their own; empty where they are stacked
  MlpModule shared;
  LinearModule shared_gate;
};

/// The modules of a layer; an alternative each for those of Mixer and FeedForward.
using MixerModule = std::variant<AttentionModule, LatentAttentionModule, Mamba1Module, Mamba2Module, GatedDeltaModule,
                                 LightningAttentionModule, ShortConvolutionModule, NoPart>;
using FeedForwardModule = std::variant<MlpModule, ExpertsModule, NoPart>;

/// What a layer over several streams has beside attention and MLP.
struct StreamLayerModule {
  const StreamLayer* layer = nullptr;
  LinearModule router, prediction, correction, left, right, gate, projection;
  NormModule router_norm, low_rank_norm, embedding_norm;
  Value output_scale;  ///< empty where the class does not multiply by it
};

/// The norms around a part, as the arrangement has them.
struct PartNorms {
  std::optional<NormModule> before;          ///< of the part's input
  std::optional<NormModule> after;           ///< of its output, before the residual addition
  std::optional<NormModule> after_addition;  ///< of the sum
};

struct LayerModule {
  std::int32_t unit = -1;  ///< of the sharding library; -1 where parameters are not sharded
  const Block* block = nullptr;
  bool checkpointed = false;  ///< runs again in backward
  PartNorms mixer_norms, cross_norms, feed_forward_norms;
  MixerModule mixer;
  std::optional<AttentionModule> cross;
  FeedForwardModule feed_forward;
  std::optional<StreamLayerModule> streams = {};
};

/// Biases of the scores that a stack's first layer makes and the others add too (T5): of attention within the stack,
/// and from it to the encoder's output. Both hold the mask.
struct SharedBiases {
  Value own, cross;
};

/// Keys and values that layers lend to later ones (Gemma 3n's shared_kv_states).
struct LentKeys {
  Value key, value;
};
using Lenders = std::array<LentKeys, kLenders>;

/// What every layer reads beside its input: made once a step by the model, before the layers.
struct LayerContext {
  const Workload* workload = nullptr;
  AttentionKernel kernel = AttentionKernel::kSdpa;  ///< what runs: the workload's, unless the class has one only
  Size tokens{1, Axis::kTokens};                    ///< positions of the residual stream
  Value cosine, sine;                               ///< rotary tables; empty with learned positions
  Value mask;                    ///< eager: added to the scores; sdpa: boolean, only where the batch is padded
  Dtype dtype = Dtype::kBf16;    ///< of the hidden states before the layers
  Value bias;                    ///< ALiBi's line for every head; empty otherwise
  Value source;                  ///< the encoder's output, in an encoder-decoder's decoder
  Value cross_mask;              ///< as `mask`, over the source
  Value prompts, prompted_rows;  ///< prompt tuning's, for as long as PEFT's forward pass holds them
  Value distance_table;          ///< what all layers project (DeBERTa), and the distance of every pair of positions
  Value distances;
  Value layer_inputs = {};  ///< an embedding of every token for each layer; empty where a class has none
  std::shared_ptr<Lenders> lenders = {};
  std::shared_ptr<SharedBiases> biases = {};      ///< only where a class has them
  std::shared_ptr<LayerContext> of_encoder = {};  ///< lives as long as the decoder's: its layers run again later

  /// It belongs to one stack of an encoder-decoder, whose layers pass it on, and not to the whole step.
  bool of_one_stack = false;
  /// Forgets what the model's forward made for its layers.
  void DropTensors();
  /// And what PEFT's, around it, put before the data.
  void DropPrompts();
};

LayerModule MakeLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place);

/// Under sequence parallelism: all tokens, from this rank's part; else x.
Value JoinTokens(Tracer& tracer, const Workload& workload, const Value& x);
/// And this rank's part of the ranks' sum.
Value DivideTokens(Tracer& tracer, const Workload& workload, const Value& x);

/// One layer, as the library's own forward reads. `hidden` is the caller's and stays alive; `own` is the layer's part
/// of `layer_inputs`.
Value Forward(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden,
              const Value& own = {});

}  // namespace tunefit
