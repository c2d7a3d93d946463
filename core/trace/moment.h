#pragma once

#include <cstdint>

namespace tunefit {

/// The moments of a training step, in order. Phases, timeline, charts and tests share them.
enum class Moment : std::uint8_t {
  kLoad,
  kStatic,
  kBetweenSteps,
  kRollout,    ///< completions are generated and scored
  kReference,  ///< passes without gradients beside the policy's own: the reference, the KL estimate
  kForward,
  kLoss,
  kBackward,
  kOptimizer,
  kEvaluate,
  kSave,
  kMerge,  ///< an adapter is merged into its base
};

/// The name used in reports: "forward".
constexpr const char* MomentName(Moment moment) {
  switch (moment) {
    case Moment::kLoad:
      return "load";
    case Moment::kStatic:
      return "static";
    case Moment::kBetweenSteps:
      return "between_steps";
    case Moment::kRollout:
      return "rollout";
    case Moment::kReference:
      return "reference";
    case Moment::kForward:
      return "forward";
    case Moment::kLoss:
      return "loss";
    case Moment::kBackward:
      return "backward";
    case Moment::kOptimizer:
      return "optimizer";
    case Moment::kEvaluate:
      return "evaluate";
    case Moment::kSave:
      return "save";
    case Moment::kMerge:
      return "merge";
  }
  return "";
}

/// What a storage is there for; the lines of the breakdown.
enum class Term : std::uint8_t {
  kWeights,
  kQuantization,  ///< scales and tables beside packed weights
  kAdapters,
  kBuffers,
  kGradients,
  kOptimizerStates,
  kOptimizerTransient,
  kAutocastCopies,  ///< weights cast to the compute dtype
  kCheckpoints,     ///< layer inputs kept for recomputation
  kEmbedding,
  kAttention,
  kMlp,
  kNorms,
  kLogitsAndLoss,
  kWorkspace,  ///< gradients of activations and temporaries of an operation at work
  kInputs,
  kGathered,        ///< parameters gathered whole from the ranks that share them
  kCommunication,   ///< buffers of collectives between ranks
  kReferenceModel,  ///< a frozen copy of the model beside the trained one
  kRewardModel,
  kValueModel,     ///< trains beside the policy
  kKvCache,        ///< keys and values of the tokens generated so far
  kRolloutEngine,  ///< what a colocated engine takes of the card
  kCount,
};

constexpr int kTermCount = static_cast<int>(Term::kCount);

/// The id used in reports: "optimizer_states".
constexpr const char* TermName(Term term) {
  switch (term) {
    case Term::kWeights:
      return "weights";
    case Term::kQuantization:
      return "quantization";
    case Term::kAdapters:
      return "adapters";
    case Term::kBuffers:
      return "buffers";
    case Term::kGradients:
      return "gradients";
    case Term::kOptimizerStates:
      return "optimizer_states";
    case Term::kOptimizerTransient:
      return "optimizer_transient";
    case Term::kAutocastCopies:
      return "autocast_copies";
    case Term::kCheckpoints:
      return "checkpoints";
    case Term::kEmbedding:
      return "embedding";
    case Term::kAttention:
      return "attention";
    case Term::kMlp:
      return "mlp";
    case Term::kNorms:
      return "norms";
    case Term::kLogitsAndLoss:
      return "logits_and_loss";
    case Term::kWorkspace:
      return "workspace";
    case Term::kInputs:
      return "inputs";
    case Term::kGathered:
      return "gathered_parameters";
    case Term::kCommunication:
      return "communication_buffers";
    case Term::kReferenceModel:
      return "reference_model";
    case Term::kRewardModel:
      return "reward_model";
    case Term::kValueModel:
      return "value_model";
    case Term::kKvCache:
      return "kv_cache";
    case Term::kRolloutEngine:
      return "rollout_engine";
    case Term::kCount:
      break;
  }
  return "";
}

}  // namespace tunefit
