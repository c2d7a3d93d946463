#pragma once

#include <span>

#include "core/memory/allocator_plan.h"

namespace tunefit {

/// How a run uses PyTorch's allocator.
struct AllocatorUse {
  bool expandable_segments = false;
  bool full_card = false;  ///< free segments go back to the driver before a new one is asked for: the least it needs
  /// cuBLAS asks torch for a workspace in each thread that multiplies: the forward's and autograd's.
  double workspace_bytes = 0;  ///< of one
};

/// MEM-120  What the caching allocator holds for a step (torch.cuda.max_memory_reserved), simulated: the model's
/// weights, a first step, the optimizer's states in the holes that it left, and the steps after it, in their order.
/// Blocks of up to 1 MiB have a pool of their own, which is taken as full at its highest. Where a model has more events
/// than `kSimulatedEvents` a step, repeated layers are run in full only now and then; the others make and free just
/// what outlives them. `steps`: one plan or more of the same step for other lengths, in the order they run; the last is
/// repeated where one is too few. 0 where the model is too large to be simulated at all.
double ReservedBytes(std::span<const AllocatorPlan> steps, const AllocatorUse& use);

}  // namespace tunefit
