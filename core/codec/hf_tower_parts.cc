#include "core/codec/hf_tower_parts.h"

#include <string>

#include "core/codec/words.h"

namespace tunefit {
namespace {

Attention MakeAttention(const BlockRules& rules, std::int64_t hidden, std::int64_t heads) {
  const BlockNames& names = rules.names;
  const bool bias = rules.attention_bias;
  const bool fused = names.key[0] == '\0';
  Attention attention;
  attention.layout = fused ? QkvLayout::kFused : QkvLayout::kSeparate;
  attention.heads = heads;
  attention.kv_heads = heads;
  attention.head_dim = heads > 0 ? hidden / heads : 0;
  attention.query = {names.query, hidden, fused ? 3 * hidden : hidden, bias};
  if (!fused) {
    attention.key = {names.key, hidden, hidden, bias};
    attention.value = {names.value, hidden, hidden, bias};
  }
  attention.output = {names.output, hidden, hidden, bias};
  attention.rotary = rules.rotary;
  return attention;
}

}  // namespace

std::int64_t NeedOfTower(const HfReading& vision, std::string_view key, std::int64_t limit) {
  const std::string_view names[] = {key};
  return vision.Required(names, limit);
}

Block MakeTowerBlock(const BlockRules& rules, std::int64_t hidden, std::int64_t heads, std::int64_t width) {
  const BlockNames& names = rules.names;
  Mlp mlp;
  mlp.gated = names.gate[0] != '\0';
  if (mlp.gated) mlp.gate = {names.gate, hidden, width, rules.mlp_bias};
  mlp.up = {names.up, hidden, width, rules.mlp_bias};
  mlp.down = {names.down, width, hidden, rules.mlp_bias};
  mlp.activation = rules.activation;
  Block block;
  block.norm = rules.norm;
  block.mixer = MakeAttention(rules, hidden, heads);
  block.feed_forward = mlp;
  return block;
}

VisionTower ReadTowerBlocks(const HfReading& vision, std::string_view layers_key, std::string_view heads_key,
                            const BlockRules& rules) {
  VisionTower tower;
  tower.hidden_size = NeedOfTower(vision, "hidden_size");
  tower.layers = NeedOfTower(vision, layers_key, kLayerLimit);
  const std::int64_t heads = NeedOfTower(vision, heads_key);
  const std::int64_t width = NeedOfTower(vision, "intermediate_size");
  tower.block = MakeTowerBlock(rules, tower.hidden_size, heads, width);
  if (heads > 0 && tower.hidden_size % heads != 0) {
    const std::string value = std::to_string(heads);
    const std::string hidden = std::to_string(tower.hidden_size);
    vision.config.Fault(
        "heads_do_not_divide", heads_key,
        Join({"must divide the tower's hidden size: ", hidden, " cannot be shared by ", value, " heads"}),
        {{"value", value}, {"hidden_size", hidden}});
  }
  return tower;
}

LinearShape ReadPatches(const HfReading& vision, const VisionTower& tower, std::int64_t side, std::int64_t frames) {
  const std::string_view channels_key = vision.config.Find("in_channels") != nullptr ? "in_channels" : "num_channels";
  const std::int64_t channels = vision.config.Count(channels_key, 1, kFewLimit).value_or(kColours);
  return {"vision_tower.patch_embedding", channels * frames * side * side, tower.hidden_size};
}

std::int64_t ReadPatchCount(const HfReading& vision, std::int64_t side) {
  const std::int64_t image = NeedOfTower(vision, "image_size");
  if (image == 0 || side == 0) return 0;
  if (image < side) {
    const std::string value = std::to_string(image);
    const std::string low = std::to_string(side);
    vision.config.Fault("out_of_range", "image_size", Join({"must be at least a patch, ", low, ", not ", value}),
                        {{"value", value}, {"low", low}});
  }
  return image / side * (image / side);
}

}  // namespace tunefit
