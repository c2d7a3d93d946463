#pragma once

#include "core/memory/estimate.h"
#include "core/memory/traced_rank.h"

namespace tunefit {

/// MEM-3  From live bytes to allocated, reserved and device (see core/memory/overheads.h): fills those ranges of the
/// estimate, whose phases and loss are there already, the simulated allocator's bytes and the list of overheads.
/// `gpu` may be null.
void AddOverheads(MemoryEstimate& estimate, const TracedRank& rank, const Gpu* gpu, const Overheads& overheads);

}  // namespace tunefit
