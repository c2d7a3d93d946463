// Gemma 3n's towers for images and sound, as transformers' modeling_gemma3n.py has them: a network of timm's, a
// conformer, and an embedder for the tokens of each.
#include <array>
#include <string>

#include "core/codec/hf_tower_parts.h"
#include "core/codec/hf_vision.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// Parameters of timm's mobilenetv5_300m_enc without a classifier: what is left of the totals that the hub states for
/// gemma-3n-E2B and gemma-3n-E4B (5,439,438,272 and 7,849,978,192) without language model, conformer and embedders, the
/// same in both. timm prints 294.1 million. Convolutions, norms and scales: no torch.nn.Linear is among them.
constexpr std::int64_t kMobileNetV5 = 294126912;
constexpr std::string_view kMobileNetV5Name = "mobilenetv5_300m_enc";

// Gemma3nVisionConfig's and Gemma3nAudioConfig's.
constexpr std::int64_t kImageHidden = 2048;
constexpr std::int64_t kSoundHidden = 1536;
constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kConformers = 12;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kKernel = 5;
constexpr std::int64_t kFrequencies = 128;
constexpr std::array<std::int64_t, 2> kChannels = {128, 32};
constexpr std::int64_t kSide = 3;
constexpr std::int64_t kStride = 2;

/// A convolution of the subsampling, over time and frequency.
struct Subsampling {
  std::int64_t channels, height, width, stride;
};

/// The i-th number of a list, as far as it is one; the class's where there is none.
std::int64_t NumberAt(const JsonValue* list, std::size_t i, std::int64_t by_default) {
  if (list == nullptr || list->kind != JsonKind::kList || i >= list->items.size()) return by_default;
  const JsonValue& item = list->items[i];
  return item.kind == JsonKind::kInteger && item.integer >= 1 && item.integer <= kSizeLimit ? item.integer : by_default;
}

const JsonValue* ListAt(const JsonValue* list, std::size_t i) {
  return list != nullptr && i < list->items.size() ? &list->items[i] : nullptr;
}

Subsampling ReadSubsampling(const ObjectReader& audio, std::size_t i) {
  const JsonValue* side = ListAt(audio.List("sscp_conv_kernel_size"), i);
  const JsonValue* stride = ListAt(audio.List("sscp_conv_stride_size"), i);
  return {NumberAt(audio.List("sscp_conv_channel_size"), i, kChannels[i]), NumberAt(side, 0, kSide),
          NumberAt(side, 1, kSide), NumberAt(stride, 1, kStride)};
}

/// Gemma3nAudioSubSampleConvProjection: two convolutions with a norm each, then one matrix. Frequencies are padded by
/// one on either side.
TowerPart ReadEar(const ObjectReader& audio, std::int64_t hidden) {
  std::int64_t channels = 1;
  std::int64_t frequencies = audio.Count("input_feat_size", 1, kSizeLimit).value_or(kFrequencies);
  TowerPart part;
  for (std::size_t i = 0; i < kChannels.size(); ++i) {
    const Subsampling layer = ReadSubsampling(audio, i);
    part.others += layer.channels * (channels * layer.height * layer.width + 1);
    frequencies = (frequencies + 2 - layer.width) / layer.stride + 1;
    channels = layer.channels;
  }
  part.matrices = {{"model.audio_tower.subsample_conv_projection.input_proj_linear", channels * frequencies, hidden}};
  return part;
}

/// Gemma3nAudioConformerBlock: two MLPs with two norms each, attention with relative positions, two norms and a scale
/// for each dimension of a head, a convolution between two matrices with two norms, and a norm at the end.
TowerPart ReadConformer(const ObjectReader& audio, std::int64_t hidden) {
  const std::int64_t heads = audio.Count("conf_num_attention_heads", 1, kSizeLimit).value_or(kHeads);
  const std::int64_t kernel = audio.Count("conf_conv_kernel_size", 1, kSizeLimit).value_or(kKernel);
  constexpr std::int64_t kNorms = 9;
  const std::int64_t wide = 4 * hidden;
  TowerPart part;
  part.count = audio.Count("conf_num_hidden_layers", 1, kLayerLimit).value_or(kConformers);
  part.matrices = {
      {"model.audio_tower.conformer.*.ffw_layer_start.ffw_layer_1", hidden, wide},
      {"model.audio_tower.conformer.*.ffw_layer_start.ffw_layer_2", wide, hidden},
      {"model.audio_tower.conformer.*.attention.attn.relative_position_embedding.pos_proj", hidden, hidden},
      {"model.audio_tower.conformer.*.attention.attn.q_proj", hidden, hidden},
      {"model.audio_tower.conformer.*.attention.attn.k_proj", hidden, hidden},
      {"model.audio_tower.conformer.*.attention.attn.v_proj", hidden, hidden},
      {"model.audio_tower.conformer.*.attention.post", hidden, hidden},
      {"model.audio_tower.conformer.*.lconv1d.linear_start", hidden, 2 * hidden},
      {"model.audio_tower.conformer.*.lconv1d.linear_end", hidden, hidden},
      {"model.audio_tower.conformer.*.ffw_layer_end.ffw_layer_1", hidden, wide},
      {"model.audio_tower.conformer.*.ffw_layer_end.ffw_layer_2", wide, hidden}};
  part.others = (kNorms + kernel) * hidden + hidden / heads;
  if (hidden % heads != 0) {
    const std::string value = std::to_string(heads);
    const std::string size = std::to_string(hidden);
    audio.Fault("heads_do_not_divide", "conf_num_attention_heads",
                Join({"must divide the tower's hidden size: ", size, " cannot be shared by ", value, " heads"}),
                {{"value", value}, {"hidden_size", size}});
  }
  return part;
}

/// Gemma3nMultimodalEmbedder.
TokenEmbedder ReadEmbedder(const ObjectReader& config, const char* path, const char* projection, std::int64_t hidden,
                           std::int64_t text_hidden) {
  const std::int64_t rows = config.Count("vocab_size", 1, kSizeLimit).value_or(kTokens);
  return {path, rows, hidden, {projection, hidden, text_hidden}};
}

}  // namespace

VisionTower ReadGemma3n(const HfReading& vision, const ObjectReader& whole, std::int64_t text_hidden) {
  const std::string_view network = vision.config.Text("architecture").value_or(kMobileNetV5Name);
  if (network != kMobileNetV5Name) {
    const std::string value = Shortened(network);
    vision.config.Fault("not_modelled", "architecture",
                        Join({"is \"", value, "\"; of timm's networks only ", kMobileNetV5Name, " is modelled so far"}),
                        {{"value", value}});
  }
  VisionTower tower;
  tower.block.mixer = NoPart();
  tower.block.feed_forward = NoPart();
  tower.parts = {{.others = kMobileNetV5}};
  const std::int64_t seen = vision.config.Count("hidden_size", 1, kSizeLimit).value_or(kImageHidden);
  tower.embedders = {
      ReadEmbedder(vision.config, "embed_vision", "model.embed_vision.embedding_projection", seen, text_hidden)};
  const ObjectReader audio(whole, "audio_config");  // the class has the tower also where the config is silent
  const std::int64_t heard = audio.Count("hidden_size", 1, kSizeLimit).value_or(kSoundHidden);
  tower.parts.push_back(ReadEar(audio, heard));
  tower.parts.push_back(ReadConformer(audio, heard));
  tower.embedders.push_back(
      ReadEmbedder(audio, "embed_audio", "model.embed_audio.embedding_projection", heard, text_hidden));
  return tower;
}

}  // namespace tunefit
