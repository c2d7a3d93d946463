#include "core/codec/hf_layers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/codec/hf_blocks.h"
#include "core/codec/hf_experts.h"
#include "core/codec/hf_mixers.h"
#include "core/codec/hf_parts.h"
#include "core/codec/hf_streams.h"

namespace tunefit {
namespace {

constexpr std::int64_t kWindowLimit = 100000000;
/// Longest period of a pattern of layers that is looked for.
constexpr std::size_t kLongestPeriod = 16;
/// Llama 4: one layer in so many has no positions.
constexpr std::int64_t kPositionsPeriod = 4;
constexpr std::size_t kSlides = 1;
constexpr std::size_t kHasExperts = 2;
constexpr std::size_t kIsStill = 4;
constexpr std::size_t kIsFirst = 8;
/// Kinds of layers by their mixer come in steps of this.
constexpr std::size_t kMixerKind = 16;
/// Default of `max_window_layers` in Qwen2Config and Qwen3Config.
constexpr std::int64_t kDefaultWindowLayers = 28;

/// Tokens of the window, or 0 where the config switches it off.
std::int64_t ReadWindow(const ObjectReader& config, const Family& family) {
  const WindowRule rule = family.window;
  if (rule == WindowRule::kChunked) return config.Count("attention_chunk_size", 1, kWindowLimit).value_or(8192);
  const std::int64_t window = config.Count("sliding_window", 1, kWindowLimit).value_or(family.window_by_default);
  if (rule == WindowRule::kNone || config.IsNull("sliding_window")) return 0;
  if (rule == WindowRule::kUpperLayers && !config.Flag("use_sliding_window").value_or(false)) return 0;
  return window;
}

/// Which layers slide, where `layer_types` says so. Other names than the two known ones are faults.
std::optional<std::vector<bool>> ReadLayerTypes(const ObjectReader& config, std::int64_t layers) {
  const auto types = config.Texts("layer_types", 1000);
  if (!types) return {};
  if (static_cast<std::int64_t>(types->size()) != layers) {
    const std::string value = std::to_string(types->size());
    config.Fault("layers_differ", "layer_types", "must name every layer once",
                 {{"value", value}, {"expected", std::to_string(layers)}});
    return {};
  }
  static constexpr std::array<std::string_view, 2> kTypes = {"full_attention", "sliding_attention"};
  std::vector<bool> slides;
  for (std::size_t i = 0; i < types->size(); ++i) {
    if (std::find(kTypes.begin(), kTypes.end(), (*types)[i]) == kTypes.end()) {
      config.UnknownValue("layer_types." + std::to_string(i), (*types)[i], kTypes);
    }
    slides.push_back((*types)[i] == kTypes[1]);
  }
  return slides;
}

/// n where every n-th layer attends to all tokens: a number, or a word of letters such as "LLLG" (EXAONE 4).
std::int64_t PatternOf(const ObjectReader& config, const Family& family) {
  const JsonValue* value = config.Find("sliding_window_pattern");
  if (value == nullptr) return family.window_pattern_by_default;
  if (value->kind == JsonKind::kText) return static_cast<std::int64_t>(value->text.size());
  return config.Count("sliding_window_pattern", 1, kLayerLimit).value_or(0);
}

std::vector<bool> SlidingLayers(const ObjectReader& config, const Family& family, std::int64_t layers) {
  const WindowRule rule = family.window;
  if (auto types = ReadLayerTypes(config, layers)) return *types;
  const std::int64_t first =
      rule == WindowRule::kUpperLayers ? config.Count("max_window_layers", 0, 1000).value_or(kDefaultWindowLayers) : 0;
  const std::int64_t pattern = PatternOf(config, family);
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < layers; ++i) {
    switch (rule) {
      case WindowRule::kPattern:
        slides.push_back(pattern > 0 && (i + 1) % pattern != 0);
        break;
      case WindowRule::kPatternFirst:
        slides.push_back(pattern > 0 && i % pattern != 0);
        break;
      case WindowRule::kChunked:
        slides.push_back((i + 1) % kPositionsPeriod != 0);
        break;
      case WindowRule::kAlternating:
        slides.push_back(i % 2 == 0);
        break;
      default:
        slides.push_back(i >= first);
        break;
    }
  }
  return slides;
}

/// Which layers slide; empty where none does.
std::vector<bool> ReadSlidingLayers(const ObjectReader& config, const Family& family, std::int64_t layers,
                                    std::int64_t window) {
  if (window == 0 || layers < 1) return {};
  return SlidingLayers(config, family, layers);
}

/// Which layers do not turn queries and keys; empty where all do what the class does.
std::vector<bool> ReadStillLayers(const ObjectReader& config, const Family& family, const std::vector<bool>& slides,
                                  std::int64_t layers) {
  std::vector<bool> still(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)), false);
  if (family.nope == NopeRule::kNone || (family.nope == NopeRule::kFullAttention && slides.empty())) return {};
  const std::int64_t interval = config.Count("no_rope_layer_interval", 1, kLayerLimit).value_or(4);
  const JsonValue* listed = config.List("no_rope_layers");  // 1 where a layer turns, 0 where not
  for (std::size_t i = 0; i < still.size(); ++i) {
    if (family.nope == NopeRule::kFullAttention) {
      still[i] = !slides[i];
    } else if (listed != nullptr && i < listed->items.size()) {
      still[i] = listed->items[i].kind == JsonKind::kInteger && listed->items[i].integer == 0;
    } else {
      still[i] = (static_cast<std::int64_t>(i) + 1) % interval == 0;
    }
  }
  return still;
}

/// Gives a layer its mixer, or takes away the part that it does not have.
void Assemble(Block& block, LayerKind kind, const std::optional<Mixer>& other) {
  const bool has_other = kind == LayerKind::kOther || kind == LayerKind::kOtherOnly;
  if (has_other && other) block.mixer = *other;
  if (kind == LayerKind::kMlpOnly || kind == LayerKind::kExpertsOnly) block.mixer = NoPart{};
  if (kind == LayerKind::kAttentionOnly || kind == LayerKind::kOtherOnly) block.feed_forward = NoPart{};
}

/// How many layers from `start` on repeat the `period` before them, period by period.
std::size_t Repeats(const std::vector<std::size_t>& layers, std::size_t start, std::size_t period) {
  std::size_t end = start + period;
  while (end < layers.size() && layers[end] == layers[end - period]) ++end;
  return (end - start) / period;
}

}  // namespace

std::vector<LayerRun> FoldLayers(const std::vector<Block>& kinds, const std::vector<std::size_t>& layers) {
  std::vector<LayerRun> runs;
  for (std::size_t done = 0; done < layers.size();) {
    std::size_t best = 1;
    std::size_t repeats = Repeats(layers, done, 1);
    for (std::size_t period = 2; period <= kLongestPeriod && done + 2 * period <= layers.size(); ++period) {
      const std::size_t found = Repeats(layers, done, period);
      if (found < 2 || found * period <= repeats * best) continue;
      best = period;
      repeats = found;
    }
    LayerRun run;
    for (std::size_t i = 0; i < best; ++i) run.period.push_back(kinds[layers[done + i]]);
    run.repeats = static_cast<std::int64_t>(repeats);
    runs.push_back(std::move(run));
    done += best * repeats;
  }
  return runs;
}

namespace {

/// Only the kinds that occur are assembled: a model has one or two of them.
template <typename Assembled>
std::vector<LayerRun> FoldKinds(std::vector<std::size_t> layers, const Assembled& assembled) {
  std::vector<std::size_t> kinds = layers;
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  std::vector<Block> blocks;
  blocks.reserve(kinds.size());
  for (const std::size_t kind : kinds) blocks.push_back(assembled(kind));
  for (std::size_t& layer : layers) {
    layer = static_cast<std::size_t>(std::lower_bound(kinds.begin(), kinds.end(), layer) - kinds.begin());
  }
  return FoldLayers(blocks, layers);
}

}  // namespace

std::vector<LayerRun> ReadLayerRuns(const HfReading& reading, const HfSizes& sizes) {
  const Family& family = reading.family;
  const Block block = ReadBlock(reading, sizes);
  if (family.lists_blocks) return ReadPrunedLayers(reading, sizes, block);
  // A kind for each combination of window, experts, still positions, first layer and mixer.
  const std::int64_t window = ReadWindow(reading.config, family);
  const std::vector<bool> slides = ReadSlidingLayers(reading.config, family, sizes.layers, window);
  if (family.streams) return ReadStreamLayers(reading, sizes, block, slides, window);
  const ExpertPlan plan = ReadExperts(reading, sizes);
  const std::vector<bool> still = ReadStillLayers(reading.config, family, slides, sizes.layers);
  const MixerPlan mixers = ReadMixers(reading, sizes);
  std::vector<std::size_t> layers(static_cast<std::size_t>(std::max<std::int64_t>(sizes.layers, 0)), 0);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerKind mixer = i < mixers.layers.size() ? mixers.layers[i] : LayerKind::kAttention;
    layers[i] = static_cast<std::size_t>(mixer) * kMixerKind;
    if (i < slides.size() && slides[i]) layers[i] |= kSlides;
    if (i < still.size() && still[i]) layers[i] |= kIsStill;
    if (i == 0 && family.lacks_first_norm) layers[i] |= kIsFirst;
    const bool dense = mixer == LayerKind::kMlpOnly || mixer == LayerKind::kExpertsOnly;
    if (!dense && i < plan.layers.size() && plan.layers[i]) layers[i] |= kHasExperts;
  }
  const auto assembled = [&](std::size_t kind) {
    Block made = block;
    auto& attention = std::get<Attention>(made.mixer);
    if ((kind & kSlides) != 0) attention.window = window;
    if ((kind & kIsStill) != 0) {
      attention.rotary = Rotary::kNone;
      if (attention.norms_turned) attention.qk_norm = QkNorm::kNone;
    }
    made.lacks_first_norm = (kind & kIsFirst) != 0;
    const auto mixer = static_cast<LayerKind>(kind / kMixerKind);
    if ((kind & kHasExperts) != 0 || mixer == LayerKind::kExpertsOnly) made.feed_forward = plan.experts;
    Assemble(made, mixer, mixers.other);
    return made;
  };
  return FoldKinds(std::move(layers), assembled);
}

}  // namespace tunefit
