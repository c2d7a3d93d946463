#pragma once

#include <vector>

#include "core/model/workload.h"
#include "core/trace/step.h"

namespace tunefit {

/// MEM-130, MEM-131  Takes off the card what the workload keeps in the host's memory or on its disks: DeepSpeed's
/// offload_optimizer moves states, master weights, this rank's gradients and the update itself (stage_1_and_2.py and
/// stage3.py); FSDP's CPU offload and DeepSpeed's offload_param move the `shards` of parameters as well, which travel
/// to the card to be gathered. What is on disk (swap_tensor/*.py) passes through pinned buffers.
void MoveOffCard(Step& step, const Workload& workload, const std::vector<StorageId>& shards);

}  // namespace tunefit
