#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/layer.h"

namespace tunefit {

/// The way from a tower's states to the language model's: a norm, then matrices in a row.
struct VisionProjector {
  std::int64_t count = 1;  ///< alike: Qwen3-VL has one more for each layer whose states join the language model's
  std::optional<NormKind> norm;
  std::int64_t norm_width = 0;
  std::vector<LinearShape> matrices;
  bool is_module = true;  ///< torch.nn.Linear, which adapters find, not a bare parameter (Gemma 3)
};

/// Layers alike that run for images only: more blocks of the tower, or layers of the language model that attend to it.
struct ImageLayers {
  Block block;
  std::int64_t hidden_size = 0;
  std::int64_t count = 0;
  std::int64_t gates = 0;    ///< trained scalars of each
  bool of_language = false;  ///< they train and are packed as the language model's layers are
};

/// A trained table of the tower's: a row for each arrangement of tiles, of so many states.
struct TowerTable {
  std::int64_t rows = 0;
  std::int64_t states = 0;
};

/// Layers alike that are no blocks: matrices that adapters find, and parameters that nothing adapts or packs (norms,
/// convolutions, scales).
struct TowerPart {
  std::int64_t count = 1;
  std::vector<LinearShape> matrices = {};
  std::int64_t others = 0;  ///< of each
};

/// Learned embeddings of the tokens that stand for an image or a sound. It runs over every token, and what it makes of
/// text is thrown away (Gemma 3n).
struct TokenEmbedder {
  const char* path = "";
  std::int64_t rows = 0;
  std::int64_t width = 0;  ///< of the table, and of one norm for it and one for the tower's states
  LinearShape projection;
};

/// What turns images into states of the language model: patches, blocks like those of an encoder, projectors. Its class
/// holds it also where no sample has an image.
struct VisionTower {
  std::int64_t hidden_size = 0;
  LinearShape patches;                       ///< from a patch's pixels
  bool patches_are_linear = false;           ///< torch.nn.Linear (Llama 4); else a convolution
  std::int64_t position_rows = 0;            ///< of a learned table; 0 with rotary positions alone
  bool class_token = false;                  ///< one trained state before the patches (Llama 4)
  std::optional<NormKind> norm_before = {};  ///< of what enters the blocks
  std::optional<NormKind> norm_after = {};
  Block block;
  std::int64_t layers = 0;
  std::vector<ImageLayers> more_layers = {};
  std::vector<TowerTable> tables = {};
  std::int64_t gates = 0;  ///< trained scalars outside the layers
  std::vector<VisionProjector> projectors = {};
  std::vector<TowerPart> parts = {};  ///< where the tower, or one for sound beside it, has no blocks
  std::vector<TokenEmbedder> embedders = {};

  /// Layers of the language model that only images reach.
  bool reaches_into_language() const {
    return std::any_of(more_layers.begin(), more_layers.end(),
                       [](const ImageLayers& more) { return more.of_language; });
  }
};

/// Calls `visit` for every matrix that an adapter may sit on.
template <typename Visit>
void ForEachMatrix(const VisionTower& tower, Visit visit) {
  if (tower.patches_are_linear) visit(tower.patches);
  ForEachMatrix(tower.block, visit);
  for (const ImageLayers& layers : tower.more_layers) ForEachMatrix(layers.block, visit);
  for (const VisionProjector& projector : tower.projectors) {
    if (!projector.is_module) continue;
    for (const LinearShape& matrix : projector.matrices) visit(matrix);
  }
  for (const TowerPart& part : tower.parts) {
    for (const LinearShape& matrix : part.matrices) visit(matrix);
  }
  for (const TokenEmbedder& embedder : tower.embedders) visit(embedder.projection);
}

}  // namespace tunefit
