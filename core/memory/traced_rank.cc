#include "core/memory/traced_rank.h"

#include <utility>

#include "core/memory/moments.h"
#include "core/model/ranks.h"
#include "core/trace/training_step.h"

namespace tunefit {

Axes AxesOf(const Pass& pass) { return Axes::Of(pass.sequences, pass.length, pass.step.chunk, pass.kept, pass.data); }

void SetBatch(TracedRank& rank, const Batch& batch) {
  rank.workload.batch = batch;
  rank.axes = AxesOf(rank.step, rank.workload, batch);
  rank.replay = ReplayStep(rank.step, rank.axes);
  rank.passes = TracePasses(rank.workload);
}

TracedRank TraceRank(Workload workload) {
  TracedRank rank;
  rank.step = TraceTrainingStep(workload);
  const Batch batch = workload.batch;
  rank.workload = std::move(workload);
  SetBatch(rank, batch);
  return rank;
}

std::vector<TracedRank> TraceJob(const Workload& workload) {
  std::vector<TracedRank> job;
  for (Workload& rank : RanksToCompare(workload)) job.push_back(TraceRank(std::move(rank)));
  return job;
}

}  // namespace tunefit
