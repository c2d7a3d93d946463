#pragma once

#include <cstdint>

namespace tunefit {

/// What a run trains for, as TRL's and transformers' trainers name it.
enum class Task : std::uint8_t {
  kSft,
  kPretrain,                ///< as sft: the same step
  kSequenceClassification,  ///< a head of a few labels on the last token
  kReward,                  ///< one score a sequence, chosen and rejected in one batch
  kDpo,                     ///< chosen and rejected in one batch, against a reference
  kOrpo,                    ///< the same pair without a reference
  kKto,                     ///< single completions against a reference, and a second batch for the KL estimate
  kGrpo,                    ///< generated completions, scored in groups
  kPpo,                     ///< generated completions, a reward and a value model
};

/// What the policy's log-probabilities are compared with.
enum class Reference : std::uint8_t {
  kNone,
  kCopy,         ///< a second model of the same size, frozen
  kAdapterOff,   ///< the model itself without its adapter
  kPrecomputed,  ///< log-probabilities from a pass before training
};

/// Who writes the completions.
enum class RolloutEngine : std::uint8_t {
  kTransformers,  ///< model.generate in the training process
  kVllm,
};

/// How completions come about in grpo and ppo.
struct Rollout {
  std::int64_t generations = 8;  ///< completions of a prompt; a micro-batch counts completions
  std::int64_t prompt_length = 512;
  std::int64_t completion_length = 512;
  RolloutEngine engine = RolloutEngine::kTransformers;
  bool colocated = true;         ///< the engine shares the training GPUs
  std::int64_t engine_gpus = 1;  ///< those of an engine that does not
  /// Optimizer steps that train on the same completions (GRPOConfig.num_iterations, PPOConfig.num_ppo_epochs).
  std::int64_t iterations = 1;
  /// Bytes of the card that a colocated engine takes for itself: its own weights and cache. 0 where there is none.
  double engine_bytes = 0;
  double server_bytes = 0;  ///< the same of an engine apart, of all its cards; 0 where these are not known

  constexpr bool has_engine() const { return engine == RolloutEngine::kVllm; }
  /// It has GPUs of its own.
  constexpr bool is_apart() const { return has_engine() && !colocated; }
  /// What an engine has for weights, keys and values; 0 where nobody knows.
  constexpr double held_bytes() const { return colocated ? engine_bytes : server_bytes; }
};

/// An evaluation between steps. Nothing is evaluated where `per_device` is 0.
struct Evaluation {
  std::int64_t per_device = 0;    ///< examples at a time
  std::int64_t kept_batches = 0;  ///< batches whose logits stay on the card for a metric; 0: only losses stay
  std::int64_t examples = 0;      ///< of one evaluation, over all GPUs; 0 where nobody says
};

/// Its examples are pairs: a micro-batch of n holds 2 n sequences.
constexpr bool IsPaired(Task task) { return task == Task::kReward || task == Task::kDpo || task == Task::kOrpo; }

/// Its model ends in a small head of labels instead of the vocabulary.
constexpr bool IsClassification(Task task) { return task == Task::kSequenceClassification || task == Task::kReward; }

/// Trains on log-probabilities of whole completions that somebody wrote.
constexpr bool IsPreference(Task task) { return task == Task::kDpo || task == Task::kOrpo || task == Task::kKto; }

/// Writes the completions it trains on.
constexpr bool HasRollout(Task task) { return task == Task::kGrpo || task == Task::kPpo; }

}  // namespace tunefit
