// Mixers other than ordinary attention, and which layers have them.
#include "core/codec/hf_mixers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/codec/hf_parts.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// A key that the class needs: required, at least one.
std::int64_t Need(const HfReading& reading, std::string_view key) {
  const std::string_view names[] = {key};
  return reading.Required(names, kSizeLimit);
}

/// A key with a class's default.
std::int64_t Or(const HfReading& reading, std::string_view key, std::int64_t by_default) {
  return reading.config.Count(key, 1, kSizeLimit).value_or(by_default);
}

/// Sources: transformers' DeepseekV2Attention, DeepseekV3Attention, DeepseekV32Indexer.
LatentAttention ReadLatent(const HfReading& reading, const HfSizes& sizes) {
  const ObjectReader& config = reading.config;
  const bool bias = config.Flag("attention_bias").value_or(false);
  LatentAttention mixer;
  mixer.query_rank = Or(reading, "q_lora_rank", config.IsNull("q_lora_rank") ? 0 : 1536);
  mixer.kv_rank = Need(reading, "kv_lora_rank");
  mixer.plain_dim = Need(reading, "qk_nope_head_dim");
  mixer.turned_dim = Need(reading, "qk_rope_head_dim");
  const std::int64_t value_dim = Need(reading, "v_head_dim");
  mixer.scores = ReadAttention(reading, sizes);
  mixer.scores.kv_heads = sizes.heads;
  mixer.scores.head_dim = mixer.plain_dim + mixer.turned_dim;
  mixer.scores.value_dim = value_dim;
  mixer.complex_rotary = reading.family.complex_rotary;
  const std::int64_t query_width = sizes.heads * mixer.scores.head_dim;
  if (mixer.query_rank > 0) {
    mixer.query = {"q_a_proj", sizes.hidden, mixer.query_rank, bias};
    mixer.query_up = {"q_b_proj", mixer.query_rank, query_width, false};
  } else {
    mixer.query = {"q_proj", sizes.hidden, query_width, false};
  }
  mixer.kv_down = {"kv_a_proj_with_mqa", sizes.hidden, mixer.kv_rank + mixer.turned_dim, bias};
  mixer.kv_up = {"kv_b_proj", mixer.kv_rank, sizes.heads * (mixer.plain_dim + value_dim), false};
  mixer.output = {"o_proj", sizes.heads * value_dim, sizes.hidden, bias};
  if (!reading.family.indexer) return mixer;
  Indexer& indexer = mixer.indexer;
  indexer.heads = Need(reading, "index_n_heads");
  indexer.head_dim = Need(reading, "index_head_dim");
  indexer.top_k = Or(reading, "index_topk", 2048);
  indexer.query = {"indexer.wq_b", mixer.query_rank, indexer.heads * indexer.head_dim, false};
  indexer.key = {"indexer.wk", sizes.hidden, indexer.head_dim, false};
  indexer.weights = {"indexer.weights_proj", sizes.hidden, indexer.heads, false};
  return mixer;
}

/// Source: transformers' JambaMambaMixer.
Mamba1 ReadMamba1(const HfReading& reading, const HfSizes& sizes) {
  const ObjectReader& config = reading.config;
  const bool bias = config.Flag("mamba_proj_bias").value_or(false);
  Mamba1 mixer;
  mixer.inner = Or(reading, "mamba_expand", 2) * sizes.hidden;
  mixer.state = Or(reading, "mamba_d_state", 16);
  const JsonValue* rank = config.Find("mamba_dt_rank");
  const bool automatic = rank == nullptr || rank->kind == JsonKind::kText;
  mixer.step_rank = automatic ? (sizes.hidden + 15) / 16 : Or(reading, "mamba_dt_rank", 1);
  mixer.convolution = {mixer.inner, Or(reading, "mamba_d_conv", 4), config.Flag("mamba_conv_bias").value_or(true)};
  mixer.in = {"mamba.in_proj", sizes.hidden, 2 * mixer.inner, bias};
  mixer.parameters = {"mamba.x_proj", mixer.inner, mixer.step_rank + 2 * mixer.state, false};
  mixer.step = {"mamba.dt_proj", mixer.step_rank, mixer.inner, true};
  mixer.out = {"mamba.out_proj", mixer.inner, sizes.hidden, bias};
  return mixer;
}

/// Nemotron-H's names for Mamba's sizes. Source: transformers' NemotronHMamba2Mixer.
Mamba2 ReadNemotronMamba(const HfReading& reading, const HfSizes& sizes) {
  Mamba2 mixer;
  mixer.heads = Need(reading, "mamba_num_heads");
  mixer.head_dim = Need(reading, "mamba_head_dim");
  mixer.state = Need(reading, "ssm_state_size");
  mixer.groups = Need(reading, "n_groups");
  mixer.chunk = Or(reading, "chunk_size", 128);
  const bool bias = reading.config.Flag("use_bias").value_or(false);
  const std::int64_t states = 2 * mixer.groups * mixer.state;
  mixer.convolution = {mixer.inner() + states, Or(reading, "conv_kernel", 4),
                       reading.config.Flag("use_conv_bias").value_or(true)};
  mixer.in = {"mixer.in_proj", sizes.hidden, 2 * mixer.inner() + states + mixer.heads, bias};
  mixer.out = {"mixer.out_proj", mixer.inner(), sizes.hidden, bias};
  return mixer;
}

/// Source: transformers' GraniteMoeHybridMambaLayer.
Mamba2 ReadMamba2(const HfReading& reading, const HfSizes& sizes) {
  if (reading.config.Find("mamba_num_heads") != nullptr) return ReadNemotronMamba(reading, sizes);
  const ObjectReader& config = reading.config;
  Mamba2 mixer;
  mixer.heads = Need(reading, "mamba_n_heads");
  const JsonValue* width = config.Find("mamba_d_head");
  const bool automatic = width == nullptr || width->kind == JsonKind::kText;
  const std::int64_t expanded = Or(reading, "mamba_expand", 2) * sizes.hidden;
  mixer.head_dim = automatic ? expanded / std::max<std::int64_t>(mixer.heads, 1) : Need(reading, "mamba_d_head");
  mixer.state = Need(reading, "mamba_d_state");
  mixer.groups = Or(reading, "mamba_n_groups", 1);
  mixer.chunk = Or(reading, "mamba_chunk_size", 256);
  const bool bias = config.Flag("mamba_proj_bias").value_or(false);
  const std::int64_t states = 2 * mixer.groups * mixer.state;
  mixer.convolution = {mixer.inner() + states, Or(reading, "mamba_d_conv", 4),
                       config.Flag("mamba_conv_bias").value_or(true)};
  mixer.in = {"mamba.in_proj", sizes.hidden, 2 * mixer.inner() + states + mixer.heads, bias};
  mixer.out = {"mamba.out_proj", mixer.inner(), sizes.hidden, bias};
  return mixer;
}

/// Sources: transformers' Qwen3NextGatedDeltaNet and Qwen3_5GatedDeltaNet.
GatedDelta ReadGatedDelta(const HfReading& reading, const HfSizes& sizes) {
  GatedDelta mixer;
  mixer.key_heads = Need(reading, "linear_num_key_heads");
  mixer.value_heads = Need(reading, "linear_num_value_heads");
  mixer.key_dim = Need(reading, "linear_key_head_dim");
  mixer.value_dim = Need(reading, "linear_value_head_dim");
  const std::int64_t keys = mixer.key_heads * mixer.key_dim;
  const std::int64_t values = mixer.value_heads * mixer.value_dim;
  mixer.convolution = {2 * keys + values, Or(reading, "linear_conv_kernel_dim", 4), false};
  mixer.joined = reading.family.joined_delta;
  if (mixer.joined) {
    mixer.qkvz = {"in_proj_qkvz", sizes.hidden, 2 * keys + 2 * values, false};
    mixer.gates = {"in_proj_ba", sizes.hidden, 2 * mixer.value_heads, false};
  } else {
    mixer.qkv = {"in_proj_qkv", sizes.hidden, 2 * keys + values, false};
    mixer.z = {"in_proj_z", sizes.hidden, values, false};
    mixer.beta = {"in_proj_b", sizes.hidden, mixer.value_heads, false};
    mixer.decay = {"in_proj_a", sizes.hidden, mixer.value_heads, false};
  }
  mixer.out = {"linear_attn.out_proj", values, sizes.hidden, false};
  return mixer;
}

/// Source: transformers' MiniMaxLightningAttention.
LightningAttention ReadLightning(const HfReading& reading, const HfSizes& sizes) {
  LightningAttention mixer;
  mixer.heads = sizes.heads;
  mixer.head_dim = sizes.head_dim;
  mixer.block = Or(reading, "block_size", 256);
  const std::int64_t width = sizes.heads * sizes.head_dim;
  mixer.qkv = {"qkv_proj", sizes.hidden, 3 * width, false};
  mixer.out = {"out_proj", width, sizes.hidden, false};
  mixer.gate = {"output_gate", sizes.hidden, width, false};
  return mixer;
}

/// Source: transformers' Lfm2ShortConv.
ShortConvolution ReadShortConvolution(const HfReading& reading, const HfSizes& sizes) {
  const bool bias = reading.config.Flag("conv_bias").value_or(false);
  ShortConvolution mixer;
  mixer.convolution = {sizes.hidden, Or(reading, "conv_L_cache", 3), bias};
  mixer.in = {"in_proj", sizes.hidden, 3 * sizes.hidden, bias};
  mixer.out = {"conv.out_proj", sizes.hidden, sizes.hidden, bias};
  return mixer;
}

std::optional<Mixer> ReadOther(const HfReading& reading, const HfSizes& sizes) {
  switch (reading.family.other_mixer) {
    case OtherMixer::kNone:
      return std::nullopt;
    case OtherMixer::kLatent:
      return ReadLatent(reading, sizes);
    case OtherMixer::kMamba1:
      return ReadMamba1(reading, sizes);
    case OtherMixer::kMamba2:
      return ReadMamba2(reading, sizes);
    case OtherMixer::kGatedDelta:
      return ReadGatedDelta(reading, sizes);
    case OtherMixer::kLightning:
      return ReadLightning(reading, sizes);
    case OtherMixer::kShortConvolution:
      break;
  }
  return ReadShortConvolution(reading, sizes);
}

/// A list that must name every layer once.
bool NamesEveryLayer(const HfReading& reading, std::string_view key, std::size_t named, std::int64_t layers) {
  if (static_cast<std::int64_t>(named) == layers) return true;
  const std::string value = std::to_string(named);
  reading.config.Fault("layers_differ", key, "must name every layer once",
                       {{"value", value}, {"expected", std::to_string(layers)}});
  return false;
}

LayerKind KindOf(std::string_view type, bool single) {
  if (type == "mlp") return LayerKind::kMlpOnly;
  if (type == "moe") return LayerKind::kExpertsOnly;
  const bool attention = type == "attention" || type == "full_attention";
  if (single) return attention ? LayerKind::kAttentionOnly : LayerKind::kOtherOnly;
  return attention ? LayerKind::kAttention : LayerKind::kOther;
}

/// A list of names, one a layer.
std::vector<LayerKind> ReadLayerTypes(const HfReading& reading, std::string_view key, std::int64_t layers) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "attention", "full_attention", "mamba", "conv", "linear_attention", "mlp", "moe"};
  std::vector<LayerKind> kinds;
  const auto types = reading.config.Texts(key, kLayerLimit);
  if (!types || !NamesEveryLayer(reading, key, types->size(), layers)) return kinds;
  const bool single = reading.family.mixer_layers == MixerLayers::kSingleParts;
  for (std::size_t i = 0; i < types->size(); ++i) {
    const std::string_view type = (*types)[i];
    if (std::find(kNames.begin(), kNames.end(), type) == kNames.end()) {
      reading.config.UnknownValue(Join({key, ".", std::to_string(i)}), type, kNames);
    }
    kinds.push_back(KindOf(type, single));
  }
  return kinds;
}

/// Nemotron-H's `hybrid_override_pattern`: a letter a layer, M a Mamba layer, * attention, - an MLP, E experts.
std::vector<LayerKind> ReadPattern(const HfReading& reading, std::int64_t layers) {
  static constexpr std::string_view kKey = "hybrid_override_pattern";
  static constexpr std::string_view kLetters = "M*E-";
  static constexpr LayerKind kKinds[] = {LayerKind::kOtherOnly, LayerKind::kAttentionOnly, LayerKind::kExpertsOnly,
                                         LayerKind::kMlpOnly};
  std::vector<LayerKind> kinds;
  const auto pattern = reading.config.Text(kKey, kLayerLimit);
  if (!pattern || !NamesEveryLayer(reading, kKey, pattern->size(), layers)) return kinds;
  for (const char letter : *pattern) {
    const std::size_t kind = kLetters.find(letter);
    if (kind == kLetters.npos) {
      static constexpr std::string_view kNames[] = {"M", "*", "E", "-"};
      reading.config.UnknownValue(kKey, std::string(1, letter), kNames);
      return kinds;
    }
    kinds.push_back(kKinds[kind]);
  }
  return kinds;
}

/// One attention layer in every `period`, at `offset`.
std::vector<LayerKind> Periodic(std::int64_t layers, std::int64_t period, std::int64_t offset) {
  std::vector<LayerKind> kinds;
  for (std::int64_t i = 0; i < layers; ++i) {
    kinds.push_back(i % period == offset ? LayerKind::kAttention : LayerKind::kOther);
  }
  return kinds;
}

/// Layers named by number have attention, the others not (LFM2's older configs).
std::vector<LayerKind> ReadAttentionIndices(const HfReading& reading, std::int64_t layers) {
  const JsonValue* list = reading.config.List("full_attn_idxs");
  if (list == nullptr) return {};
  std::vector<LayerKind> kinds(static_cast<std::size_t>(layers), LayerKind::kOther);
  for (const JsonValue& item : list->items) {
    if (item.kind == JsonKind::kInteger && item.integer >= 0 && item.integer < layers) {
      kinds[static_cast<std::size_t>(item.integer)] = LayerKind::kAttention;
    }
  }
  return kinds;
}

/// MiniMax-Text-01's `attn_type_list`: 1 for attention, 0 for lightning attention.
std::vector<LayerKind> ReadAttentionFlags(const HfReading& reading, std::int64_t layers) {
  static constexpr std::string_view kKey = "attn_type_list";
  const JsonValue* list = reading.config.List(kKey);
  if (list == nullptr || !NamesEveryLayer(reading, kKey, list->items.size(), layers)) return {};
  std::vector<LayerKind> kinds;
  for (const JsonValue& item : list->items) {
    kinds.push_back(item.integer == 1 ? LayerKind::kAttention : LayerKind::kOther);
  }
  return kinds;
}

std::vector<LayerKind> ReadListedLayers(const HfReading& reading, std::int64_t layers) {
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    if (reading.config.Find(key) != nullptr) return ReadLayerTypes(reading, key, layers);
  }
  if (reading.config.Find("full_attn_idxs") != nullptr) return ReadAttentionIndices(reading, layers);
  if (reading.config.Find("attn_type_list") != nullptr) return ReadAttentionFlags(reading, layers);
  if (reading.config.Find("hybrid_override_pattern") != nullptr) return ReadPattern(reading, layers);
  // The classes' own defaults: every fourth layer (Qwen3-Next), every second (MiniMax); else the list must be there.
  if (reading.family.other_mixer == OtherMixer::kGatedDelta) {
    const std::int64_t period = Or(reading, "full_attention_interval", 4);
    return Periodic(layers, period, period - 1);
  }
  if (reading.family.other_mixer == OtherMixer::kLightning) return Periodic(layers, 2, 1);
  reading.config.Require("layer_types");
  return {};
}

}  // namespace

MixerPlan ReadMixers(const HfReading& reading, const HfSizes& sizes) {
  MixerPlan plan;
  if (sizes.layers < 1 || reading.family.other_mixer == OtherMixer::kNone) return plan;
  switch (reading.family.mixer_layers) {
    case MixerLayers::kAll:
      plan.layers.assign(static_cast<std::size_t>(sizes.layers), LayerKind::kOther);
      break;
    case MixerLayers::kPeriod:
      plan.layers = Periodic(sizes.layers, Or(reading, "attn_layer_period", 8),
                             reading.config.Count("attn_layer_offset", 0, kLayerLimit).value_or(4));
      break;
    case MixerLayers::kListed:
    case MixerLayers::kSingleParts:
      plan.layers = ReadListedLayers(reading, sizes.layers);
      break;
  }
  // A model of that class without such a layer (Granite 4 micro) needs none of its keys.
  const auto is_other = [](LayerKind kind) { return kind == LayerKind::kOther || kind == LayerKind::kOtherOnly; };
  if (std::any_of(plan.layers.begin(), plan.layers.end(), is_other)) plan.other = ReadOther(reading, sizes);
  return plan;
}

}  // namespace tunefit
