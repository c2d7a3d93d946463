#pragma once

#include <cstdint>

#include "core/model/linear.h"

namespace tunefit {

struct Mlp {
  bool gated = true;        ///< activation(gate) x up, then down; else down(activation(up))
  bool fused_gate = false;  ///< gate and up are one matrix of twice the width, `up`, cut in two afterwards (Phi-3)
  LinearShape gate, up, down;
  Activation activation = Activation::kSilu;

  /// Width between the matrices.
  std::int64_t width() const { return down.in_features; }
  bool operator==(const Mlp&) const = default;
};

/// How a router's scores become weights of the experts that a token visits.
enum class Scoring : std::uint8_t {
  kSoftmax,        ///< probabilities over all experts, the best of them kept (Mixtral, Qwen)
  kSigmoid,        ///< each expert scored alone, chosen with a correction beside the score (DeepSeek V3)
  kChosenSoftmax,  ///< probabilities over the chosen experts only (gpt-oss, Granite)
};

/// Sends each token to some of the experts.
struct Router {
  LinearShape matrix;  ///< hidden size x experts
  Scoring scoring = Scoring::kSoftmax;
  bool is_module = false;        ///< torch.nn.Linear, which adapters find, not a bare parameter
  bool fp32_matrix = false;      ///< input and matrix are cast to fp32 for the product
  bool normalizes = false;       ///< the chosen weights are divided by their sum
  bool keeps_fp32 = false;       ///< weights go to the experts in fp32, not in the dtype of the logits
  bool scales = false;           ///< weights are multiplied by a constant (routed_scaling_factor)
  bool correction_bias = false;  ///< one number an expert that steers the choice and gets no gradient

  bool operator==(const Router&) const = default;
};

/// Feed-forward parts of which a token visits a few: `count` experts alike, and one that every token visits besides.
struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;  ///< experts that a token visits
  Mlp expert;                  ///< the shapes of one
  /// The class holds all experts in one parameter whatever the library's version (gpt-oss, Llama 4, DBRX).
  bool always_stacked = false;
  Router router;
  bool has_shared = false;
  Mlp shared;                 ///< every token visits it
  bool shared_first = false;  ///< it runs before the router, not after the experts
  LinearShape
      shared_gate;  ///< to one number, whose sigmoid multiplies the shared output (Qwen 2 MoE); else no features

  bool operator==(const Experts&) const = default;
};

template <typename Visit>
void ForEachMatrix(const Mlp& mlp, Visit visit) {
  if (mlp.gated && !mlp.fused_gate) visit(mlp.gate);
  visit(mlp.up);
  visit(mlp.down);
}

/// The experts' own matrices are stacked in parameters that no adapter finds, unless the library runs them one by one.
template <typename Visit>
void ForEachMatrix(const Experts& experts, Visit visit) {
  if (experts.router.is_module) visit(experts.router.matrix);
  if (experts.has_shared) ForEachMatrix(experts.shared, visit);
  if (experts.shared_gate.out_features > 0) visit(experts.shared_gate);
}

}  // namespace tunefit
