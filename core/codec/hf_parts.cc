#include "core/codec/hf_parts.h"

#include <string>

#include "core/codec/words.h"

namespace tunefit {

Activation ReadActivation(const HfReading& reading) {
  std::string_view name = reading.family.activation_by_default;
  if (!reading.family.activation_key.empty()) name = reading.config.Text(reading.family.activation_key).value_or(name);
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu") return Activation::kGelu;  // one kernel that keeps its input
  if (name == "gelu_new") return Activation::kGeluNew;
  const std::string value = Shortened(name);
  reading.config.Fault("not_modelled", reading.family.activation_key,
                       Join({"is \"", value, "\", an activation that is not modelled yet"}), {{"value", value}});
  return Activation::kSilu;
}

double ReadDropout(const HfReading& reading, std::string_view key) {
  return key.empty() ? 0 : reading.config.Number(key, 0, 1).value_or(reading.family.dropout_by_default);
}

bool ReadSoftcap(const HfReading& reading, std::string_view key) {
  if (!reading.family.softcaps_by_default) return false;
  reading.config.Number(key, 0, 1e9);
  return !reading.config.IsNull(key);
}

Attention ReadAttention(const HfReading& reading, const HfSizes& sizes) {
  const BiasRule rule = reading.family.biases;
  const bool by_key = rule == BiasRule::kByKey && reading.config.Flag("attention_bias").value_or(false);
  const bool by_bias = rule == BiasRule::kAttentionByBias && reading.config.Flag("bias").value_or(false);
  const bool all = by_key || by_bias || rule == BiasRule::kAll;
  const bool qkv_bias = all || rule == BiasRule::kQkv || rule == BiasRule::kQkvAndNoBias;
  const bool output_bias = all || (rule == BiasRule::kQkvAndNoBias && !reading.config.Flag("no_bias").value_or(true));

  Attention attention;
  attention.layout = reading.family.layout;
  attention.heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.head_dim = sizes.head_dim;
  const std::int64_t query_width = sizes.heads * sizes.head_dim;
  const std::int64_t kv_width = sizes.kv_heads * sizes.head_dim;
  if (reading.family.layout == QkvLayout::kSeparate) {
    attention.query = {reading.family.query, sizes.hidden, query_width, qkv_bias};
    attention.key = {reading.family.key, sizes.hidden, kv_width, qkv_bias};
    attention.value = {reading.family.value, sizes.hidden, kv_width, qkv_bias};
  } else {
    attention.query = {reading.family.query, sizes.hidden, query_width + 2 * kv_width, qkv_bias};
  }
  attention.output = {reading.family.output, query_width, sizes.hidden, output_bias};
  attention.rotary = reading.family.learned_positions ? Rotary::kNone : Rotary::kHalves;
  attention.qk_norm = reading.family.head_norm ? QkNorm::kHead : QkNorm::kNone;
  attention.score_softcap = ReadSoftcap(reading, "attn_logit_softcapping");
  attention.dropout = ReadDropout(reading, reading.family.attention_dropout_key);
  return attention;
}

Mlp ReadMlp(const HfReading& reading, std::int64_t hidden, std::int64_t width) {
  const bool has_mlp_key = reading.family.model_type == "llama" || reading.family.model_type == "granite";
  const bool bias =
      reading.family.biases == BiasRule::kAll || (has_mlp_key && reading.config.Flag("mlp_bias").value_or(false)) ||
      (reading.family.biases == BiasRule::kQkvAndNoBias && !reading.config.Flag("no_bias").value_or(true));
  Mlp mlp;
  mlp.gated = reading.family.gated;
  if (mlp.gated) mlp.gate = {reading.family.gate, hidden, width, bias};
  mlp.up = {reading.family.up, hidden, width, bias};
  mlp.down = {reading.family.down, width, hidden, bias};
  mlp.activation = ReadActivation(reading);
  return mlp;
}

}  // namespace tunefit
