#pragma once

#include <cstddef>
#include <cstdint>

#include "core/model/linear.h"

namespace tunefit {

/// How a module projects to queries, keys and values.
enum class QkvLayout : std::uint8_t {
  kSeparate,     ///< q, k and v are matrices of their own
  kFused,        ///< one matrix, split afterwards (GPT-2 c_attn, InternLM2 wqkv, GPT-NeoX query_key_value)
  kFusedSlices,  ///< one matrix of which three slices are taken: each gradient is as large as all (Phi-3, BLOOM)
  kFusedPicks,   ///< the same, but keys and values are picked by index, which copies them (Falcon)
  kJoinedParts,  ///< one matrix whose three parts are adapted apart; the shapes are those of the parts (LitGPT)
  /// The same, its rows by groups of query heads with their key and value head: shared heads are written out before
  /// they turn (LitGPT until 2025-01).
  kJoinedGroups,
};

constexpr bool IsJoined(QkvLayout layout) {
  return layout == QkvLayout::kJoinedParts || layout == QkvLayout::kJoinedGroups;
}

/// Queries, keys and values have shapes of their own.
constexpr bool HasParts(QkvLayout layout) { return layout == QkvLayout::kSeparate || IsJoined(layout); }

/// How positions turn queries and keys.
enum class Rotary : std::uint8_t {
  kNone,
  kHalves,       ///< x * cos + cat(-second half, first half) * sin (Llama)
  kPairs,        ///< neighbours are stacked instead of halves joined (GPT-J, GLM)
  kPairsFp32,    ///< the same in fp32, cast back (Cohere)
  kPairsSpread,  ///< the same, where every layer spreads half tables over the pairs (ERNIE 4.5)
  kComplex,      ///< a product of complex numbers in fp32, cast back (Llama 4)
  kCutHalves,    ///< halves turned apart and joined; the tables are half as wide (gpt-oss)
};

/// What is normalized of queries and keys before they are turned.
enum class QkNorm : std::uint8_t {
  kNone,
  kHead,       ///< every head, by one vector of head_dim (Qwen3, Gemma 3)
  kWhole,      ///< all heads of a token together, by one vector of their whole width (OLMo 2)
  kEveryHead,  ///< every head, by a vector of its own (Command R+, StableLM 2 12B)
};

/// How attention is written out where no fused kernel runs.
enum class EagerStyle : std::uint8_t {
  kFp32Softmax,    ///< scores in the compute dtype, softmax in fp32, cast back (Llama)
  kOwnSoftmax,     ///< softmax in the scores' dtype; autocast makes it fp32 (BERT)
  kTypedSoftmax,   ///< softmax asked for in the hidden states' dtype (Falcon)
  kFp32Scores,     ///< queries and keys cast to fp32 before the product (GPT-J, GPT-Neo)
  kSinks,          ///< a column for the sinks joined to the scores, softmax in their dtype (gpt-oss)
  kBiasedProduct,  ///< the product is added to the ALiBi bias in one operation (BLOOM)
  kBiasInPlace,    ///< the bias is added to the scores in place; softmax in fp32, cast back (T5)
  kDisentangled,   ///< contents and distances apart; forbidden scores filled in, softmax in their dtype (DeBERTa)
};

/// Additions to the scores that stand for positions.
enum class ScoreBias : std::uint8_t {
  kNone,
  kAlibi,         ///< a line for every head, made once by the model (BLOOM, MPT)
  kAlibiPerPair,  ///< a matrix for every head, added to the mask (Baichuan 13B)
  kRelative,      ///< a trained number for every head and distance, made by a stack's first layer for all (T5)
};

/// Whether the class of transformers wrote shared heads out for FlashAttention too, as MistralFlashAttention2 did.
enum class FlashHeads : std::uint8_t {
  kGrouped,         ///< never
  kRepeated,        ///< until the attention interface of 4.48
  kRepeatedLonger,  ///< until its own conversion, in mid-2025
};

/// Whose keys and values a layer attends to (Gemma 3n, from transformers 5.7 on also without a cache).
enum class KeySource : std::uint8_t {
  kOwn,
  kLent,      ///< its own, which later layers read too
  kBorrowed,  ///< those of the layer that lends them: it has no matrices for any
};

/// Layers that lend keys and values: one with a sliding window, one without.
constexpr std::size_t kLenders = 2;

struct Attention {
  QkvLayout layout = QkvLayout::kSeparate;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t value_dim = 0;  ///< width of a value head where it is another; 0: head_dim
  /// With parts: q, k, v, output. Fused: qkv, (unused), (unused), output.
  LinearShape query, key, value, output;
  Rotary rotary = Rotary::kHalves;
  std::int64_t rotary_dim = 0;  ///< how much of a head turns; 0: all of it, without cutting and joining
  QkNorm qk_norm = QkNorm::kNone;
  NormKind qk_norm_kind = NormKind::kRmsNorm;
  EagerStyle eager = EagerStyle::kFp32Softmax;
  ScoreBias score_bias = ScoreBias::kNone;
  bool stretches_heads = false;  ///< sdpa is given shared heads as a view that repeats them (Falcon 7B)
  FlashHeads flash_heads = FlashHeads::kGrouped;
  bool repeats_fused_heads = false;  ///< shared key/value heads are copied for every query head at once (Falcon 40B)
  bool score_softcap = false;        ///< tanh soft-capping of the scores, in eager attention (Gemma 2)
  std::int64_t window = 0;           ///< tokens of a sliding window; 0 for none
  double dropout = 0;                ///< of the attention probabilities, as the config sets it

  bool norms_turned = false;  ///< queries and keys are normalized after positions turned them (Llama 4, HunYuan)
  bool output_gate = false;   ///< q is projected with a gate whose sigmoid multiplies the output (Qwen3-Next)
  /// Rows of the table that a kRelative bias is looked up in; 0 in the layers that take the first one's.
  std::int64_t relative_buckets = 0;
  bool own_relative_bias = false;  ///< every layer makes a kRelative bias of its own (UMT5)
  double distance_dropout = 0;     ///< kDisentangled: of the table that all layers read
  bool norms_values = false;       ///< values are normalized, too, without a weight (Gemma 3n)
  KeySource keys = KeySource::kOwn;
  std::size_t lender = 0;     ///< which of the lenders, where `keys` are not its own
  bool copies_heads = false;  ///< queries are scaled, and all three are copied head by head before the kernel (Whisper)
  bool sinks = false;         ///< one trained score a head that takes attention away from all keys (gpt-oss)

  /// Width of a head of values and of the output.
  std::int64_t value_width() const { return value_dim > 0 ? value_dim : head_dim; }
  /// Query heads that share a head of keys and values.
  std::int64_t sharing_heads() const { return heads / kv_heads; }
  bool operator==(const Attention&) const = default;
};

template <typename Visit>
void ForEachMatrix(const Attention& attention, Visit visit) {
  visit(attention.query);
  if (HasParts(attention.layout) && attention.keys != KeySource::kBorrowed) {
    visit(attention.key);
    visit(attention.value);
  }
  visit(attention.output);
}

}  // namespace tunefit
