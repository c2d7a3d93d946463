#pragma once

#include "core/model/workload.h"
#include "core/trace/step.h"

// What data ranks send each other once a step, or for each micro-batch's gradients.

namespace tunefit {

/// Of an updated weight on its way back from where it was updated: another rank, or the host.
inline constexpr double kBytesOfWeight = 2;

/// Bytes of a step that go around a ring of all data ranks, beside what every micro-batch gathers.
struct Reduction {
  double bytes = 0;         ///< while backward goes on
  double waited_bytes = 0;  ///< while nothing is computed
};

/// TIM-23  DDP adds gradients up over all ranks, there and back, in their own dtype. Megatron's distributed optimizer
/// scatters its fp32 gradients and gathers the updated weights. DeepSpeed's stages 1 and 2 add gradients up in the
/// compute dtype, there and back although each rank keeps its part alone (use_multi_rank_bucket_allreduce), stage 2
/// those of every micro-batch; without overlap_comm on the stream that computes; and then gather the updated weights.
/// Copies of a sharded model add up their shares.
/// Source: torch reducer.cpp; Megatron-LM distrib_optimizer.py; DeepSpeed stage_1_and_2.py, average_tensor and step.
Reduction ReductionOf(const Workload& workload, const Step& step);

/// TIM-24  Bytes of paged optimizer states that come to the card and go back to the host in a step. They stay where
/// there is room for all; else the pages that the update needs next are always those that it used longest ago, which
/// the driver has just moved away. Source: bitsandbytes functional.py, get_paged (cudaMallocManaged) and
/// prefetch_tensor.
inline double PagedTraffic(double paged_bytes, double live_bytes, double card_bytes) {
  return paged_bytes + live_bytes > card_bytes ? 2 * paged_bytes : 0;
}

/// Elements that one rank's optimizer updates: under ZeRO's first stages its part of what trains.
double UpdatedElements(const Workload& workload, const Step& step);

}  // namespace tunefit
