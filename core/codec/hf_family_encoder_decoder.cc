// Encoder-decoders, as transformers' modeling files have them.
#include "core/codec/hf_family.h"

namespace tunefit {
namespace {

void ReadFeedForward(const ObjectReader& config, Family& family) {
  const std::string_view written = config.Text(family.activation_key).value_or(family.activation_by_default);
  family.gated = written.starts_with(kGatePrefix);
  family.up = family.gated ? "wi_1" : "wi";
}

constexpr Family kT5 = {.model_type = "t5",
                        .layer_path = "*.block.*",
                        .attention_path = "",
                        .mlp_path = "DenseReluDense",
                        .query = "SelfAttention.q",
                        .key = "SelfAttention.k",
                        .value = "SelfAttention.v",
                        .output = "SelfAttention.o",
                        .gate = "wi_0",
                        .up = "wi_1",
                        .down = "wo",
                        .norm = NormKind::kRmsNormPromoted,
                        .rotary = Rotary::kNone,
                        .eager = EagerStyle::kBiasInPlace,
                        .score_bias = ScoreBias::kRelative,
                        .eager_only = true,
                        .gated = false,
                        .tied_by_default = true,
                        .kv_heads_are_heads = true,
                        .head_dim_by_default = 64,
                        .activation_key = "feed_forward_proj",
                        .activation_by_default = "relu",
                        .attention_dropout_key = "dropout_rate",
                        .residual_dropout_key = "dropout_rate",
                        .embedding_dropout_key = "dropout_rate",
                        .dropout_by_default = 0.1,
                        .cross_query = "EncDecAttention.q",
                        .cross_key = "EncDecAttention.k",
                        .cross_value = "EncDecAttention.v",
                        .cross_output = "EncDecAttention.o",
                        .mlp_dropout_key = "dropout_rate",
                        .output_dropout_key = "dropout_rate",
                        .keeps_down_wide = true,
                        .scales_tied_head_input = true,
                        .sizes_by_default = {512, 6, 8, 2048, 32128, 0},
                        .resolve = ReadFeedForward};

constexpr Family Mt5() {
  Family family = kT5;
  family.model_type = "mt5";
  family.activation_by_default = "gated-gelu";
  family.scales_tied_head_input = false;
  family.sizes_by_default = {512, 8, 6, 1024, 250112, 0};
  return family;
}

constexpr Family Umt5() {
  Family family = kT5;
  family.model_type = "umt5";
  family.activation_by_default = "gated-gelu";
  family.own_relative_bias = true;
  family.sizes_by_default = {512, 8, 6, 1024, 250112, 0};
  return family;
}

constexpr Family kWhisper = {.model_type = "whisper",
                             .layer_path = "*.layers.*",
                             .attention_path = "",
                             .mlp_path = "",
                             .query = "self_attn.q_proj",
                             .key = "self_attn.k_proj",
                             .value = "self_attn.v_proj",
                             .output = "self_attn.out_proj",
                             .gate = "",
                             .up = "fc1",
                             .down = "fc2",
                             .norm = NormKind::kLayerNorm,
                             .rotary = Rotary::kNone,
                             .learned_positions = true,
                             .gated = false,
                             .biases = BiasRule::kAll,
                             .tied_by_default = true,
                             .kv_heads_are_heads = true,
                             .activation_key = "activation_function",
                             .activation_by_default = "gelu",
                             .attention_dropout_key = "attention_dropout",
                             .residual_dropout_key = "dropout",
                             .embedding_dropout_key = "dropout",
                             .cross_query = "encoder_attn.q_proj",
                             .cross_key = "encoder_attn.k_proj",
                             .cross_value = "encoder_attn.v_proj",
                             .cross_output = "encoder_attn.out_proj",
                             .hears = true,
                             .keys_lack_bias = true,
                             .mlp_dropout_key = "activation_dropout",
                             .sizes_by_default = {384, 4, 6, 1536, 51865, 448}};

constexpr Family kFamilies[] = {kT5, Mt5(), Umt5(), kWhisper};

}  // namespace

std::span<const Family> EncoderDecoderFamilies() { return kFamilies; }

}  // namespace tunefit
