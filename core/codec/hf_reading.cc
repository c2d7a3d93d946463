#include "core/codec/hf_reading.h"

#include <utility>

#include "core/codec/words.h"

namespace tunefit {
namespace {

constexpr std::int64_t kVocabLimit = 10000000;
constexpr std::int64_t kContextLimit = 100000000;

// Alternative names, the commonest first.
constexpr std::string_view kHidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", "dim"};
constexpr std::string_view kLayers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers"};
constexpr std::string_view kHeads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                       "encoder_attention_heads"};
constexpr std::string_view kKvHeads[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"};
constexpr std::string_view kHeadDim[] = {"head_dim", "kv_channels", "d_kv", "attention_head_dim"};
constexpr std::string_view kFfn[] = {"intermediate_size",    "n_inner",        "ffn_dim",
                                     "ffn_hidden_size",      "d_ff",           "hidden_dim",
                                     "ff_intermediate_size", "encoder_ffn_dim"};
constexpr std::string_view kContext[] = {
    "max_position_embeddings", "n_positions",         "n_ctx", "seq_length", "max_seq_len",
    "max_sequence_length",     "max_target_positions"};
constexpr std::string_view kVocab[] = {"vocab_size", "padded_vocab_size"};

void ReadKvHeads(HfReading& reading, HfSizes& sizes) {
  const Family& family = reading.family;
  if (family.kv_heads_are_heads || family.kv_heads_always > 0) {
    sizes.kv_heads = family.kv_heads_are_heads ? sizes.heads : family.kv_heads_always;
    return;
  }
  sizes.kv_heads = reading.Optional(kKvHeads, kSizeLimit);
  const ObjectReader attention(reading.config, "attn_config");  // DBRX has them in there
  if (attention.present()) sizes.kv_heads = attention.Count("kv_n_heads", 1, kSizeLimit).value_or(0);
  if (sizes.kv_heads != 0 || reading.Has(kKvHeads)) return;
  const bool by_class = family.kv_heads_by_default != 0 && !reading.config.IsNull(kKvHeads[0]);
  sizes.kv_heads = by_class ? family.kv_heads_by_default : sizes.heads;
  reading.Assume(kKvHeads[0], std::to_string(sizes.kv_heads));
}

void ReadHeads(HfReading& reading, HfSizes& sizes) {
  ReadKvHeads(reading, sizes);
  sizes.head_dim = reading.Optional(kHeadDim, kSizeLimit);
  if (sizes.head_dim != 0 || sizes.heads == 0 || reading.config.Find(reading.NameOf(kHeadDim)) != nullptr) return;
  if (reading.family.head_dim_by_default != 0 && !reading.config.IsNull(kHeadDim[0])) {
    sizes.head_dim = reading.family.head_dim_by_default;
    reading.Assume(kHeadDim[0], std::to_string(sizes.head_dim));
  } else if (sizes.hidden % sizes.heads == 0) {
    sizes.head_dim = sizes.hidden / sizes.heads;
  } else if (sizes.hidden != 0) {
    const std::string heads = std::to_string(sizes.heads);
    const std::string hidden = std::to_string(sizes.hidden);
    reading.config.Fault("heads_do_not_divide", reading.NameOf(kHeads),
                         Join({"must divide the hidden size, as there is no head_dim: ", hidden,
                               " cannot be shared by ", heads, " heads"}),
                         {{"value", heads}, {"hidden_size", hidden}});
  }
}

/// The width of a dense MLP. A model of experts, or of blocks that say their own width, may have none.
void ReadWidth(HfReading& reading, HfSizes& sizes) {
  const Family& family = reading.family;
  if (!reading.Has(kFfn) && !family.gated && family.sizes_by_default.ffn == 0) {
    const double ratio = reading.config.Number("expansion_ratio", 1, 64).value_or(4);  // MPT
    sizes.ffn = static_cast<std::int64_t>(ratio * static_cast<double>(sizes.hidden));
    return;
  }
  const std::int64_t limit = family.widths_in_ffn * kSizeLimit;
  if (!family.width_key.empty() && reading.config.Find(family.width_key) != nullptr) {
    sizes.ffn = reading.config.Count(family.width_key, 1, limit).value_or(0);
    return;
  }
  if (family.streams && reading.Has(kFfn)) {  // one for each layer, or one for all
    sizes.ffn = reading.RequiredFirst(kFfn, limit);
    return;
  }
  const bool may_lack = family.experts != nullptr || reading.config.Find("block_configs") != nullptr;
  sizes.ffn = may_lack ? reading.Optional(kFfn, limit) : reading.Sized(kFfn, limit, family.sizes_by_default.ffn);
  if (sizes.ffn % reading.family.widths_in_ffn != 0) {
    const std::string value = std::to_string(sizes.ffn);
    reading.config.Fault("not_even", reading.NameOf(kFfn),
                         Join({"must be even, as this model type counts two matrices in it, not ", value}),
                         {{"value", value}});
  }
  sizes.ffn /= reading.family.widths_in_ffn;
}

}  // namespace

std::string_view HfReading::NameOf(HfNames names) const {
  for (const std::string_view name : names) {
    if (config.Find(name) != nullptr) return name;
  }
  return names.front();
}

std::int64_t HfReading::Optional(HfNames names, std::int64_t limit) const {
  return config.Count(NameOf(names), 1, limit).value_or(0);
}

std::int64_t HfReading::Required(HfNames names, std::int64_t limit) const {
  config.Require(NameOf(names));
  return Optional(names, limit);
}

std::int64_t HfReading::Sized(HfNames names, std::int64_t limit, std::int64_t by_default) {
  if (by_default == 0 || Has(names)) return Required(names, limit);
  Assume(names.front(), std::to_string(by_default));
  return by_default;
}

std::int64_t HfReading::RequiredFirst(HfNames names, std::int64_t limit) const {
  const JsonValue* value = config.Find(NameOf(names));
  const bool listed = value != nullptr && value->kind == JsonKind::kList && !value->items.empty();
  if (!listed) return Required(names, limit);
  const JsonValue& first = value->items.front();
  const bool counts = first.kind == JsonKind::kInteger && first.integer >= 1 && first.integer <= limit;
  if (!counts) config.WrongType(NameOf(names), first, "a list of numbers");
  return counts ? first.integer : 0;
}

void HfReading::Assume(std::string_view key, std::string value) {
  assumptions.push_back({.field = config.PathTo(key), .value = std::move(value), .reason = "class_default"});
}

HfSizes ReadHfSizes(HfReading& reading) {
  HfSizes sizes;
  const DefaultSizes& by_default = reading.family.sizes_by_default;
  sizes.hidden = reading.Sized(kHidden, kSizeLimit, by_default.hidden);
  sizes.layers = reading.Sized(kLayers, kLayerLimit, by_default.layers);
  sizes.heads = reading.Sized(kHeads, kSizeLimit, by_default.heads);
  sizes.vocab = reading.Sized(kVocab, kVocabLimit, by_default.vocab);
  sizes.context = reading.Optional(kContext, kContextLimit);
  if (sizes.context == 0 && by_default.context > 0) {
    sizes.context = by_default.context;
    reading.Assume(kContext[0], std::to_string(sizes.context));
  }
  if (reading.family.learned_positions && sizes.context == 0) {
    sizes.context = 1024;  // GPT2Config
    reading.Assume("n_positions", "1024");
  }
  ReadHeads(reading, sizes);
  ReadWidth(reading, sizes);
  return sizes;
}

std::string_view KvHeadsName(const HfReading& reading) { return reading.NameOf(kKvHeads); }

}  // namespace tunefit
