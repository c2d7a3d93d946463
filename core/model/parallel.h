#pragma once

#include <cstdint>
#include <vector>

#include "core/model/dtype.h"
#include "core/model/issue.h"

namespace tunefit {

/// How the data-parallel ranks share the model. Names as in the request.
enum class Strategy : std::uint8_t {
  kNone,
  kDdp,        ///< torch DistributedDataParallel: everything on every rank, gradients reduced in buckets
  kZero1,      ///< optimizer states divided (DeepSpeed stage 1; Megatron's distributed optimizer)
  kZero2,      ///< states and gradients divided (DeepSpeed stage 2)
  kZero3,      ///< states, gradients and parameters divided, one parameter gathered at a time (DeepSpeed stage 3)
  kFsdp,       ///< torch FullyShardedDataParallel: one flat parameter a unit
  kFsdp2,      ///< torch fully_shard: each parameter divided along its first dimension, gathered by unit
  kDeviceMap,  ///< layers placed one after another on the GPUs of one process (accelerate's device_map)
};

/// Parameters exist as shards and are gathered where they are used, in the compute dtype.
constexpr bool ShardsParameters(Strategy strategy) {
  return strategy == Strategy::kZero3 || strategy == Strategy::kFsdp || strategy == Strategy::kFsdp2;
}

/// Optimizer states (and what else the stage divides) are shares, parameters are whole on every rank.
constexpr bool ShardsStatesOnly(Strategy strategy) {
  return strategy == Strategy::kZero1 || strategy == Strategy::kZero2;
}

/// The layout of a job on its GPUs. What is divided among ranks by tensors or layers is divided before the trace; the
/// strategy acts while it is made.
struct Parallel {
  Strategy strategy = Strategy::kNone;
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 8;
  std::int64_t tensor = 1;  ///< ranks that share every matrix
  /// Between the matrices that tensor ranks share, each holds its part of the tokens.
  bool sequence_parallel = false;
  std::int64_t pipeline = 1;       ///< stages of layers
  std::int64_t interleave = 1;     ///< pieces of the model that each stage holds (virtual pipeline stages)
  std::int64_t context = 1;        ///< ranks that share every sequence
  std::int64_t expert = 1;         ///< ranks that share the experts; of all else each holds what it held without
  std::int64_t expert_tensor = 0;  ///< ranks that share an expert's matrices; 0: as many as share all others
  bool reshard_after_forward = true;
  Dtype reduce_dtype = Dtype::kFp32;  ///< of gradients on their way between ranks
  bool offloads_optimizer = false;    ///< states, and this rank's gradients, are in the host's memory
  bool offloads_parameters = false;   ///< and so are the shards of parameters

  /// Ranks over which the strategy divides states, gradients and parameters; context ranks hold equal weights.
  constexpr std::int64_t Shards() const { return gpus / (tensor * pipeline); }
  constexpr std::int64_t ExpertTensor() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  /// The same of experts, which have groups of ranks of their own.
  constexpr std::int64_t ExpertShards() const { return gpus / (ExpertTensor() * pipeline * expert); }
  /// Experts work on the tokens of their rank's part of the residual stream and not on those of all tensor ranks.
  constexpr bool ExpertsTakeOwnTokens() const { return sequence_parallel && ExpertTensor() < tensor; }
  /// The model is cut before the trace: into tensors, layers or experts.
  constexpr bool IsCut() const { return tensor > 1 || pipeline > 1 || expert > 1; }
  /// Tokens of a sequence that one of the context ranks holds.
  constexpr std::int64_t PartOfSequence(std::int64_t tokens) const { return (tokens + context - 1) / context; }
  /// Ranks that share the tokens of the residual stream.
  constexpr double StreamRanks() const { return sequence_parallel ? static_cast<double>(tensor) : 1.0; }
};

/// Parameters are gathered to be used. DeepSpeed's stage 3 does so on a single rank, too.
constexpr bool GathersParameters(const Parallel& parallel) {
  return ShardsParameters(parallel.strategy) && (parallel.Shards() > 1 || parallel.strategy == Strategy::kZero3);
}

/// One stage of a pipeline under 1F1B; a model that is not cut has one that is both first and last.
struct PipelineStage {
  bool is_first = true;  ///< embeds the tokens; others receive hidden states
  bool is_last = true;   ///< ends in the loss; others send hidden states on and receive their gradient
  std::vector<std::int64_t> in_flight = {1};  ///< micro-batches whose activations it holds at once, by its pieces
};

/// Faults of a layout: ranks that do not fill the GPUs, copies of a model without a strategy. `field` is the request's
/// path.
Issues Validate(const Parallel& parallel);

}  // namespace tunefit
