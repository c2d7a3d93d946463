#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/model/attention.h"
#include "core/model/feed_forward.h"
#include "core/model/latent_attention.h"
#include "core/model/recurrent.h"
#include "core/model/streams.h"

namespace tunefit {

/// A layer without that part (layers that Nemotron-NAS pruned): no norm and no residual addition either.
struct NoPart {
  bool operator==(const NoPart&) const = default;
};

/// What mixes the tokens of a sequence, and what then works on each token by itself. A new kind is one more
/// alternative: its shapes here, `ForEachMatrix` and `CountBlock`, its module and forward pass in core/trace.
using Mixer =
    std::variant<Attention, LatentAttention, Mamba1, Mamba2, GatedDelta, LightningAttention, ShortConvolution, NoPart>;
using FeedForward = std::variant<Mlp, Experts, NoPart>;

/// Where the norms of a layer stand, and how its two parts join the residual stream.
enum class Arrangement : std::uint8_t {
  kPreNorm,           ///< x + part(norm(x)), twice (Llama, GPT-2)
  kSandwichNorm,      ///< x + norm(part(norm(x))), twice (Gemma 2)
  kNormAfter,         ///< x + norm(part(x)), twice (OLMo 2, EXAONE 4)
  kNormedResidual,    ///< n + part(n) with n = norm(x), both scaled, twice (MiniMax-Text)
  kPostNorm,          ///< norm(x + part(x)), twice (BERT, OPT-350m)
  kParallel,          ///< x + mixer(norm(x)) + feed_forward(norm(x)), one norm (Falcon 7B, Phi, Cohere, GPT-J)
  kParallelTwoNorms,  ///< the same with a norm for each part (GPT-NeoX, Falcon 40B)
};

/// One layer of a decoder or of an encoder.
struct Block {
  Arrangement arrangement = Arrangement::kPreNorm;
  NormKind norm = NormKind::kRmsNorm;
  Mixer mixer;
  /// Between the two: attention from the target to the encoder's output, with a norm of its own (encoder-decoders).
  std::optional<Attention> cross;
  FeedForward feed_forward;
  bool lacks_first_norm = false;  ///< the first layer of ModernBERT: the embeddings were normalized already
  double residual_dropout = 0;    ///< dropout on the output of attention and of the MLP (GPT-2)
  bool scales_residual = false;   ///< Granite: outputs are multiplied by residual_multiplier
  std::optional<StreamLayer> streams = {};

  bool operator==(const Block&) const = default;
};

template <typename Visit>
void ForEachMatrix(const NoPart& /*none*/, Visit /*visit*/) {}

/// Calls `visit` for every matrix of a layer that an adapter may sit on, in the order of the library's modules.
template <typename Visit>
void ForEachMatrix(const Block& block, Visit visit) {
  std::visit([&visit](const auto& mixer) { ForEachMatrix(mixer, visit); }, block.mixer);
  if (block.cross) ForEachMatrix(*block.cross, visit);
  std::visit([&visit](const auto& feed_forward) { ForEachMatrix(feed_forward, visit); }, block.feed_forward);
  if (block.streams) ForEachMatrix(*block.streams, visit);
}

}  // namespace tunefit
