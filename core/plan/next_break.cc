#include "core/plan/next_break.h"

#include <algorithm>

namespace tunefit {
namespace {

bool MayFit(std::vector<TracedRank>& job, const Batch& batch, const Gpu& gpu, const Overheads& overheads) {
  for (TracedRank& rank : job) SetBatch(rank, batch);
  return LeastDeviceBytes(job, gpu, overheads) <= gpu.usable_bytes;
}

/// The first doubling of the number, which is a part of the batch, that does not fit.
std::int64_t FirstToBreak(std::vector<TracedRank>& job, Batch batch, std::int64_t Batch::*number, std::int64_t most,
                          const Gpu& gpu, const Overheads& overheads) {
  for (batch.*number *= 2; batch.*number <= most; batch.*number *= 2) {
    if (!MayFit(job, batch, gpu, overheads)) return batch.*number;
  }
  return 0;
}

}  // namespace

NextBreak NextBreakOf(const Workload& workload, const Gpu& gpu, const Overheads& overheads,
                      const SearchBounds& bounds) {
  std::vector<TracedRank> job = TraceJob(workload);
  const Batch& batch = workload.batch;
  const std::int64_t context = workload.architecture.context_tokens;
  std::int64_t longest = std::min(bounds.length, bounds.tokens / batch.per_device);
  if (context > 0) longest = std::min(longest, context);
  NextBreak next;
  next.sequence_length = FirstToBreak(job, batch, &Batch::sequence_length, longest, gpu, overheads);
  const std::int64_t most = std::min(bounds.sequences, bounds.tokens / LayerTokens(workload, batch.sequence_length));
  next.per_device = FirstToBreak(job, batch, &Batch::per_device, most, gpu, overheads);
  return next;
}

}  // namespace tunefit
