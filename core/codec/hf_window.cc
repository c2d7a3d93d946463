#include "core/codec/hf_window.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace tunefit {
namespace {

constexpr std::int64_t kWindowLimit = 100000000;
/// Default of MistralConfig, Qwen2Config, Qwen3Config and Gemma2Config.
constexpr std::int64_t kDefaultWindow = 4096;
/// Default of `max_window_layers` in Qwen2Config and Qwen3Config.
constexpr std::int64_t kDefaultWindowLayers = 28;

/// Tokens of the window, or 0 where the config switches it off.
std::int64_t ReadWindow(const ObjectReader& config, WindowRule rule) {
  const std::int64_t window = config.Count("sliding_window", 1, kWindowLimit).value_or(kDefaultWindow);
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

std::vector<bool> SlidingLayers(const ObjectReader& config, WindowRule rule, std::int64_t layers) {
  if (auto types = ReadLayerTypes(config, layers)) return *types;
  const std::int64_t first =
      rule == WindowRule::kUpperLayers ? config.Count("max_window_layers", 0, 1000).value_or(kDefaultWindowLayers) : 0;
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < layers; ++i) {
    slides.push_back(rule == WindowRule::kAlternating ? i % 2 == 0 : i >= first);
  }
  return slides;
}

/// The shortest period of which the pattern is repetitions and a beginning; at most 8 layers, else 0.
std::size_t Period(const std::vector<bool>& pattern) {
  for (std::size_t period = 1; period <= 8 && 2 * period <= pattern.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < pattern.size(); ++i) repeats = repeats && pattern[i] == pattern[i - period];
    if (repeats) return period;
  }
  return 0;
}

}  // namespace

std::vector<LayerRun> ReadLayerRuns(const ObjectReader& config, const Family& family, const Block& block,
                                    std::int64_t layers) {
  const std::int64_t window = ReadWindow(config, family.window);
  if (window == 0 || layers < 1) return {{.period = {block}, .repeats = layers}};
  const std::vector<bool> slides = SlidingLayers(config, family.window, layers);
  const auto layer = [&](std::size_t i) {
    Block copy = block;
    std::get<Attention>(copy.mixer).window = slides[i] ? window : 0;
    return copy;
  };
  std::vector<LayerRun> runs;
  std::size_t done = 0;
  if (const std::size_t period = Period(slides); period > 0) {
    LayerRun run;
    for (std::size_t i = 0; i < period; ++i) run.period.push_back(layer(i));
    run.repeats = static_cast<std::int64_t>(slides.size() / period);
    done = slides.size() / period * period;
    runs.push_back(std::move(run));
  }
  for (; done < slides.size(); ++done) {  // no period, or what is left of the last one
    if (!runs.empty() && runs.back().period.size() == 1 && slides[done] == slides[done - 1]) {
      ++runs.back().repeats;
    } else {
      runs.push_back({.period = {layer(done)}, .repeats = 1});
    }
  }
  return runs;
}

}  // namespace tunefit
