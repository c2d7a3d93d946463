#pragma once

#include <cstdint>

#include "core/model/workload.h"
#include "core/trace/size.h"

// What a workload decides once about checkpoints, gradients and packed matrices, as the tracer is told it.

namespace tunefit {

/// What a checkpoint keeps besides its inputs, where those wait, and how it runs again.
struct CheckpointRule {
  Recompute recompute = Recompute::kStopsEarly;
  bool keeps_attention = false;
  bool keeps_odd_products = false;  ///< the first, third, fifth ... matrix product without a bias
  bool to_host = false;
  /// What the module sets for others stays, as set again, until all of backward is done: with the graph that made it.
  bool made_stays = false;
  /// What backward has made of the output's gradient, in fp32, when it first asks for something kept: only then does
  /// PyTorch run the module again.
  Size ahead = {};
};

/// What becomes of a parameter's gradient once backward has made it.
enum class GradientFate : std::uint8_t {
  kStays,      ///< until zero_grad
  kIsAdded,    ///< to a buffer that lives throughout (Megatron's main_grad), and is freed
  kIsCopied,   ///< into a buffer that lives throughout, which it becomes a view of (DDP's buckets)
  kIsApplied,  ///< the parameter is updated at once, and it is freed
  kIsDivided,  ///< reduced to the rank's own share of it (ZeRO stage 2), and is freed
};

/// How a library dequantizes a frozen matrix for a product.
struct Dequantization {
  bool keeps_input = false;    ///< its autograd function saves the input, though no gradient needs it
  bool on_context = false;     ///< and holds it as an attribute, which ends with the graph and not with backward
  bool as_input = false;       ///< computes in the dtype of its input, not in the run's
  bool in_forward = true;      ///< false where the forward product reads the packed matrix
  std::uint8_t copies = 1;     ///< matrices of the compute dtype alive at once while it unpacks
  std::uint8_t kernels = 1;    ///< launched to unpack one
  bool repeats_batch = false;  ///< backward copies the matrix once more for every sequence
};

}  // namespace tunefit
