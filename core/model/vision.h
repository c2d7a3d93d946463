#pragma once

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
  std::vector<VisionProjector> projectors;
};

/// Calls `visit` for every matrix that an adapter may sit on.
template <typename Visit>
void ForEachMatrix(const VisionTower& tower, Visit visit) {
  if (tower.patches_are_linear) visit(tower.patches);
  ForEachMatrix(tower.block, visit);
  for (const VisionProjector& projector : tower.projectors) {
    if (!projector.is_module) continue;
    for (const LinearShape& matrix : projector.matrices) visit(matrix);
  }
}

}  // namespace tunefit
