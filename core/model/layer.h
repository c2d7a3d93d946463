#pragma once

#include <cstdint>
#include <variant>

#include "core/model/feed_forward.h"
#include "core/model/linear.h"

namespace tunefit {

/// How a module projects to queries, keys and values.
enum class QkvLayout : std::uint8_t {
  kSeparate,  ///< q, k and v are matrices of their own
  kFused,     ///< one matrix, split afterwards (GPT-2 c_attn, InternLM2 wqkv, Qwen 1 c_attn)
};

struct Attention {
  QkvLayout layout = QkvLayout::kSeparate;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  /// kSeparate: q, k, v, output. kFused: qkv, (unused), (unused), output.
  LinearShape query, key, value, output;
  bool rotary = true;          ///< rotary positions on q and k
  bool head_norm = false;      ///< an RMS norm of head_dim on every q and k head (Qwen3)
  bool score_softcap = false;  ///< tanh soft-capping of the scores, in eager attention (Gemma 2)
  std::int64_t window = 0;     ///< tokens of a sliding window; 0 for none
  double dropout = 0;          ///< of the attention probabilities, as the config sets it

  bool operator==(const Attention&) const = default;
};

/// What mixes the tokens of a sequence, and what then works on each token by itself. A new kind is one more
/// alternative: its shapes here, `ForEachMatrix` and `CountBlock`, its module and forward pass in core/trace.
using Mixer = std::variant<Attention>;
using FeedForward = std::variant<Mlp, Experts>;

/// Where the norms of a layer stand, and how its two parts join the residual stream.
enum class Arrangement : std::uint8_t {
  kPreNorm,       ///< x + part(norm(x)), twice (Llama, GPT-2)
  kSandwichNorm,  ///< x + norm(part(norm(x))), twice (Gemma 2)
};

/// One layer of a decoder.
struct Block {
  Arrangement arrangement = Arrangement::kPreNorm;
  NormKind norm = NormKind::kRmsNorm;
  Mixer mixer;
  FeedForward feed_forward;
  double residual_dropout = 0;   ///< GPT-2: dropout on the output of attention and of the MLP
  bool scales_residual = false;  ///< Granite: outputs are multiplied by residual_multiplier

  bool operator==(const Block&) const = default;
};

/// Calls `visit` for every matrix of a layer that is a module of its own, so that an adapter may sit on it, in the
/// order of the library's modules.
template <typename Visit>
void ForEachMatrix(const Attention& attention, Visit visit) {
  visit(attention.query);
  if (attention.layout == QkvLayout::kSeparate) {
    visit(attention.key);
    visit(attention.value);
  }
  visit(attention.output);
}

template <typename Visit>
void ForEachMatrix(const Block& block, Visit visit) {
  std::visit([&visit](const auto& mixer) { ForEachMatrix(mixer, visit); }, block.mixer);
  std::visit([&visit](const auto& feed_forward) { ForEachMatrix(feed_forward, visit); }, block.feed_forward);
}

}  // namespace tunefit
