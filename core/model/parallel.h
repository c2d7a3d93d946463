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

/// DeepSpeed's zero_optimization settings that change memory, by its own names (deepspeed/runtime/zero/config.py, whose
/// defaults these are). Sizes are elements. allgather_bucket_size is not among them: stages 1 and 2 gather updated
/// weights in place (runtime/utils.py, all_gather_into_tensor_dp_groups). Nor is round_robin_gradients, an order.
struct ZeroSettings {
  std::int64_t reduce_bucket_size = 500'000'000;
  bool overlap_comm = false;         ///< a second bucket fills while the first is reduced (stages 1 and 2)
  bool contiguous_gradients = true;  ///< gradients are copied into buckets as they come
  std::int64_t prefetch_bucket_size = 50'000'000;      ///< stage 3: gathered ahead with every module that begins
  std::int64_t param_persistence_threshold = 100'000;  ///< stage 3: parameters up to here stay whole on every rank
  std::int64_t max_live_parameters = 1'000'000'000;    ///< stage 3: whole at once, by what is gathered ahead
  std::int64_t max_reuse_distance = 1'000'000'000;     ///< stage 3: what is used again sooner is not let go of
  std::int64_t sub_group_size = 1'000'000'000;         ///< stage 3: of a rank's share, updated at a time
  std::int64_t hpz_partition_size = 1;  ///< stage 3: ranks that share a second copy of the parameters (ZeRO++)
};

/// Where what is offloaded waits.
enum class OffloadDevice : std::uint8_t {
  kNone,
  kCpu,
  kNvme,  ///< DeepSpeed's ZeRO-Infinity: on disk, by way of pinned buffers
};

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
  bool fsdp2_gathers_alone = false;   ///< kFsdp2 wraps modules on a single rank, too, for their mixed precision
  Dtype reduce_dtype = Dtype::kFp32;  ///< of gradients on their way between ranks
  OffloadDevice optimizer_device = OffloadDevice::kNone;  ///< of states, and this rank's gradients
  OffloadDevice parameter_device = OffloadDevice::kNone;  ///< of the shards of parameters
  std::int64_t shard = 0;  ///< ranks that one copy of the model is divided among; 0: all that hold the same of it
  /// DistributedDataParallel's gradients are views of its buckets, not copied into them.
  bool gradient_as_bucket_view = false;
  ZeroSettings zero;

  constexpr bool offloads_optimizer() const { return optimizer_device != OffloadDevice::kNone; }
  constexpr bool offloads_parameters() const { return parameter_device != OffloadDevice::kNone; }
  /// Ranks that train the same part of the model; context ranks hold equal weights.
  constexpr std::int64_t DataRanks() const { return gpus / (tensor * pipeline); }
  /// Those of them that take rows of their own; the cards of one process share its rows.
  constexpr std::int64_t RowRanks() const { return strategy == Strategy::kDeviceMap ? 1 : DataRanks() / context; }
  /// Ranks over which the strategy divides states, gradients and parameters.
  constexpr std::int64_t Shards() const { return shard > 0 ? shard : DataRanks(); }
  /// Copies of the model that are divided so: hybrid sharding reduces gradients among them, too.
  constexpr std::int64_t Replicas() const { return DataRanks() / Shards(); }
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
  const bool alone = parallel.strategy == Strategy::kZero3 || parallel.fsdp2_gathers_alone;
  return ShardsParameters(parallel.strategy) && (parallel.Shards() > 1 || alone);
}

/// The layers are on the cards of one process, one after another.
constexpr bool IsPlaced(const Parallel& parallel) {
  return parallel.strategy == Strategy::kDeviceMap && parallel.gpus > 1;
}

/// One stage of a pipeline under 1F1B, or one card of a model placed on several (kDeviceMap); a model that is not cut
/// has one that is both first and last.
struct PipelineStage {
  bool is_first = true;          ///< embeds the tokens; others receive hidden states
  bool is_last = true;           ///< ends in the loss; others send hidden states on and receive their gradient
  std::int64_t first_layer = 0;  ///< of the whole model's, counted from 0
  std::vector<std::int64_t> in_flight = {1};  ///< micro-batches whose activations it holds at once, by its pieces
  bool gets_logits = false;                   ///< the last one's come back to it
  bool gets_states = false;                   ///< layers elsewhere run between its own and its head
};

/// Faults of a layout: ranks that do not fill the GPUs, copies of a model without a strategy. `field` is the request's
/// path.
Issues Validate(const Parallel& parallel);

}  // namespace tunefit
