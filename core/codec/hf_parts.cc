#include "core/codec/hf_parts.h"

#include <string>

#include "core/codec/words.h"

namespace tunefit {

Activation ReadActivation(const HfReading& reading) {
  std::string_view name = reading.family.activation_by_default;
  if (!reading.family.activation_key.empty()) name = reading.config.Text(reading.family.activation_key).value_or(name);
  if (name == "gated-gelu") return Activation::kGeluNew;  // T5Config's older word for it
  if (name.starts_with(kGatePrefix)) name.remove_prefix(kGatePrefix.size());
  if (name == "silu" || name == "swish") return Activation::kSilu;
  struct Named {
    std::string_view name;
    Activation activation;
  };
  static constexpr Named kNamed[] = {{"gelu_pytorch_tanh", Activation::kGelu},
                                     {"gelu", Activation::kGelu},
                                     {"gelu_new", Activation::kGeluNew},
                                     {"gelu_fast", Activation::kGeluFast},
                                     {"quick_gelu", Activation::kQuickGelu},
                                     {"bloom_gelu", Activation::kGeluByHand},
                                     {"relu", Activation::kRelu},
                                     {"relu2", Activation::kReluSquared},
                                     {"xielu", Activation::kXielu}};
  for (const Named& named : kNamed) {
    if (name == named.name) return named.activation;
  }
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

namespace {

struct Biases {
  bool qkv = false, output = false, mlp = false;
};

/// Where biases sit: the class decides, or keys do.
Biases ReadBiases(const HfReading& reading) {
  const ObjectReader& config = reading.config;
  const bool by_default = reading.family.bias_by_default;
  const auto flag = [&config](std::string_view key, bool missing) { return config.Flag(key).value_or(missing); };
  switch (reading.family.biases) {
    case BiasRule::kNone:
      break;
    case BiasRule::kByKey: {
      const bool attention = flag("attention_bias", by_default);
      return {attention, attention, flag("mlp_bias", false)};
    }
    case BiasRule::kQkv:
      return {true, false, false};
    case BiasRule::kQkvAndNoBias: {
      const bool rest = !flag("no_bias", true);
      return {true, rest, rest};
    }
    case BiasRule::kAttentionByBias: {
      const bool attention = flag("bias", false);
      return {attention, attention, false};
    }
    case BiasRule::kAll:
      return {true, true, true};
    case BiasRule::kAllByKey: {
      const bool all = flag("use_bias", flag("bias", by_default));
      return {all, all, all};
    }
    case BiasRule::kQkvByKey:
      return {flag("use_qkv_bias", false) || flag("add_qkv_bias", false) || flag("attention_bias", false), false,
              false};
    case BiasRule::kQkvAndOutput:
      return {flag("attention_bias", flag("qkv_bias", by_default)), flag("attention_out_bias", flag("bias", false)),
              flag("mlp_bias", false)};
    case BiasRule::kOutputAndMlp:
      return {false, true, true};
    case BiasRule::kMlp:
      return {false, false, true};
  }
  return {};
}

/// How much of a head turns; 0 where all of it does without being cut and joined.
std::int64_t ReadRotaryDim(const HfReading& reading, std::int64_t head_dim) {
  const Family& family = reading.family;
  const std::string_view key = family.rotary_share_key;
  std::int64_t dim = 0;
  if (key == "rotary_dim") {
    dim = reading.config.Count(key, 1, head_dim).value_or(0);
  } else {
    double share = family.rotary_share_by_default;
    if (!key.empty()) {
      const ObjectReader parameters(reading.config, "rope_parameters");  // where newer configs keep it
      if (parameters.present()) share = parameters.Number("partial_rotary_factor", 0, 1).value_or(share);
      share = reading.config.Number(key, 0, 1).value_or(share);
    }
    dim = static_cast<std::int64_t>(share * static_cast<double>(head_dim));
  }
  return dim == head_dim && !family.joins_whole_heads ? 0 : dim;
}

void FillPositions(const HfReading& reading, Attention& attention) {
  const Family& family = reading.family;
  attention.rotary = family.learned_positions ? Rotary::kNone : family.rotary;
  if (attention.rotary != Rotary::kNone) attention.rotary_dim = ReadRotaryDim(reading, attention.head_dim);
  attention.score_bias = family.score_bias;
}

}  // namespace

Attention ReadAttention(const HfReading& reading, const HfSizes& sizes) {
  const Family& family = reading.family;
  const Biases bias = ReadBiases(reading);
  Attention attention;
  attention.layout = family.layout;
  attention.heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.head_dim = sizes.head_dim;
  const std::int64_t query_width = sizes.heads * sizes.head_dim;
  const std::int64_t kv_width = sizes.kv_heads * sizes.head_dim;
  if (family.layout == QkvLayout::kSeparate) {
    attention.query = {family.query, sizes.hidden, query_width * (family.output_gate ? 2 : 1), bias.qkv};
    attention.key = {family.key, sizes.hidden, kv_width, bias.qkv};
    attention.value = {family.value, sizes.hidden, kv_width, bias.qkv};
  } else {
    attention.query = {family.query, sizes.hidden, query_width + 2 * kv_width, bias.qkv};
  }
  attention.output = {family.output, query_width, sizes.hidden, bias.output};
  FillPositions(reading, attention);
  const std::string_view norm_key = family.qk_norm_key;
  const bool normed = norm_key.empty() || reading.config.Flag(norm_key).value_or(family.qk_norm_by_default);
  attention.qk_norm = normed ? family.qk_norm : QkNorm::kNone;
  attention.norms_turned = family.norms_turned;
  attention.output_gate = family.output_gate;
  attention.sinks = family.sinks;
  attention.qk_norm_kind = family.qk_norm_kind;
  attention.eager = family.eager;
  attention.repeats_fused_heads = family.repeats_fused_heads;
  attention.stretches_heads = family.stretches_heads;
  attention.flash_heads = family.flash_heads;
  attention.query.by_hand = family.linear_by_hand;
  attention.output.by_hand = family.linear_by_hand;
  attention.score_softcap = ReadSoftcap(reading, "attn_logit_softcapping");
  attention.dropout = ReadDropout(reading, family.attention_dropout_key);
  const bool by_distance = family.eager == EagerStyle::kDisentangled;
  attention.distance_dropout = by_distance ? ReadDropout(reading, family.residual_dropout_key) : 0;
  return attention;
}

Mlp ReadMlp(const HfReading& reading, std::int64_t hidden, std::int64_t width) {
  const Family& family = reading.family;
  const bool bias = ReadBiases(reading).mlp;
  Mlp mlp;
  mlp.gated = family.gated;
  mlp.fused_gate = family.fused_gate;
  if (mlp.gated && !mlp.fused_gate) mlp.gate = {family.gate, hidden, width, bias};
  mlp.up = {family.up, hidden, mlp.fused_gate ? 2 * width : width, bias};
  mlp.down = {family.down, width, hidden, bias};
  mlp.up.by_hand = family.linear_by_hand;
  mlp.down.by_hand = family.linear_by_hand;
  mlp.activation = ReadActivation(reading);
  mlp.dropout = ReadDropout(reading, family.mlp_dropout_key);
  mlp.casts_to_down = family.keeps_down_wide;
  mlp.down.stays_wide = family.keeps_down_wide;
  return mlp;
}

Block ReadBlock(const HfReading& reading, const HfSizes& sizes) {
  const Family& family = reading.family;
  Block block;
  block.norm = family.norm;
  block.arrangement = family.arrangement;
  block.mixer = ReadAttention(reading, sizes);
  block.feed_forward = ReadMlp(reading, sizes.hidden, sizes.ffn);
  block.residual_dropout = ReadDropout(reading, family.residual_dropout_key);
  block.scales_residual = family.scales_residual_and_logits;
  return block;
}

}  // namespace tunefit
