// Decoders in GPT's manner: layer norms, MLPs without a gate, fused projections, parallel parts; as transformers'
// modeling files have them.
#include "core/codec/hf_family.h"

namespace tunefit {
namespace {

/// FalconConfig: `new_decoder_architecture` goes before `multi_query`.
void ResolveFalconDecoder(const ObjectReader& config, Family& family, bool new_decoder) {
  const bool parallel = config.Flag("parallel_attn").value_or(true);
  const bool one_norm = config.Count("num_ln_in_parallel_attn", 1, 2).value_or(2) == 1;
  if (config.Flag("alibi").value_or(false)) {
    family.rotary = Rotary::kNone;
    family.score_bias = ScoreBias::kAlibi;
  }
  if (new_decoder) {
    family.layout = QkvLayout::kFusedPicks;
    family.repeats_fused_heads = true;
    family.arrangement = one_norm ? Arrangement::kParallel : Arrangement::kParallelTwoNorms;
    return;
  }
  if (config.Flag("multi_query").value_or(true)) {
    family.layout = QkvLayout::kFusedPicks;
    family.kv_heads_always = 1;
    family.stretches_heads = true;
  } else {
    family.kv_heads_are_heads = true;
  }
  family.arrangement = parallel ? Arrangement::kParallel : Arrangement::kPreNorm;
}

void ResolveFalcon(const ObjectReader& config, Family& family) {
  ResolveFalconDecoder(config, family, config.Flag("new_decoder_architecture").value_or(false));
}

/// The first checkpoints of Falcon-40B: their own class has the new decoder only.
void ResolveRefinedWeb(const ObjectReader& config, Family& family) { ResolveFalconDecoder(config, family, true); }

void ResolveNeoX(const ObjectReader& config, Family& family) {
  if (!config.Flag("use_parallel_residual").value_or(true)) family.arrangement = Arrangement::kPreNorm;
  if (!config.Flag("attention_bias").value_or(true)) family.biases = BiasRule::kMlp;
}

void ResolveStableLm(const ObjectReader& config, Family& family) {
  if (config.Flag("use_parallel_residual").value_or(false)) family.arrangement = Arrangement::kParallel;
  if (config.Flag("qk_layernorm").value_or(false)) {
    family.qk_norm = QkNorm::kEveryHead;
    family.qk_norm_kind = NormKind::kLayerNormNoBias;
  }
}

void ResolveCohere(const ObjectReader& config, Family& family) {
  if (config.Flag("use_qk_norm").value_or(false)) family.qk_norm = QkNorm::kEveryHead;
}

/// ALiBi wins over learned positions, which MPT's config claims beside it; without either the class has no positions.
void ResolveMpt(const ObjectReader& config, Family& family) {
  const ObjectReader attention(config, "attn_config");
  if (attention.present() && !attention.Flag("alibi").value_or(true)) family.score_bias = ScoreBias::kNone;
}

/// OPT-350m: norms after the additions, none at the end.
void ResolveOpt(const ObjectReader& config, Family& family) {
  if (config.Flag("do_layer_norm_before").value_or(true)) return;
  family.arrangement = Arrangement::kPostNorm;
  family.has_final_norm = false;
}

void ResolveBigCode(const ObjectReader& config, Family& family) {
  if (config.Flag("multi_query").value_or(true)) {
    family.kv_heads_always = 1;
  } else {
    family.kv_heads_are_heads = true;
  }
}

constexpr Family kFalcon = {.model_type = "falcon",
                            .layer_path = "transformer.h.*",
                            .layout = QkvLayout::kFusedSlices,
                            .attention_path = "self_attention",
                            .query = "query_key_value",
                            .key = "",
                            .value = "",
                            .output = "dense",
                            .gate = "",
                            .up = "dense_h_to_4h",
                            .down = "dense_4h_to_h",
                            .norm = NormKind::kLayerNorm,
                            .eager = EagerStyle::kTypedSoftmax,
                            .gated = false,
                            .biases = BiasRule::kAllByKey,
                            .tied_by_default = true,
                            .linear_by_hand = true,
                            .activation_key = "activation",
                            .activation_by_default = "gelu",
                            .residual_dropout_key = "hidden_dropout",
                            .resolve = ResolveFalcon};

constexpr Family RefinedWeb(std::string_view model_type, ResolveFamily resolve) {
  Family family = kFalcon;
  family.model_type = model_type;
  family.resolve = resolve;
  return family;
}

constexpr Family kPhi = {.model_type = "phi",
                         .output = "dense",
                         .gate = "",
                         .up = "fc1",
                         .down = "fc2",
                         .norm = NormKind::kLayerNorm,
                         .arrangement = Arrangement::kParallel,
                         .rotary_share_key = "partial_rotary_factor",
                         .rotary_share_by_default = 0.5,
                         .joins_whole_heads = true,
                         .gated = false,
                         .head_bias = true,
                         .biases = BiasRule::kAll,
                         .activation_by_default = "gelu_new",
                         .residual_dropout_key = "resid_pdrop",
                         .embedding_dropout_key = "embd_pdrop"};

/// The same model under the names of Microsoft's first remote code.
constexpr Family PhiOfMicrosoft() {
  Family family = kPhi;
  family.model_type = "phi-msft";
  family.rotary_share_key = "rotary_dim";
  family.activation_key = "activation_function";
  family.attention_dropout_key = "attn_pdrop";
  return family;
}

constexpr Family kCohere = {.model_type = "cohere",
                            .norm = NormKind::kLayerNormWritten,
                            .arrangement = Arrangement::kParallel,
                            .qk_norm_kind = NormKind::kLayerNormWritten,
                            .rotary = Rotary::kPairsFp32,
                            .biases = BiasRule::kByKey,
                            .tied_by_default = true,
                            .scales_logits = true,
                            .resolve = ResolveCohere};

constexpr Family Cohere2() {
  Family family = kCohere;
  family.model_type = "cohere2";
  family.window = WindowRule::kPattern;
  family.window_pattern_by_default = 4;
  family.nope = NopeRule::kFullAttention;
  family.resolve = nullptr;
  return family;
}

constexpr Family kFamilies[] = {
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
     .kv_heads_are_heads = true,
     .activation_key = "activation_function",
     .activation_by_default = "gelu_new",
     .attention_dropout_key = "attn_pdrop",
     .residual_dropout_key = "resid_pdrop",
     .embedding_dropout_key = "embd_pdrop",
     .dropout_by_default = 0.1},
    kFalcon,
    RefinedWeb("RefinedWebModel", ResolveFalcon),
    RefinedWeb("RefinedWeb", ResolveRefinedWeb),
    kPhi,
    PhiOfMicrosoft(),
    kCohere,
    Cohere2(),
    {.model_type = "gpt_neox",
     .layer_path = "gpt_neox.layers.*",
     .layout = QkvLayout::kFused,
     .attention_path = "attention",
     .query = "query_key_value",
     .key = "",
     .value = "",
     .output = "dense",
     .gate = "",
     .up = "dense_h_to_4h",
     .down = "dense_4h_to_h",
     .norm = NormKind::kLayerNorm,
     .arrangement = Arrangement::kParallelTwoNorms,
     .rotary_share_key = "rotary_pct",
     .rotary_share_by_default = 0.25,
     .joins_whole_heads = true,
     .gated = false,
     .biases = BiasRule::kAll,
     .kv_heads_are_heads = true,
     .activation_by_default = "gelu",
     .residual_dropout_key = "hidden_dropout",
     .embedding_dropout_key = "hidden_dropout",
     .resolve = ResolveNeoX},
    {.model_type = "gptj",
     .layer_path = "transformer.h.*",
     .attention_path = "attn",
     .output = "out_proj",
     .gate = "",
     .up = "fc_in",
     .down = "fc_out",
     .norm = NormKind::kLayerNorm,
     .arrangement = Arrangement::kParallel,
     .rotary = Rotary::kPairs,
     .rotary_share_key = "rotary_dim",
     .rotary_share_by_default = 0,
     .eager = EagerStyle::kFp32Scores,
     .gated = false,
     .head_bias = true,
     .biases = BiasRule::kMlp,
     .kv_heads_are_heads = true,
     .activation_key = "activation_function",
     .activation_by_default = "gelu_new",
     .attention_dropout_key = "attn_pdrop",
     .residual_dropout_key = "resid_pdrop",
     .embedding_dropout_key = "embd_pdrop"},
    {.model_type = "gpt_neo",
     .layer_path = "transformer.h.*",
     .attention_path = "attn.attention",
     .output = "out_proj",
     .gate = "",
     .up = "c_fc",
     .down = "mlp.c_proj",
     .norm = NormKind::kLayerNorm,
     .eager = EagerStyle::kFp32Scores,
     .learned_positions = true,
     .gated = false,
     .biases = BiasRule::kOutputAndMlp,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "activation_function",
     .activation_by_default = "gelu_new",
     .residual_dropout_key = "resid_dropout",
     .embedding_dropout_key = "embed_dropout"},
    {.model_type = "gpt_bigcode",
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
     .activation_by_default = "gelu_pytorch_tanh",
     .attention_dropout_key = "attn_pdrop",
     .residual_dropout_key = "resid_pdrop",
     .embedding_dropout_key = "embd_pdrop",
     .dropout_by_default = 0.1,
     .resolve = ResolveBigCode},
    {.model_type = "starcoder2",
     .gate = "",
     .up = "c_fc",
     .down = "c_proj",
     .norm = NormKind::kLayerNorm,
     .gated = false,
     .biases = BiasRule::kAllByKey,
     .bias_by_default = true,
     .window = WindowRule::kAllLayers,
     .tied_by_default = true,
     .flash_heads = FlashHeads::kRepeated,
     .kv_heads_by_default = 2,
     .activation_by_default = "gelu_pytorch_tanh",
     .residual_dropout_key = "residual_dropout",
     .embedding_dropout_key = "embedding_dropout",
     .window_by_default = 0},
    {.model_type = "stablelm",
     .norm = NormKind::kLayerNorm,
     .rotary_share_key = "partial_rotary_factor",
     .rotary_share_by_default = 0.25,
     .joins_whole_heads = true,
     .biases = BiasRule::kQkvByKey,
     .residual_dropout_key = "hidden_dropout",
     .resolve = ResolveStableLm},
    {.model_type = "nemotron",
     .gate = "",
     .norm = NormKind::kLayerNormUnitGain,
     .rotary_share_key = "partial_rotary_factor",
     .rotary_share_by_default = 0.5,
     .joins_whole_heads = true,
     .gated = false,
     .biases = BiasRule::kByKey,
     .activation_by_default = "relu2"},
    {.model_type = "opt",
     .layer_path = "model.decoder.layers.*",
     .mlp_path = "",
     .output = "out_proj",
     .gate = "",
     .up = "fc1",
     .down = "fc2",
     .norm = NormKind::kLayerNorm,
     .rotary = Rotary::kNone,
     .learned_positions = true,
     .position_offset = 2,
     .gated = false,
     .biases = BiasRule::kAll,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "activation_function",
     .activation_by_default = "relu",
     .residual_dropout_key = "dropout",
     .resolve = ResolveOpt},
    {.model_type = "bloom",
     .layer_path = "transformer.h.*",
     .layout = QkvLayout::kFusedSlices,
     .attention_path = "self_attention",
     .query = "query_key_value",
     .key = "",
     .value = "",
     .output = "dense",
     .gate = "",
     .up = "dense_h_to_4h",
     .down = "dense_4h_to_h",
     .norm = NormKind::kLayerNorm,
     .rotary = Rotary::kNone,
     .eager = EagerStyle::kBiasedProduct,
     .score_bias = ScoreBias::kAlibi,
     .eager_only = true,
     .gated = false,
     .embedding_norm = true,
     .biases = BiasRule::kAll,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "",
     .activation_by_default = "bloom_gelu",
     .residual_dropout_key = "hidden_dropout"},
    {.model_type = "mpt",
     .layer_path = "transformer.blocks.*",
     .layout = QkvLayout::kFused,
     .attention_path = "attn",
     .mlp_path = "ffn",
     .query = "Wqkv",
     .key = "",
     .value = "",
     .output = "out_proj",
     .gate = "",
     .up = "up_proj",
     .down = "down_proj",
     .norm = NormKind::kLayerNormNoBias,
     .rotary = Rotary::kNone,
     .score_bias = ScoreBias::kAlibi,
     .eager_only = true,
     .gated = false,
     .tied_by_default = true,
     .kv_heads_are_heads = true,
     .activation_key = "",
     .activation_by_default = "gelu",
     .attention_dropout_key = "",
     .residual_dropout_key = "resid_pdrop",
     .embedding_dropout_key = "emb_pdrop",
     .resolve = ResolveMpt},
};

}  // namespace

std::span<const Family> GptLikeFamilies() { return kFamilies; }

}  // namespace tunefit
