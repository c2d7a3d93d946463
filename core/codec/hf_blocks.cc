#include "core/codec/hf_blocks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/hf_layers.h"
#include "core/codec/hf_parts.h"

namespace tunefit {
namespace {

constexpr std::int64_t kWidthStep = 256;
constexpr double kLargestMultiplier = 64;

/// configuration_decilm.py, _ffn_mult_to_intermediate_size and _find_multiple.
std::int64_t WidthOf(double multiplier, std::int64_t hidden) {
  const auto width = static_cast<std::int64_t>(2 * multiplier * static_cast<double>(hidden) / 3);
  return (width + kWidthStep - 1) / kWidthStep * kWidthStep;
}

Mixer ReadMixer(const HfReading& reading, HfSizes sizes, const ObjectReader& layer) {
  const ObjectReader attention(layer, "attention");
  if (!attention.present() || attention.Flag("no_op").value_or(false)) return NoPart();
  const auto group = attention.Count("n_heads_in_group", 1, kSizeLimit);
  if (!group) return NoPart();
  sizes.kv_heads = std::max<std::int64_t>(1, sizes.heads / *group);
  return ReadAttention(reading, sizes);
}

FeedForward ReadFeedForward(const HfReading& reading, const HfSizes& sizes, const ObjectReader& layer) {
  const ObjectReader ffn(layer, "ffn");
  if (!ffn.present() || ffn.Flag("no_op").value_or(false)) return NoPart();
  const auto multiplier = ffn.Number("ffn_mult", 0, kLargestMultiplier);
  if (!multiplier || *multiplier == 0) return NoPart();
  return ReadMlp(reading, sizes.hidden, WidthOf(*multiplier, sizes.hidden));
}

}  // namespace

std::vector<LayerRun> ReadPrunedLayers(const HfReading& reading, const HfSizes& sizes, const Block& block) {
  reading.config.Require("block_configs");
  const JsonValue* list = reading.config.List("block_configs");
  if (list == nullptr) return {};
  if (static_cast<std::int64_t>(list->items.size()) != sizes.layers) {
    reading.config.Fault("layers_differ", "block_configs", "must describe every layer once",
                         {{"value", std::to_string(list->items.size())}, {"expected", std::to_string(sizes.layers)}});
    return {};
  }
  std::vector<Block> kinds;
  std::vector<std::size_t> layers;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const ObjectReader layer(reading.config, "block_configs", i, list->items[i]);
    if (!layer.present()) return {};
    Block read = block;
    read.mixer = ReadMixer(reading, sizes, layer);
    read.feed_forward = ReadFeedForward(reading, sizes, layer);
    const auto known = std::find(kinds.begin(), kinds.end(), read);
    layers.push_back(static_cast<std::size_t>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(std::move(read));
  }
  return FoldLayers(kinds, layers);
}

}  // namespace tunefit
