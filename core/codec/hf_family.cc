#include "core/codec/hf_family.h"

namespace tunefit {
namespace {

constexpr Family kFamilies[] = {
    {.model_type = "llama", .biases = BiasRule::kByKey},
    {.model_type = "mistral", .window = WindowRule::kAllLayers, .kv_heads_by_default = 8},
    {.model_type = "qwen2", .biases = BiasRule::kQkv, .window = WindowRule::kUpperLayers, .kv_heads_by_default = 32},
    {.model_type = "qwen3",
     .head_norm = true,
     .biases = BiasRule::kByKey,
     .window = WindowRule::kUpperLayers,
     .kv_heads_by_default = 32,
     .head_dim_by_default = 128},
    // Qwen 1: w2 is the gate (mlp returns c_proj(w1(x) * silu(w2(x)))), intermediate_size counts both.
    {.model_type = "qwen",
     .layer_path = "transformer.h.*",
     .layout = QkvLayout::kFused,
     .attention_path = "attn",
     .query = "c_attn",
     .key = "",
     .value = "",
     .output = "attn.c_proj",
     .gate = "w2",
     .up = "w1",
     .down = "mlp.c_proj",
     .biases = BiasRule::kQkvAndNoBias,
     .head_dim_by_default = 128,
     .widths_in_ffn = 2,
     .activation_key = "",
     .attention_dropout_key = "attn_dropout_prob",
     .embedding_dropout_key = "emb_dropout_prob"},
    {.model_type = "internlm2",
     .layout = QkvLayout::kFused,
     .attention_path = "attention",
     .mlp_path = "feed_forward",
     .query = "wqkv",
     .key = "",
     .value = "",
     .output = "wo",
     .gate = "w1",
     .up = "w3",
     .down = "w2",
     .biases = BiasRule::kAttentionByBias,
     .attention_dropout_key = ""},
    {.model_type = "granite", .biases = BiasRule::kByKey, .scales_embedding = true, .scales_residual_and_logits = true},
    {.model_type = "gpt2",
     .layer_path = "transformer.h.*",
     .layout = QkvLayout::kFused,
     .attention_path = "attn",
     .query = "c_attn",
     .key = "",
     .value = "",
     .output = "attn.c_proj",
     .gate = "",
     .up = "c_fc",
     .down = "mlp.c_proj",
     .norm = NormKind::kLayerNorm,
     .learned_positions = true,
     .gated = false,
     .biases = BiasRule::kAll,
     .tied_by_default = true,
     .activation_key = "activation_function",
     .activation_by_default = "gelu_new",
     .attention_dropout_key = "attn_pdrop",
     .residual_dropout_key = "resid_pdrop",
     .embedding_dropout_key = "embd_pdrop",
     .dropout_by_default = 0.1},
    {.model_type = "gemma2",
     .norm = NormKind::kRmsNormUnitGain,
     .arrangement = Arrangement::kSandwichNorm,
     .biases = BiasRule::kByKey,
     .window = WindowRule::kAlternating,
     .tied_by_default = true,
     .kv_heads_by_default = 4,
     .head_dim_by_default = 256,
     .activation_key = "hidden_activation",
     .activation_by_default = "gelu_pytorch_tanh",
     .scales_embedding = true,
     .softcaps_by_default = true},
};

using FamilyList = std::span<const Family> (*)();
constexpr FamilyList kLists[] = {DenseFamilies, ExpertFamilies};

}  // namespace

std::span<const Family> DenseFamilies() { return kFamilies; }

const Family* FindFamily(std::string_view model_type) {
  for (const FamilyList list : kLists) {
    for (const Family& family : list()) {
      if (family.model_type == model_type) return &family;
    }
  }
  return nullptr;
}

std::string ModelledFamilies() {
  std::string names;
  for (const FamilyList list : kLists) {
    for (const Family& family : list()) names += (names.empty() ? "" : ", ") + std::string(family.model_type);
  }
  return names;
}

}  // namespace tunefit
