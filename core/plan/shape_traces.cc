#include "core/plan/shape_traces.h"

#include <algorithm>
#include <utility>

namespace tunefit {
namespace {

Batch WithSequences(Batch batch, const MicroBatch& micro_batch) {
  batch.per_device = micro_batch.per_device;
  batch.gradient_accumulation = micro_batch.gradient_accumulation;
  return batch;
}

}  // namespace

ShapeTraces::ShapeTraces(Workload workload, std::vector<MicroBatch> batches)
    : workload_(std::move(workload)), batches_(std::move(batches)), reserves_(batches_.size()) {}

bool ShapeTraces::ShareTrace(const MicroBatch& a, const MicroBatch& b) const {
  const std::int64_t fewer = std::min(a.gradient_accumulation, b.gradient_accumulation);
  const std::int64_t more = std::max(a.gradient_accumulation, b.gradient_accumulation);
  if (fewer == more) return true;
  const Parallel& parallel = workload_.parallel;
  const bool fills_pipeline = parallel.pipeline == 1 || (fewer >= parallel.pipeline && parallel.interleave == 1);
  return fewer > 1 && fills_pipeline;
}

TracedShape& ShapeTraces::At(std::size_t batch) {
  const auto serves = [&](const TracedShape& traced) { return ShareTrace(batches_[traced.batch], batches_[batch]); };
  const auto found = std::find_if(traced_.begin(), traced_.end(), serves);
  if (found == traced_.end()) {
    TracedShape& traced = traced_.emplace_back(TracedShape{workload_, {}, batch});
    traced.workload.batch = WithSequences(workload_.batch, batches_[batch]);
    traced.job = TraceJob(traced.workload);
    return traced;
  }
  if (found->batch == batch) return *found;
  found->batch = batch;
  found->workload.batch = WithSequences(workload_.batch, batches_[batch]);
  for (TracedRank& rank : found->job) SetBatch(rank, found->workload.batch);
  return *found;
}

}  // namespace tunefit
