#pragma once

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
/// weights, a first step, the optimizer's states in the holes that it left, and a second step, in their order. Blocks
/// of up to 1 MiB have a pool of their own, which is taken as full at its highest. Where a model has more events than
/// `kSimulatedEvents` a step, repeated layers are run in full only now and then; the others make and free just what
/// outlives them. 0 where the model is too large to be simulated at all.
double ReservedBytes(const AllocatorPlan& plan, const AllocatorUse& use);

}  // namespace tunefit
