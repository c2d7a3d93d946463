// Llama 3.2 Vision, as transformers' modeling_mllama.py has it: a tower of two stacks of blocks, the second with gates,
// and layers of the language model that attend to its states. Without images these layers are skipped.
#include <string>
#include <utility>
#include <variant>

#include "core/codec/hf_tower_parts.h"
#include "core/codec/hf_vision.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// MllamaVisionConfig: arrangements of up to four tiles.
constexpr std::int64_t kArrangements = 8;
/// MllamaTextConfig: cross_attention_layers = [3, 8, 13, 18, 23, 28, 33, 38].
constexpr std::int64_t kCrossLayers = 8;
/// MllamaTextModel: rows of the embedding for what stands for an image.
constexpr std::int64_t kImageRows = 8;
/// MllamaVisionEncoderLayer and MllamaCrossAttentionDecoderLayer: one for attention, one for the MLP.
constexpr std::int64_t kGatesEach = 2;
/// Positions and tiles, tiles before the blocks, tiles after them.
constexpr std::int64_t kGates = 3;

std::int64_t CountListed(const HfReading& reading, std::string_view key, std::int64_t by_default) {
  const JsonValue* list = reading.config.List(key);
  return list != nullptr ? static_cast<std::int64_t>(list->items.size()) : by_default;
}

BlockRules RulesOf(const BlockNames& names) { return {.names = names, .attention_bias = false}; }

constexpr BlockNames kLocal = {"vision_model.transformer.layers.*.self_attn.q_proj",
                               "vision_model.transformer.layers.*.self_attn.k_proj",
                               "vision_model.transformer.layers.*.self_attn.v_proj",
                               "vision_model.transformer.layers.*.self_attn.o_proj",
                               "",
                               "vision_model.transformer.layers.*.mlp.fc1",
                               "vision_model.transformer.layers.*.mlp.fc2"};
constexpr BlockNames kGlobal = {"vision_model.global_transformer.layers.*.self_attn.q_proj",
                                "vision_model.global_transformer.layers.*.self_attn.k_proj",
                                "vision_model.global_transformer.layers.*.self_attn.v_proj",
                                "vision_model.global_transformer.layers.*.self_attn.o_proj",
                                "",
                                "vision_model.global_transformer.layers.*.mlp.fc1",
                                "vision_model.global_transformer.layers.*.mlp.fc2"};

/// MllamaCrossAttentionDecoderLayer, beside a layer of the language model.
Block MakeCrossBlock(Block block) {
  auto& attention = std::get<Attention>(block.mixer);
  attention.query.name = "model.language_model.layers.*.cross_attn.q_proj";
  attention.key.name = "model.language_model.layers.*.cross_attn.k_proj";
  attention.value.name = "model.language_model.layers.*.cross_attn.v_proj";
  attention.output.name = "model.language_model.layers.*.cross_attn.o_proj";
  attention.qk_norm = QkNorm::kHead;
  auto& mlp = std::get<Mlp>(block.feed_forward);
  mlp.gate.name = "model.language_model.layers.*.mlp.gate_proj";
  mlp.up.name = "model.language_model.layers.*.mlp.up_proj";
  mlp.down.name = "model.language_model.layers.*.mlp.down_proj";
  return block;
}

}  // namespace

VisionTower ReadMllama(const HfReading& vision, std::int64_t text_hidden) {
  VisionTower tower = ReadTowerBlocks(vision, "num_hidden_layers", "attention_heads", RulesOf(kLocal));
  const std::int64_t hidden = tower.hidden_size;
  const std::int64_t side = NeedOfTower(vision, "patch_size", kPatchLimit);
  tower.patches = ReadPatches(vision, tower, side, 1);
  tower.class_token = true;
  tower.position_rows = ReadPatchCount(vision, side) + 1;  // the class token has one, too
  tower.norm_before = NormKind::kLayerNorm;
  tower.norm_after = NormKind::kLayerNorm;
  const auto& attention = std::get<Attention>(tower.block.mixer);
  const std::int64_t width = std::get<Mlp>(tower.block.feed_forward).width();
  tower.more_layers = {{.block = MakeTowerBlock(RulesOf(kGlobal), hidden, attention.heads, width),
                        .hidden_size = hidden,
                        .count = NeedOfTower(vision, "num_global_layers", kLayerLimit),
                        .gates = kGatesEach}};
  const std::int64_t tiles = NeedOfTower(vision, "max_num_tiles", kFewLimit);
  const std::int64_t rows = CountListed(vision, "supported_aspect_ratios", kArrangements) + 1;
  tower.tables = {{rows, tiles * tower.position_rows}, {rows, tiles}, {rows, tiles}};
  tower.gates = kGates;
  const std::int64_t seen = NeedOfTower(vision, "vision_output_dim");
  tower.projectors = {{.norm = {}, .matrices = {{"model.multi_modal_projector", seen, text_hidden, true}}}};
  return tower;
}

void MoveCrossLayers(HfReading& text, Architecture& model) {
  constexpr std::string_view kKey = "cross_attention_layers";
  const std::int64_t count = CountListed(text, kKey, kCrossLayers);
  if (text.config.Find(kKey) == nullptr) text.Assume(kKey, "3, 8, 13, 18, 23, 28, 33, 38");
  if (model.runs.empty()) return;  // of sizes that are faults already
  LayerRun& run = model.runs.front();
  if (count >= run.repeats) {
    const std::string value = std::to_string(count);
    const std::string high = std::to_string(run.repeats - 1);
    text.config.Fault("out_of_range", kKey, Join({"must leave a layer that text runs: at most ", high}),
                      {{"value", value}, {"low", "0"}, {"high", high}});
    return;
  }
  run.repeats -= count;
  model.rows_without_output = kImageRows;
  model.vision->more_layers.push_back({.block = MakeCrossBlock(run.period.front()),
                                       .hidden_size = model.hidden_size,
                                       .count = count,
                                       .gates = kGatesEach,
                                       .of_language = true});
}

}  // namespace tunefit
