#pragma once

#include <vector>

#include "core/memory/device_bytes.h"
#include "core/memory/traced_rank.h"
#include "core/plan/choice.h"

namespace tunefit {

/// A shape at one of its micro-batches, traced and replayed.
struct TracedShape {
  Workload workload;
  std::vector<TracedRank> job;
  std::size_t batch = 0;  ///< at which it stands
};

/// A shape's traces. One serves all micro-batches but for what accumulation changes: whether gradients of earlier ones
/// are alive, and how many are in flight in a pipeline.
class ShapeTraces {
 public:
  /// `workload` is the shape's with one of the batches.
  ShapeTraces(Workload workload, std::vector<MicroBatch> batches);

  const Workload& workload() const { return workload_; }
  const std::vector<MicroBatch>& batches() const { return batches_; }
  /// Valid until the next call.
  TracedShape& At(std::size_t batch);
  /// What the allocator was found to hold there.
  std::vector<Reserves>& ReservesAt(std::size_t batch) { return reserves_[batch]; }

 private:
  bool ShareTrace(const MicroBatch& a, const MicroBatch& b) const;

  Workload workload_;
  std::vector<MicroBatch> batches_;
  std::vector<TracedShape> traced_;
  std::vector<std::vector<Reserves>> reserves_;
};

}  // namespace tunefit
