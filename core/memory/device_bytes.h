#pragma once

#include <vector>

#include "core/memory/allocator_plan.h"
#include "core/memory/estimate.h"
#include "core/memory/traced_rank.h"

namespace tunefit {

/// Of torch's allocator, where so many bytes of tensors are alive: with the workspaces of its libraries, and the spread
/// of measured runs. `gpu` may be null.
Range AllocatedBytes(double live_bytes, const Gpu* gpu, const Overheads& overheads);

/// What the simulated allocator holds.
struct SimulatedReserve {
  double usually = 0;
  double at_least = 0;  ///< of a run of varied lengths whose longest batch comes first; else the same
};

/// The simulated allocator's answers for a rank at one batch. They depend on the card by the workspace of its libraries
/// and no more, so cards of all sizes share them.
class Reserves {
 public:
  /// `rank` must stay as it is. `allocated_bytes` is the least that the allocator holds.
  SimulatedReserve Of(const TracedRank& rank, bool full_card, double workspace_bytes, double allocated_bytes);

 private:
  struct Answer {
    bool full_card;
    double workspace_bytes;
    SimulatedReserve reserve;
  };
  std::vector<AllocatorPlan> steps_;   ///< of one or more lengths, the one asked for last
  std::vector<AllocatorPlan> passes_;  ///< around it
  std::vector<Answer> answers_;
};

/// MEM-3  From live bytes to allocated, reserved and device (see core/memory/overheads.h): fills those ranges of the
/// estimate, whose phases and loss are there already, the simulated allocator's bytes and the list of overheads.
/// `gpu` may be null; `reserves` are the rank's.
void AddOverheads(MemoryEstimate& estimate, const TracedRank& rank, const Gpu* gpu, const Overheads& overheads,
                  Reserves& reserves);

}  // namespace tunefit
