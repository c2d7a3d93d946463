// One trace serves micro-batches that differ in nothing but their size, and no others.
#include "core/plan/shape_traces.h"

#include <gtest/gtest.h>

#include "core/memory/estimate.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload Full(std::int64_t gpus, std::int64_t pipeline) {
  Workload workload;
  workload.architecture = test::MakeLlama(test::SmallSizes(8));
  workload.batch.sequence_length = 512;
  workload.parallel.gpus = gpus;
  workload.parallel.pipeline = pipeline;
  if (gpus > pipeline) workload.parallel.strategy = Strategy::kDdp;
  return workload;
}

void ExpectAsTracedAlone(const Workload& workload, const std::vector<MicroBatch>& batches) {
  ShapeTraces traces(workload, batches);
  // There and back: a trace that stood at another batch before is as good as a new one.
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < batches.size(); ++i) order.push_back(i);
  for (std::size_t i = batches.size(); i-- > 0;) order.push_back(i);
  for (const std::size_t i : order) {
    Workload alone = workload;
    alone.batch.per_device = batches[i].per_device;
    alone.batch.gradient_accumulation = batches[i].gradient_accumulation;
    const MemoryEstimate expected = EstimateMemory(alone, nullptr, Overheads(), Detail::kSummary);
    const TracedShape& traced = traces.At(i);
    const MemoryEstimate estimate = EstimateMemory(traced.workload, traced.job, nullptr, Overheads(), Detail::kSummary);
    EXPECT_EQ(estimate.phases.peak_step, expected.phases.peak_step) << i;
    EXPECT_EQ(estimate.phases.after_backward, expected.phases.after_backward) << i;
    EXPECT_EQ(estimate.simulated_reserved, expected.simulated_reserved) << i;
  }
}

TEST(ShapeTraces, GradientsOfEarlierMicroBatchesAreAliveOrNot) {
  ExpectAsTracedAlone(Full(2, 1), {{1, 8}, {2, 4}, {4, 2}, {8, 1}});
}

TEST(ShapeTraces, APipelineHoldsAsManyAsThereAre) { ExpectAsTracedAlone(Full(2, 2), {{1, 8}, {2, 4}, {4, 2}, {8, 1}}); }

}  // namespace
}  // namespace tunefit
