#pragma once

#include <cstdint>

#include "core/model/linear.h"

namespace tunefit {

struct Mlp {
  bool gated = true;        ///< activation(gate) x up, then down; else down(activation(up))
  bool fused_gate = false;  ///< gate and up are one matrix of twice the width, `up`, cut in two afterwards (Phi-3)
  LinearShape gate, up, down;
  Activation activation = Activation::kSilu;
  double dropout = 0;  ///< of what the last matrix reads (T5)
  /// Of the gate only what lies far above a token's mean is activated (Gemma 3n's first layers).
  bool sparse_gate = false;
  bool names_parts = false;    ///< gate, activation and up are held until the last matrix is done (Gemma 3n)
  bool casts_to_down = false;  ///< which is then cast to the dtype of that matrix's weight (T5)

  /// Width between the matrices.
  std::int64_t width() const { return down.in_features; }
  bool operator==(const Mlp&) const = default;
};

/// How a router's scores become weights of the experts that a token visits.
enum class Scoring : std::uint8_t {
  kSoftmax,        ///< probabilities over all experts in fp32, the best of them kept (Mixtral, Qwen)
  kTypedSoftmax,   ///< the same in the logits' dtype (DBRX)
  kSigmoid,        ///< each expert scored alone (DeepSeek V3)
  kChosenSoftmax,  ///< probabilities over the chosen experts only (gpt-oss, Granite)
  kSparseMixer,    ///< experts drawn one after the other, each from the probabilities left (Phi-MoE)
  kChosenSigmoid,  ///< the chosen experts' scores alone, the others zero (Llama 4)
};

/// What steers the choice beside the scores; none of it has gradients.
enum class Choice : std::uint8_t {
  kBest,
  kGroups,           ///< the best experts of the best groups; scores of the others are masked (DeepSeek V2)
  kCorrected,        ///< scores plus a correction (MiniMax M2, ERNIE 4.5)
  kCorrectedGroups,  ///< both (DeepSeek V3, GLM 4.5)
};

/// How the chosen weights are divided by their sum.
enum class Division : std::uint8_t { kNone, kInPlace, kApart };

/// Sends each token to some of the experts.
struct Router {
  LinearShape matrix;  ///< hidden size x experts
  Scoring scoring = Scoring::kSoftmax;
  bool is_module = false;         ///< torch.nn.Linear, which adapters find, not a bare parameter
  bool fp32_matrix = false;       ///< input and matrix are cast to fp32 for the product
  bool without_autocast = false;  ///< runs in fp32 whatever autocast says (ERNIE 4.5)
  Choice choice = Choice::kBest;
  Division division = Division::kNone;
  bool keeps_fp32 = false;        ///< weights go to the experts in fp32, not in the dtype of the hidden states
  bool fp32_scores = false;       ///< logits are cast to fp32 before they become scores
  bool scales = false;            ///< weights are multiplied by a constant (routed_scaling_factor)
  bool counts_correction = true;  ///< its checkpoints count the correction among their parameters, one an expert

  /// The choice sees a correction beside the scores: a buffer or a parameter without gradient.
  bool corrects() const { return choice == Choice::kCorrected || choice == Choice::kCorrectedGroups; }
  bool operator==(const Router&) const = default;
};

/// How a class runs its experts.
enum class ExpertForm : std::uint8_t {
  kByVersion,   ///< one grouped product over stacked matrices from transformers 5 on, modules in a loop before
  kModules,     ///< modules in a loop, in every version (DeepSeek MoE 16B's own code)
  kSlices,      ///< a loop over slices of stacked matrices (DBRX; gpt-oss before transformers 5)
  kSplit,       ///< rows split by expert, a product each, joined again (Granite)
  kEveryToken,  ///< every token through every expert, all but its own weighted zero (Llama 4)
};

enum class ExpertGate : std::uint8_t {
  kPlain,    ///< activation(gate) x up
  kClamped,  ///< gate and up interleaved and clamped, (up + 1) x gate x sigmoid(1.702 gate) (gpt-oss)
};

/// Feed-forward parts of which a token visits a few: `count` experts alike, and one that every token visits besides.
struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;  ///< experts that a token visits
  std::int64_t ranks = 1;      ///< that hold so many experts each (expert parallelism): tokens travel to them and back
  Mlp expert;                  ///< the shapes of one
  ExpertForm form = ExpertForm::kByVersion;
  ExpertGate gate = ExpertGate::kPlain;
  bool adapts_stack = false;  ///< adapters find the experts' matrices though they are stacked: one for each expert
  Router router;
  bool has_shared = false;
  Mlp shared;                 ///< every token visits it
  bool shared_first = false;  ///< it runs before the router, not after the experts
  LinearShape
      shared_gate;  ///< to one number, whose sigmoid multiplies the shared output (Qwen 2 MoE); else no features

  /// Experts on one rank.
  std::int64_t held() const { return count / ranks; }
  bool operator==(const Experts&) const = default;
};

template <typename Visit>
void ForEachMatrix(const Mlp& mlp, Visit visit) {
  if (mlp.gated && !mlp.fused_gate) visit(mlp.gate);
  visit(mlp.up);
  visit(mlp.down);
}

/// The experts' own matrices are stacked in parameters that few adapters find, unless the library runs them one by one.
template <typename Visit>
void ForEachMatrix(const Experts& experts, Visit visit) {
  if (experts.router.is_module) visit(experts.router.matrix);
  if (experts.form == ExpertForm::kModules || experts.adapts_stack) ForEachMatrix(experts.expert, visit);
  if (experts.has_shared) ForEachMatrix(experts.shared, visit);
  if (experts.shared_gate.out_features > 0) visit(experts.shared_gate);
}

}  // namespace tunefit
