#pragma once

#include <vector>

#include "core/model/workload.h"

namespace tunefit {

/// A rank holds the model as it is described: nothing is cut, and no vocabulary padded.
bool IsWhole(const Workload& workload);

/// MEM-83  The workloads of the GPUs that share a model, in order: a pipeline's stages, or the cards of one process. At
/// least one; tensor, expert and data ranks are alike, and one of them stands for all.
std::vector<Workload> AllRanks(const Workload& workload);

/// Those of which one is the busiest, in order; of the cards of one process any may be, where layers differ.
std::vector<Workload> RanksToCompare(const Workload& workload);

}  // namespace tunefit
