#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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
};

/// Which layers have a sliding window.
enum class WindowRule : std::uint8_t {
  kNone,
  kAllLayers,    ///< `sliding_window`, 4096 when missing, none when null (mistral)
  kUpperLayers,  ///< only with `use_sliding_window`: layers from `max_window_layers` on (qwen2, qwen3)
  kAlternating,  ///< every other layer, the first included (gemma2)
};

/// Which layers have experts; the others have a dense MLP.
enum class ExpertLayers : std::uint8_t {
  kAll,
  kFirstDense,  ///< all but the first `first_k_dense_replace` (DeepSeek, GLM)
  kSparseStep,  ///< every `decoder_sparse_step`-th, unless in `mlp_only_layers` (Qwen)
};

/// How wide the expert that every token visits is.
enum class SharedExpert : std::uint8_t {
  kNone,
  kCount,  ///< `n_shared_experts` times the width of one (DeepSeek)
  kWidth,  ///< `shared_expert_intermediate_size` (Qwen 2 MoE); 0 for none
};

/// Whether the weights of the chosen experts are divided by their sum.
enum class NormalizeRule : std::uint8_t { kNever, kAlways, kByKey /*`norm_topk_prob`, false when missing*/ };

/// What a class with routed experts does without being asked.
struct ExpertClass {
  ExpertLayers layers = ExpertLayers::kAll;
  SharedExpert shared = SharedExpert::kNone;
  NormalizeRule normalizes = NormalizeRule::kAlways;
  Router router;                 ///< all but its matrix's sizes
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
  bool head_norm = false;
  bool learned_positions = false;  ///< a table of `n_positions` rows instead of rotary positions
  bool gated = true;
  BiasRule biases = BiasRule::kNone;
  WindowRule window = WindowRule::kNone;
  bool tied_by_default = false;
  std::int64_t kv_heads_by_default = 0;  ///< where the config has no key for it; 0, or a null: as many as heads
  std::int64_t head_dim_by_default = 0;  ///< 0: hidden size / heads
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
  std::int64_t window_by_default = 4096;  ///< where the config has no `sliding_window`; 0 for none
  const ExpertClass* experts = nullptr;   ///< null: dense
  bool softcaps_by_default = false;       ///< of scores and logits, unless the config says null
};

/// The class of that model_type, or null when it is not modelled.
const Family* FindFamily(std::string_view model_type);

/// "llama, mistral, ..." for messages.
std::string ModelledFamilies();

/// The rows, in files of their own: dense decoders, and classes with routed experts.
std::span<const Family> DenseFamilies();
std::span<const Family> ExpertFamilies();

}  // namespace tunefit
