#pragma once

#include <cstdint>
#include <vector>

#include "core/model/hardware.h"
#include "core/model/workload.h"
#include "core/time/efficiencies.h"

namespace tunefit {

/// The same work for every GPU, on so many of them.
struct ScalingPoint {
  std::int64_t gpus = 1;
  double tokens_per_second = 0;  ///< of all GPUs, padding included
  double efficiency = 1;         ///< of a GPU's tokens with the fewest GPUs, what is left
};

/// TIM-31  The run on 1, 2, 4 … 1,024 times the GPUs of one copy that tensor and pipeline ranks make, and on its own
/// number, the fewest first. Whether it fits is not asked; sharded states make a GPU faster at first. Each GPU keeps
/// its batch, so that the global one grows (weak scaling); a run without a strategy takes DDP on several. Numbers that
/// the layout does not divide are left out.
std::vector<ScalingPoint> ScalingOf(const Workload& workload, const Gpu& gpu, const Wiring& wiring,
                                    const Efficiencies& efficiencies);

}  // namespace tunefit
