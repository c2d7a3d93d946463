// Encoders, as transformers' modeling files have them.
#include <string_view>
#include <vector>

#include "core/codec/hf_family.h"
#include "core/codec/hf_reading.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

constexpr Family kBert = {.model_type = "bert",
                          .layer_path = "bert.encoder.layer.*",
                          .attention_path = "attention.self",
                          .mlp_path = "",
                          .query = "query",
                          .key = "key",
                          .value = "value",
                          .output = "attention.output.dense",
                          .gate = "",
                          .up = "intermediate.dense",
                          .down = "output.dense",
                          .norm = NormKind::kLayerNorm,
                          .arrangement = Arrangement::kPostNorm,
                          .rotary = Rotary::kNone,
                          .eager = EagerStyle::kOwnSoftmax,
                          .learned_positions = true,
                          .gated = false,
                          .embedding_norm = true,
                          .has_final_norm = false,
                          .encoder = EncoderKind::kBert,
                          .has_token_types = true,
                          .biases = BiasRule::kAll,
                          .tied_by_default = true,
                          .kv_heads_are_heads = true,
                          .activation_by_default = "gelu",
                          .attention_dropout_key = "attention_probs_dropout_prob",
                          .residual_dropout_key = "hidden_dropout_prob",
                          .embedding_dropout_key = "hidden_dropout_prob",
                          .dropout_by_default = 0.1,
                          .sizes_by_default = {768, 12, 12, 3072, 30522, 512}};

/// Positions start after the padding index, so two rows of the table are never reached. The count is that of the base
/// model with its pooler, whose place the heads' own dense matrix takes.
constexpr Family Roberta(std::string_view model_type) {
  Family family = kBert;
  family.model_type = model_type;
  family.layer_path = "roberta.encoder.layer.*";
  family.encoder = EncoderKind::kRoberta;
  family.position_offset = 2;
  return family;
}

/// DebertaV2Config leaves most of disentangled attention off; what every published checkpoint of v2 and v3 sets is
/// modelled, but for the convolution of the two largest.
void CheckDeberta(const ObjectReader& config, Family& /*family*/) {
  const auto refuse = [&config](std::string_view key, std::string_view value) {
    config.Fault("not_modelled", key, Join({"is ", value, ", which is not modelled yet"}), {{"value", value}});
  };
  if (!config.Flag("relative_attention").value_or(false)) refuse("relative_attention", "false");
  if (!config.Flag("share_att_key").value_or(false)) refuse("share_att_key", "false");
  if (config.Flag("position_biased_input").value_or(true)) refuse("position_biased_input", "true");
  if (config.Count("conv_kernel_size", 0, kSizeLimit).value_or(0) > 0) refuse("conv_kernel_size", "above 0");
  const JsonValue* kinds = config.Find("pos_att_type");
  const bool listed = kinds != nullptr && kinds->kind == JsonKind::kList;
  const std::size_t count = listed ? config.Texts("pos_att_type").value_or(std::vector<std::string_view>()).size()
                            : config.Text("pos_att_type").value_or("").find('|') != std::string_view::npos ? 2
                                                                                                           : 1;
  if (count != 2) refuse("pos_att_type", "not p2c|c2p");
}

constexpr Family Deberta() {
  Family family = kBert;
  family.model_type = "deberta-v2";
  family.layer_path = "deberta.encoder.layer.*";
  family.query = "query_proj";
  family.key = "key_proj";
  family.value = "value_proj";
  family.eager = EagerStyle::kDisentangled;
  family.eager_only = true;
  family.learned_positions = false;
  family.encoder = EncoderKind::kDeberta;
  family.token_types_by_default = 0;
  family.sizes_by_default = {1536, 24, 24, 6144, 128100, 512};
  family.resolve = CheckDeberta;
  return family;
}

constexpr Family kFamilies[] = {
    kBert,
    Roberta("roberta"),
    Roberta("xlm-roberta"),
    {.model_type = "distilbert",
     .layer_path = "distilbert.transformer.layer.*",
     .attention_path = "attention",
     .mlp_path = "ffn",
     .query = "q_lin",
     .key = "k_lin",
     .value = "v_lin",
     .output = "out_lin",
     .gate = "",
     .up = "lin1",
     .down = "lin2",
     .norm = NormKind::kLayerNorm,
     .arrangement = Arrangement::kPostNorm,
     .rotary = Rotary::kNone,
     .eager = EagerStyle::kOwnSoftmax,
     .learned_positions = true,
     .gated = false,
     .embedding_norm = true,
     .has_final_norm = false,
     .encoder = EncoderKind::kDistilBert,
     .biases = BiasRule::kAll,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "activation",
     .activation_by_default = "gelu",
     .residual_dropout_key = "dropout",
     .embedding_dropout_key = "dropout",
     .dropout_by_default = 0.1,
     .sizes_by_default = {768, 6, 12, 3072, 30522, 512}},
    Deberta(),
    {.model_type = "modernbert",
     .layer_path = "model.layers.*",
     .layout = QkvLayout::kFused,
     .attention_path = "attn",
     .query = "Wqkv",
     .key = "",
     .value = "",
     .output = "attn.Wo",
     .gate = "",
     .up = "Wi",
     .down = "mlp.Wo",
     .norm = NormKind::kLayerNormNoBias,
     .fused_gate = true,
     .embedding_norm = true,
     .encoder = EncoderKind::kModernBert,
     .lacks_first_norm = true,
     .biases = BiasRule::kByKey,
     .window = WindowRule::kPatternFirst,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "hidden_activation",
     .activation_by_default = "gelu",
     .embedding_dropout_key = "embedding_dropout",
     .window_by_default = 128,
     .window_pattern_by_default = 3,
     .sizes_by_default = {768, 22, 12, 1152, 50368, 8192}},
};

}  // namespace

std::span<const Family> EncoderFamilies() { return kFamilies; }

}  // namespace tunefit
