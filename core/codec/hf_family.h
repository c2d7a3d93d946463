#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/codec/json_reader.h"
#include "core/model/architecture.h"

namespace tunefit {

/// Where biases sit when the config has no key for it, or which key decides.
enum class BiasRule : std::uint8_t {
  kNone,
  kByKey,  ///< `attention_bias` on q, k, v and o, `mlp_bias` on the MLP (llama, granite; qwen3 and gemma2: attention)
  kQkv,    ///< q, k and v always, nothing else (qwen2)
  kQkvAndNoBias,     ///< qkv always, the rest unless `no_bias`, which is true when missing (qwen)
  kAttentionByBias,  ///< `bias` on qkv and o (internlm2)
  kAll,              ///< everywhere (gpt2)
  kAllByKey,         ///< everywhere where `bias` or `use_bias` says so, else as `bias_by_default` (falcon, starcoder2)
  kQkvByKey,      ///< q, k and v where `use_qkv_bias`, `add_qkv_bias` or `attention_bias` says so (stablelm, chatglm)
  kQkvAndOutput,  ///< q, k and v by `qkv_bias` or `attention_bias`, o by `attention_out_bias` or `bias`, the MLP by
                  ///< `mlp_bias` (internlm3, seed_oss)
  kOutputAndMlp,  ///< o and the MLP always (gpt_neo)
  kMlp,           ///< the MLP always (gptj)
};

/// Which layers have a sliding window.
enum class WindowRule : std::uint8_t {
  kNone,
  kAllLayers,     ///< `sliding_window`, 4096 when missing, none when null (mistral)
  kUpperLayers,   ///< only with `use_sliding_window`: layers from `max_window_layers` on (qwen2, qwen3)
  kChunked,       ///< `attention_chunk_size` on all but every fourth layer, which has no positions (Llama 4)
  kAlternating,   ///< every other layer, the first included (gemma2)
  kPattern,       ///< all but every n-th layer, n being `sliding_window_pattern` (gemma3, cohere2, olmo3, exaone4)
  kPatternFirst,  ///< the same, counted from the first layer, which attends to all (modernbert)
};

/// Which layers do not turn queries and keys although the class does.
enum class NopeRule : std::uint8_t {
  kNone,
  kInterval,       ///< every n-th, n being `no_rope_layer_interval`, or as `no_rope_layers` lists (smollm3)
  kFullAttention,  ///< those without a window, where others have one (cohere2, exaone4)
};

/// Sizes that a class takes where the config does not say them; 0 where it must.
struct DefaultSizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, ffn = 0, vocab = 0, context = 0;
};

struct Family;
/// What the keys of one config change about its class.
using ResolveFamily = void (*)(const ObjectReader& config, Family& family);

/// Which layers have experts; the others have a dense MLP.
enum class ExpertLayers : std::uint8_t {
  kAll,
  kFirstDense,   ///< all but the first `first_k_dense_replace` (DeepSeek, GLM)
  kSparseStep,   ///< every `decoder_sparse_step`-th, unless in `mlp_only_layers` (Qwen)
  kInterleaved,  ///< every `interleave_moe_layer_step`-th (Llama 4)
  kPeriod,       ///< one in `expert_layer_period` at `expert_layer_offset` (Jamba)
  kRange,        ///< from `moe_layer_start_index` to `moe_layer_end_index`, every `moe_layer_interval`-th (ERNIE 4.5)
};

/// How wide the expert that every token visits is.
enum class SharedExpert : std::uint8_t {
  kNone,
  kCount,  ///< `n_shared_experts` times the width of one (DeepSeek)
  kWidth,  ///< `shared_expert_intermediate_size` (Qwen 2 MoE); 0 for none
  kSame,   ///< one as wide as a routed expert (Llama 4, HunYuan)
};

/// Whether the weights of the chosen experts are divided by their sum: never, always, or by `norm_topk_prob`, which is
/// false or true where it is missing.
enum class NormalizeRule : std::uint8_t { kNever, kAlways, kByKey, kUnlessKey };

/// The mixer of layers that have no ordinary attention.
enum class OtherMixer : std::uint8_t { kNone, kLatent, kMamba1, kMamba2, kGatedDelta, kLightning, kShortConvolution };

/// Which layers have it.
enum class MixerLayers : std::uint8_t {
  kAll,
  kPeriod,       ///< all but one in `attn_layer_period`, at `attn_layer_offset` (Jamba)
  kListed,       ///< as a list of the config names them
  kSingleParts,  ///< the same; each layer is a mixer or a feed-forward part alone (Nemotron-H)
};

/// What a class with routed experts does without being asked.
struct ExpertClass {
  ExpertLayers layers = ExpertLayers::kAll;
  SharedExpert shared = SharedExpert::kNone;
  NormalizeRule normalizes = NormalizeRule::kAlways;
  Router router;                           ///< all but its matrix's sizes
  Division division = Division::kInPlace;  ///< where the weights are normalized
  ExpertForm form = ExpertForm::kByVersion;
  ExpertGate gate = ExpertGate::kPlain;
  bool biases = false;           ///< on the router and on every expert (gpt-oss)
  bool shared_first = false;     ///< the shared expert runs before the router
  const char* shared_gate = "";  ///< module that scales the shared expert; empty for none
  const char* shared_gate_proj = "mlp.shared_experts.gate_proj";
  const char* shared_up_proj = "mlp.shared_experts.up_proj";
  const char* shared_down_proj = "mlp.shared_experts.down_proj";
};

/// What Hugging Face's class of one model_type does without being asked: facts of its modeling and configuration files,
/// not of a checkpoint. The defaults are those of Llama; a row of the table says what differs.
struct Family {
  std::string_view model_type;
  const char* layer_path = "model.layers.*";
  QkvLayout layout = QkvLayout::kSeparate;
  /// Where attention and MLP stand in a layer, and module names: the last part of the path, more where that alone would
  /// name two modules of a layer. The fused layout has no key and value; without a gate there is no gate.
  const char* attention_path = "self_attn";
  const char* mlp_path = "mlp";
  const char* query = "q_proj";
  const char* key = "k_proj";
  const char* value = "v_proj";
  const char* output = "o_proj";
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
  NormKind norm = NormKind::kRmsNorm;
  Arrangement arrangement = Arrangement::kPreNorm;
  QkNorm qk_norm = QkNorm::kNone;
  NormKind qk_norm_kind = NormKind::kRmsNorm;
  Rotary rotary = Rotary::kHalves;
  /// Key of the share of a head that turns, or of its width where the key ends in "dim"; what a missing key means.
  std::string_view rotary_share_key = "";
  double rotary_share_by_default = 1;
  bool joins_whole_heads = false;  ///< heads are cut and joined even where all of them turns (Phi-3, GPT-NeoX)
  NopeRule nope = NopeRule::kNone;
  EagerStyle eager = EagerStyle::kFp32Softmax;
  ScoreBias score_bias = ScoreBias::kNone;
  bool eager_only = false;
  std::string_view qk_norm_key = "";  ///< a flag that switches it on; empty: it is there
  bool qk_norm_by_default = false;    ///< where that flag is missing
  bool norms_turned = false;
  bool output_gate = false;
  std::string_view head_bias_key = "";  ///< a flag that gives the output head a bias
  bool sinks = false;
  OtherMixer other_mixer = OtherMixer::kNone;
  MixerLayers mixer_layers = MixerLayers::kAll;
  bool complex_rotary = false;     ///< kLatent
  bool indexer = false;            ///< kLatent
  bool joined_delta = true;        ///< kGatedDelta
  bool learned_positions = false;  ///< a table of `n_positions` rows instead of rotary positions
  std::int64_t position_offset = 0;
  bool gated = true;
  bool fused_gate = false;
  bool embedding_norm = false;
  bool has_final_norm = true;
  EncoderKind encoder = EncoderKind::kNone;
  bool has_token_types = false;  ///< `type_vocab_size` rows
  std::int64_t token_types_by_default = 2;
  bool lacks_first_norm = false;  ///< see Block
  bool head_bias = false;
  BiasRule biases = BiasRule::kNone;
  bool bias_by_default = false;
  WindowRule window = WindowRule::kNone;
  bool tied_by_default = false;
  bool kv_heads_are_heads = false;   ///< whatever the config says
  std::int64_t kv_heads_always = 0;  ///< whatever the config says; 0: by its key
  bool repeats_fused_heads = false;
  bool stretches_heads = false;
  FlashHeads flash_heads = FlashHeads::kGrouped;
  bool linear_by_hand = false;           ///< see LinearShape
  std::int64_t kv_heads_by_default = 0;  ///< where the config has no key for it; 0, or a null: as many as heads
  std::int64_t head_dim_by_default = 0;  ///< 0: hidden size / heads
  std::string_view width_key = "";       ///< of a dense MLP where it has a name of its own
  std::int64_t widths_in_ffn = 1;        ///< intermediate_size / this is the width of each matrix
  std::string_view activation_key = "hidden_act";
  std::string_view activation_by_default = "silu";
  /// Keys of the dropouts of attention probabilities, of a block's outputs and after the embeddings; empty: none.
  std::string_view attention_dropout_key = "attention_dropout";
  std::string_view residual_dropout_key = "";
  std::string_view embedding_dropout_key = "";
  double dropout_by_default = 0;
  bool scales_embedding = false;
  bool scales_residual_and_logits = false;
  bool scales_logits = false;
  std::int64_t window_by_default = 4096;  ///< where the config has no `sliding_window`; 0 for none
  const ExpertClass* experts = nullptr;   ///< null: dense
  bool softcaps_by_default = false;       ///< of scores and logits, unless the config says null
  std::int64_t window_pattern_by_default = 0;
  /// Of an encoder-decoder: modules of the decoder's attention to the source; empty where the class has none. Their
  /// names, and those of attention within a stack, are whole where both are called alike.
  const char* cross_query = "";
  const char* cross_key = "";
  const char* cross_value = "";
  const char* cross_output = "";
  bool hears = false;                        ///< its source is sound: `num_mel_bins`, `max_source_positions`
  bool keys_lack_bias = false;               ///< where the other projections have one (Whisper)
  std::string_view mlp_dropout_key = "";     ///< of what the MLP's last matrix reads
  std::string_view output_dropout_key = "";  ///< after the last norm
  bool keeps_down_wide = false;              ///< see LinearShape::stays_wide and Mlp::casts_to_down
  bool own_relative_bias = false;            ///< see Attention
  bool scales_tied_head_input = false;       ///< the last hidden states are scaled where the head is tied (T5)
  bool streams = false;                      ///< several streams of hidden states: hf_streams.cc (Gemma 3n)
  bool lists_blocks = false;                 ///< `block_configs` says every layer's parts (Nemotron-NAS)
  DefaultSizes sizes_by_default = {};
  ResolveFamily resolve = nullptr;
};

/// What a T5Config writes before the name of a gate's activation.
inline constexpr std::string_view kGatePrefix = "gated-";

/// The class of that model_type, or null when it is not modelled. `ResolvedFamily` adds what one config changes.
const Family* FindFamily(std::string_view model_type);
Family ResolvedFamily(const Family& family, const ObjectReader& config);

/// "llama, mistral, ..." for messages.
std::string ModelledFamilies();

/// The rows, in files of their own: decoders in Llama's manner, those in GPT's manner (layer norms, fused projections),
/// and classes with routed experts.
std::span<const Family> LlamaLikeFamilies();
std::span<const Family> GptLikeFamilies();
std::span<const Family> ExpertFamilies();
/// Models that read a whole text at once: masked language models and classifiers.
std::span<const Family> EncoderFamilies();
/// Decoders that attend to an encoder.
std::span<const Family> EncoderDecoderFamilies();

}  // namespace tunefit
