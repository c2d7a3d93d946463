#pragma once

#include <cstdint>

#include "core/model/recipe.h"

namespace tunefit {

/// In what an optimizer stores a moment.
enum class MomentStore : std::uint8_t {
  kParameterDtype,  ///< as torch.zeros_like does
  kFp32,
  kBitsandbytes8bit,  ///< a byte, and an fp32 scale a block of 256; small tensors and embeddings in fp32
  kTorchao8bit,       ///< a byte, an fp32 scale a block of 256 and a table of 256 codes
  kTorchao4bit,       ///< half a byte, the same scales and a table of 16 codes
};

/// Of what size a moment is.
enum class MomentShape : std::uint8_t {
  kWhole,     ///< the parameter's
  kFactored,  ///< of a matrix its rows and its columns, in fp32 (Adafactor)
  kLowRank,   ///< of a matrix its longer side times the rank, with the matrix that projects to it (GaLore)
};

/// MEM-61  What an optimizer keeps of one parameter, and what its step takes for a moment. Copies are in units of the
/// parameter.
struct OptimizerRule {
  double moments = 2;
  MomentStore store = MomentStore::kParameterDtype;
  MomentShape shape = MomentShape::kWhole;
  double row_moments = 0;         ///< moments with one number a row, besides
  bool paged = false;             ///< in managed memory, which torch does not count
  bool step_on_device = false;    ///< a step counter of the parameter's own on the card
  bool compensates = false;       ///< 16-bit parameters keep what rounding lost, in their dtype (Kahan)
  double copies_of_all = 0;       ///< of every parameter at once, in its dtype (PyTorch's foreach)
  double copies_of_one = 0;       ///< of the parameter at hand, in its dtype
  double fp32_copies_of_one = 0;  ///< and in fp32
  double upcasts_of_one = 0;      ///< and in fp32 where the parameter is not
  bool decomposes = false;        ///< a singular value decomposition of the gradient (GaLore, now and then)
  bool orthogonalizes = false;    ///< Newton-Schulz iterations in bf16 (Muon)
};

/// The rule for a parameter. Muon, GaLore and APOLLO treat the matrices of the layers apart from all else.
OptimizerRule RuleFor(Optimizer optimizer, bool is_matrix_of_layer);

}  // namespace tunefit
