#pragma once

#include "core/memory/estimate.h"
#include "core/memory/traced_rank.h"

namespace tunefit {

/// Of torch's allocator, where so many bytes of tensors are alive: with the workspaces of its libraries, and the spread
/// of measured runs. `gpu` may be null.
Range AllocatedBytes(double live_bytes, const Gpu* gpu, const Overheads& overheads);

/// MEM-3  From live bytes to allocated, reserved and device (see core/memory/overheads.h): fills those ranges of the
/// estimate, whose phases and loss are there already, the simulated allocator's bytes and the list of overheads.
/// `gpu` may be null.
void AddOverheads(MemoryEstimate& estimate, const TracedRank& rank, const Gpu* gpu, const Overheads& overheads);

}  // namespace tunefit
