#pragma once

#include <cstdint>
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
  bool softcaps_by_default = false;  ///< of scores and logits, unless the config says null
};

/// The class of that model_type, or null when it is not modelled.
const Family* FindFamily(std::string_view model_type);

/// "llama, mistral, ..." for messages.
std::string_view ModelledFamilies();

}  // namespace tunefit
