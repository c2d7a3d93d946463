#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/memory/overheads.h"
#include "core/memory/traced_rank.h"
#include "core/model/hardware.h"
#include "core/time/compute.h"
#include "core/time/efficiencies.h"
#include "core/time/generation.h"
#include "core/time/links.h"
#include "core/time/traffic.h"

// Seconds of an optimizer step: a roofline over what the trace counts, plus what waits for other GPUs.

namespace tunefit {

/// Where the time of a step goes.
enum class TimeTerm : std::uint8_t {
  kMatmul,      ///< matrix products, forward and backward
  kAttention,   ///< fused attention
  kRecompute,   ///< both again, for checkpointed modules
  kMemory,      ///< all kernels that move bytes rather than multiply
  kLaunch,      ///< the GPU waits for the host to launch
  kTensor,      ///< tensor ranks wait for each other
  kExpert,      ///< tokens travel to their experts and back
  kData,        ///< data ranks wait for gradients and parameters
  kBubble,      ///< a pipeline fills and drains
  kOffload,     ///< bytes travel between card and host
  kOptimizer,   ///< the update
  kStep,        ///< between steps: data, logging, the loop
  kGeneration,  ///< completions are written, and in ppo scored
};
inline constexpr int kTimeTermCount = 13;
/// Names in a report, in the order of TimeTerm.
inline constexpr std::array<const char*, kTimeTermCount> kTimeTermNames = {
    "matmul",        "attention",       "recompute", "memory_bound", "launch", "tensor_parallel", "expert_parallel",
    "data_parallel", "pipeline_bubble", "offload",   "optimizer",    "step",   "generation"};

/// What one rank does in a step, before any efficiency.
struct RankCounts {
  MicroBatchWork work;
  double state_bytes = 0;    ///< of the optimizer, on the card
  double updated = 0;        ///< elements that this rank's optimizer updates
  Reduction reduction;       ///< among data ranks
  double offload_bytes = 0;  ///< between card and host in a step
  double paged_bytes = 0;    ///< states in managed memory
  double live_bytes = 0;     ///< at most alive on the card beside these
};

/// A job, counted: one entry a rank that may be the slowest.
struct StepCounts {
  std::vector<RankCounts> ranks;
  std::optional<RolloutCounts> rollout;
  double micro_batches = 1;
  double tokens = 0;       ///< of a step, of all GPUs, padding included
  double model_flops = 0;  ///< of a step, of all GPUs, what runs again left out
  double hardware_flops = 0;
};

/// TIM-10  Counts a traced job at the batch and length of `workload`, which may be others than those that it was traced
/// for. `job` are the ranks to compare, at least one.
StepCounts CountStep(const Workload& workload, const std::vector<TracedRank>& job);

struct StepTime {
  double seconds = 0;
  std::array<double, kTimeTermCount> terms{};  ///< sums to `seconds`
  GenerationTime generation;                   ///< what TimeTerm::kGeneration consists of
  Bound bound = Bound::kCompute;

  double operator[](TimeTerm term) const { return terms[static_cast<std::size_t>(term)]; }
};

/// TIM-11  The slowest rank's step; of the cards of a device_map all of them, one after another. Every micro-batch
/// waits for products, attention and moved bytes one after another, or for their launches where these take longer; then
/// for tensor and expert ranks. The pipeline is idle for (stages - 1) / interleave micro-batches (Narayanan et al.
/// 2021). Of the traffic of data ranks a share is always waited for, and all that the compute time cannot hide: what
/// every micro-batch sends that of all, what goes once a step that of the last.
StepTime TimeStep(const StepCounts& counts, const Workload& workload, const Gpu& gpu, const Fabric& fabric,
                  const Efficiencies& efficiencies);

/// TIM-12  Matrix rate that a dtype's products can reach on the card, flops a second: the best measured one, or the
/// printed one times its kin's share (GPU-2), or without kin `unmeasured_share`. fp32 products run outside the matrix
/// units, as PyTorch has it (torch.set_float32_matmul_precision: "highest").
double MatrixRate(const Gpu& gpu, Dtype dtype, double unmeasured_share);

/// The printed dense rate of a dtype's products, or where the card has none that of the type that stands in for it. 0
/// where none is known.
double PrintedRate(const Gpu& gpu, Dtype dtype);

/// TIM-13  Flops over what the printed dense rate of the compute dtype would do in that time. 0 where no rate is known.
double Utilization(double flops, double seconds, double gpus, double peak_flops_per_second);

/// TIM-14  Of the step's time, in which the GPU computes; for the rest it waits for the host or for other GPUs.
double BusyShare(const StepTime& time);

/// A step's seconds with the interval that holds 90 of 100 published runs bound alike.
Range RangeOf(const StepTime& time, const Efficiencies& efficiencies);

}  // namespace tunefit
