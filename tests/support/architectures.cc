#include "tests/support/architectures.h"

#include <utility>
#include <variant>

namespace tunefit::test {

Architecture MakeLlama(const LlamaSizes& sizes) {
  Attention attention;
  Mlp mlp;
  attention.heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.head_dim = sizes.head_dim;
  attention.query = {"q_proj", sizes.hidden, sizes.heads * sizes.head_dim, false};
  attention.key = {"k_proj", sizes.hidden, sizes.kv_heads * sizes.head_dim, false};
  attention.value = {"v_proj", sizes.hidden, sizes.kv_heads * sizes.head_dim, false};
  attention.output = {"o_proj", sizes.heads * sizes.head_dim, sizes.hidden, false};
  mlp.gate = {"gate_proj", sizes.hidden, sizes.intermediate, false};
  mlp.up = {"up_proj", sizes.hidden, sizes.intermediate, false};
  mlp.down = {"down_proj", sizes.intermediate, sizes.hidden, false};
  Block block;
  block.mixer = attention;
  block.feed_forward = mlp;
  Architecture architecture;
  architecture.model_type = "llama";
  architecture.hidden_size = sizes.hidden;
  architecture.vocab_size = sizes.vocabulary;
  architecture.tied_head = sizes.tied;
  architecture.runs.push_back({{block}, sizes.layers});
  return architecture;
}

VisionTower MakeTower() {
  constexpr std::int64_t kHidden = 8;
  constexpr std::int64_t kWidth = 12;
  Attention attention;
  attention.heads = 2;
  attention.kv_heads = 2;
  attention.head_dim = 4;
  attention.rotary = Rotary::kNone;
  attention.query = {"tower.q_proj", kHidden, kHidden, true};
  attention.key = {"tower.k_proj", kHidden, kHidden, true};
  attention.value = {"tower.v_proj", kHidden, kHidden, true};
  attention.output = {"tower.out_proj", kHidden, kHidden, true};
  Mlp mlp;
  mlp.gated = false;
  mlp.up = {"tower.fc1", kHidden, kWidth, true};
  mlp.down = {"tower.fc2", kWidth, kHidden, true};
  VisionTower tower;
  tower.hidden_size = kHidden;
  tower.patches = {"tower.patches", 3 * 2 * 2, kHidden, true};
  tower.position_rows = 4;
  tower.norm_after = NormKind::kLayerNorm;
  tower.block.norm = NormKind::kLayerNorm;
  tower.block.mixer = attention;
  tower.block.feed_forward = mlp;
  tower.layers = 3;
  tower.projectors = {
      {.norm = NormKind::kRmsNorm, .norm_width = kHidden, .matrices = {{"projector.linear", kHidden, 4096, false}}}};
  return tower;
}

namespace {

Attention MakeT5Attention(const T5Sizes& sizes, bool crosses) {
  const std::int64_t inner = sizes.heads * sizes.head_dim;
  Attention attention;
  attention.heads = attention.kv_heads = sizes.heads;
  attention.head_dim = sizes.head_dim;
  attention.query = {crosses ? "EncDecAttention.q" : "SelfAttention.q", sizes.hidden, inner};
  attention.key = {crosses ? "EncDecAttention.k" : "SelfAttention.k", sizes.hidden, inner};
  attention.value = {crosses ? "EncDecAttention.v" : "SelfAttention.v", sizes.hidden, inner};
  attention.output = {crosses ? "EncDecAttention.o" : "SelfAttention.o", inner, sizes.hidden};
  attention.rotary = Rotary::kNone;
  attention.eager = EagerStyle::kBiasInPlace;
  attention.score_bias = ScoreBias::kRelative;
  attention.dropout = 0.1;
  return attention;
}

std::vector<LayerRun> MakeT5Runs(Block block, std::int64_t layers) {
  Block first = block;
  std::get<Attention>(first.mixer).relative_buckets = 32;
  if (layers == 1) return {{{first}, 1}};
  return {{{first}, 1}, {{block}, layers - 1}};
}

}  // namespace

Architecture MakeT5(const T5Sizes& sizes) {
  Architecture architecture;
  architecture.model_type = "t5";
  architecture.hidden_size = sizes.hidden;
  architecture.vocab_size = sizes.vocabulary;
  architecture.tied_head = architecture.scales_head_input = sizes.tied;
  architecture.eager_only = true;
  architecture.embedding_dropout = architecture.output_dropout = 0.1;
  architecture.final_norm = NormKind::kRmsNormPromoted;
  Block block;
  block.norm = NormKind::kRmsNormPromoted;
  block.mixer = MakeT5Attention(sizes, false);
  block.residual_dropout = 0.1;
  Mlp mlp;
  mlp.gated = sizes.gated;
  mlp.gate = {"wi_0", sizes.hidden, sizes.intermediate};
  mlp.up = {sizes.gated ? "wi_1" : "wi", sizes.hidden, sizes.intermediate};
  mlp.down = {"wo", sizes.intermediate, sizes.hidden};
  mlp.down.stays_wide = true;
  mlp.activation = sizes.gated ? Activation::kGeluNew : Activation::kRelu;
  mlp.dropout = 0.1;
  mlp.casts_to_down = true;
  block.feed_forward = mlp;
  architecture.encoder_runs = MakeT5Runs(block, sizes.layers);
  block.cross = MakeT5Attention(sizes, true);
  architecture.runs = MakeT5Runs(block, sizes.decoder_layers);
  return architecture;
}

namespace {

constexpr std::int64_t kStreams = 4;
constexpr std::int64_t kLayerWidth = 32;

StreamLayer MakeStreamLayer(std::int64_t hidden) {
  constexpr std::int64_t kRank = 16;
  StreamLayer layer;
  layer.streams = kStreams;
  layer.router = {"altup.modality_router", hidden, kStreams};
  layer.prediction = {"altup.prediction_coefs", kStreams, kStreams * kStreams};
  layer.correction = {"altup.correction_coefs", kStreams, kStreams};
  layer.prediction.stays_plain = layer.correction.stays_plain = true;
  for (LinearShape* matrix : {&layer.router, &layer.prediction, &layer.correction}) matrix->any_rank = true;
  layer.left = {"laurel.linear_left", hidden, kRank};
  layer.right = {"laurel.linear_right", kRank, hidden};
  layer.gate = {"per_layer_input_gate", hidden, kLayerWidth};
  layer.projection = {"per_layer_projection", kLayerWidth, hidden};
  return layer;
}

/// A layer with a window of 8 tokens, or none.
Block MakeStreamBlock(std::int64_t hidden, bool slides, bool sparse, KeySource keys) {
  LlamaSizes sizes = SmallSizes();
  sizes.hidden = hidden;
  sizes.intermediate = 96;
  sizes.kv_heads = 2;
  Block block = MakeLlama(sizes).runs.front().period.front();
  block.norm = NormKind::kRmsNormPower;
  block.arrangement = Arrangement::kSandwichNorm;
  auto& attention = std::get<Attention>(block.mixer);
  attention.qk_norm = QkNorm::kHead;
  attention.qk_norm_kind = NormKind::kRmsNormPower;
  attention.norms_values = true;
  attention.window = slides ? 8 : 0;
  attention.keys = keys;
  attention.lender = keys != KeySource::kOwn && !slides ? 1 : 0;
  auto& mlp = std::get<Mlp>(block.feed_forward);
  mlp.activation = Activation::kGelu;
  mlp.names_parts = true;
  mlp.sparse_gate = sparse;
  block.streams = MakeStreamLayer(hidden);
  return block;
}

}  // namespace

Architecture MakeGemma3n(const StreamSizes& sizes) {
  Architecture architecture;
  architecture.model_type = "gemma3n_text";
  architecture.hidden_size = sizes.hidden;
  architecture.vocab_size = 200;
  architecture.tied_head = true;
  architecture.scales_embedding = true;
  architecture.logits_softcap = true;
  architecture.final_norm = NormKind::kRmsNormPower;
  architecture.streams = {.count = kStreams,
                          .rows = 150,
                          .width = kLayerWidth,
                          .inputs = {"per_layer_model_projection", sizes.hidden, sizes.layers * kLayerWidth},
                          .entry = {"altup_projections.*", sizes.hidden, sizes.hidden},
                          .exit = {"altup_unembed_projections.*", sizes.hidden, sizes.hidden}};
  const std::int64_t own = sizes.layers - sizes.borrowers;
  for (std::int64_t i = 0; i < sizes.layers; ++i) {
    const bool lends = sizes.borrowers > 0 && i < own && i >= own - 2;
    const KeySource keys = i >= own ? KeySource::kBorrowed : lends ? KeySource::kLent : KeySource::kOwn;
    Block block = MakeStreamBlock(sizes.hidden, i % 2 == 0, i < sizes.sparse, keys);
    if (!architecture.runs.empty() && architecture.runs.back().period.front() == block) {
      ++architecture.runs.back().repeats;
    } else {
      architecture.runs.push_back({{std::move(block)}, 1});
    }
  }
  return architecture;
}

Workload MakeWorkload(const LlamaSizes& sizes) {
  Workload workload;
  workload.architecture = MakeLlama(sizes);
  workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
  workload.batch.packing = Packing::kPacked;
  workload.attention = AttentionKernel::kFlash;
  return workload;
}

}  // namespace tunefit::test
