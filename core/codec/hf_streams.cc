#include "core/codec/hf_streams.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>

#include "core/codec/hf_layers.h"
#include "core/codec/hf_parts.h"

namespace tunefit {
namespace {

// Gemma3nTextConfig's.
constexpr std::int64_t kStreams = 4;
constexpr std::int64_t kRank = 64;
constexpr std::int64_t kWidth = 256;
constexpr std::int64_t kRows = 262144;
constexpr std::int64_t kSharedLayers = 15;
constexpr std::string_view kSharedKey = "num_kv_shared_layers";
/// So many first layers are sparse where the config does not list them, if there are more.
constexpr std::size_t kSparseLayers = 10;
/// Far beyond any model, and small enough that products of them are counted without overflow.
constexpr std::int64_t kStreamLimit = 64;
constexpr std::int64_t kRowLimit = 10000000;

std::int64_t Or(const HfReading& reading, std::string_view key, std::int64_t limit, std::int64_t by_default) {
  return reading.config.Count(key, 1, limit).value_or(by_default);
}

std::int64_t WidthOf(const HfReading& reading) {
  return Or(reading, "hidden_size_per_layer_input", kSizeLimit, kWidth);
}

/// A list with a number for each layer; null where the config has none, or one number for all.
const JsonValue* ReadList(const HfReading& reading, std::string_view key, std::size_t layers, bool one_for_all) {
  const JsonValue* value = reading.config.Find(key);
  if (value != nullptr && one_for_all && value->kind != JsonKind::kList) return nullptr;
  const JsonValue* list = reading.config.List(key);
  if (list == nullptr) return nullptr;
  for (const JsonValue& item : list->items) {
    if (item.kind == JsonKind::kInteger || item.kind == JsonKind::kNumber) continue;
    reading.config.WrongType(key, item, "a list of numbers");
    return nullptr;
  }
  if (list->items.size() == layers) return list;
  reading.config.Fault("layers_differ", key, "must have a number for every layer",
                       {{"value", std::to_string(list->items.size())}, {"expected", std::to_string(layers)}});
  return nullptr;
}

/// The width of a layer's MLP; a list says it for each.
std::int64_t WidthOfMlp(const HfReading& reading, const JsonValue* widths, std::size_t layer, std::int64_t all) {
  if (widths == nullptr) return all;
  const JsonValue& width = widths->items[layer];
  if (width.kind == JsonKind::kInteger && width.integer >= 1 && width.integer <= kSizeLimit) return width.integer;
  reading.config.WrongType("intermediate_size", width, "a list of whole numbers");
  return all;
}

bool IsSparse(const JsonValue* pattern, std::size_t layer, std::size_t layers) {
  if (pattern != nullptr) return pattern->items[layer].number > 0;
  return layers > kSparseLayers && layer < kSparseLayers;
}

/// The first of the layers that read earlier ones' keys and values.
std::size_t FirstBorrower(const HfReading& reading, std::size_t layers) {
  const std::int64_t shared = reading.config.Count(kSharedKey, 0, kLayerLimit).value_or(kSharedLayers);
  const auto most = static_cast<std::int64_t>(layers) - 1;
  if (shared <= most) return layers - static_cast<std::size_t>(shared);
  const std::string value = std::to_string(shared);
  const std::string high = std::to_string(std::max<std::int64_t>(most, 0));
  reading.config.Fault("out_of_range", kSharedKey, "must leave a layer with keys of its own",
                       {{"value", value}, {"low", "0"}, {"high", high}});
  return layers;
}

/// Every borrower reads the last layer of its kind that has keys of its own.
void SetKeySources(const HfReading& reading, std::vector<Block>& blocks) {
  const std::size_t first = FirstBorrower(reading, blocks.size());
  const auto attention = [&blocks](std::size_t layer) -> Attention& {
    return std::get<Attention>(blocks[layer].mixer);
  };
  const auto kind = [&](std::size_t layer) -> std::size_t { return attention(layer).window > 0 ? 0 : 1; };
  std::array<bool, kLenders> found{};
  for (std::size_t layer = first; layer-- > 0;) {
    if (std::exchange(found[kind(layer)], true)) continue;
    attention(layer).keys = KeySource::kLent;
    attention(layer).lender = kind(layer);
  }
  for (std::size_t layer = first; layer < blocks.size(); ++layer) {
    attention(layer).keys = KeySource::kBorrowed;
    attention(layer).lender = kind(layer);
    if (found[kind(layer)]) continue;
    reading.config.Fault("out_of_range", kSharedKey, "must leave a layer of each kind with keys of its own",
                         {{"value", std::to_string(blocks.size() - first)}, {"low", "0"}});
    return;
  }
}

StreamLayer ReadStreamLayer(const HfReading& reading, std::int64_t hidden) {
  const std::int64_t streams = Or(reading, "altup_num_inputs", kStreamLimit, kStreams);
  const std::int64_t rank = Or(reading, "laurel_rank", kSizeLimit, kRank);
  const std::int64_t width = WidthOf(reading);
  StreamLayer layer;
  layer.streams = streams;
  layer.router = {"altup.modality_router", hidden, streams};
  layer.prediction = {"altup.prediction_coefs", streams, streams * streams};
  layer.correction = {"altup.correction_coefs", streams, streams};
  layer.prediction.stays_plain = layer.correction.stays_plain = true;
  for (LinearShape* matrix : {&layer.router, &layer.prediction, &layer.correction}) matrix->any_rank = true;
  layer.scales_corrected = reading.config.Flag("altup_correct_scale").value_or(true);
  layer.left = {"laurel.linear_left", hidden, rank};
  layer.right = {"laurel.linear_right", rank, hidden};
  layer.gate = {"per_layer_input_gate", hidden, width};
  layer.projection = {"per_layer_projection", width, hidden};
  if (reading.config.IsNull("altup_coef_clip")) {
    reading.config.Fault("not_modelled", "altup_coef_clip",
                         "must be a number, as coefficients without a limit are not modelled yet", {{"value", "null"}});
  }
  return layer;
}

}  // namespace

std::vector<LayerRun> ReadStreamLayers(const HfReading& reading, const HfSizes& sizes, const Block& block,
                                       const std::vector<bool>& slides, std::int64_t window) {
  const auto layers = static_cast<std::size_t>(std::max<std::int64_t>(sizes.layers, 0));
  const JsonValue* widths = ReadList(reading, "intermediate_size", layers, true);
  const JsonValue* pattern = ReadList(reading, "activation_sparsity_pattern", layers, false);
  Block whole = block;
  whole.streams = ReadStreamLayer(reading, sizes.hidden);
  auto& attention = std::get<Attention>(whole.mixer);
  attention.norms_values = true;
  attention.score_softcap = false;  // the class has it for logits alone
  std::vector<Block> blocks(layers, whole);
  for (std::size_t i = 0; i < layers; ++i) {
    Mlp mlp = ReadMlp(reading, sizes.hidden, WidthOfMlp(reading, widths, i, sizes.ffn));
    mlp.names_parts = true;
    mlp.sparse_gate = IsSparse(pattern, i, layers);
    blocks[i].feed_forward = mlp;
    if (i < slides.size() && slides[i]) std::get<Attention>(blocks[i].mixer).window = window;
  }
  if (!blocks.empty()) SetKeySources(reading, blocks);
  std::vector<Block> kinds;
  std::vector<std::size_t> order;
  for (const Block& made : blocks) {
    const auto known = std::find(kinds.begin(), kinds.end(), made);
    order.push_back(static_cast<std::size_t>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(made);
  }
  return FoldLayers(kinds, order);
}

void ReadStreams(HfReading& reading, const HfSizes& sizes, Architecture& model) {
  constexpr std::string_view kStreamsKey[] = {"altup_num_inputs"};
  constexpr std::string_view kRowsKey[] = {"vocab_size_per_layer_input"};
  constexpr std::string_view kWidthKey[] = {"hidden_size_per_layer_input"};
  if (reading.config.Find(kSharedKey) == nullptr) reading.Assume(kSharedKey, std::to_string(kSharedLayers));
  Streams& streams = model.streams.emplace();
  streams.count = reading.Sized(kStreamsKey, kStreamLimit, kStreams);
  streams.rows = reading.Sized(kRowsKey, kRowLimit, kRows);
  streams.width = reading.Sized(kWidthKey, kSizeLimit, kWidth);
  const std::int64_t hidden = sizes.hidden;
  streams.inputs = {"per_layer_model_projection", hidden, sizes.layers * streams.width};
  streams.entry = {"altup_projections.*", hidden, hidden};
  streams.exit = {"altup_unembed_projections.*", hidden, hidden};
}

}  // namespace tunefit
