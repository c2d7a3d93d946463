#pragma once

#include <vector>

#include "core/memory/replay.h"
#include "core/model/workload.h"
#include "core/trace/passes.h"
#include "core/trace/step.h"

namespace tunefit {

Axes AxesOf(const Pass& pass);

/// A rank's step with what runs between steps, traced and, for one batch and length, replayed.
struct TracedRank {
  Workload workload;
  Step step;
  Axes axes;
  Replay replay;
  std::vector<Pass> passes;
};

TracedRank TraceRank(Workload workload);

/// The ranks of a job of which one is the busiest (model/ranks.h), traced: at least one.
std::vector<TracedRank> TraceJob(const Workload& workload);

/// The same step for sequences of another number or length.
void SetBatch(TracedRank& rank, const Batch& batch);

}  // namespace tunefit
