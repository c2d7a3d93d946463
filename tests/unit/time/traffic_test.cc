// What data ranks send each other, by hand on a model of 95,040 parameters (tests/unit/trace/sharding_test.cc counts
// them).
#include "core/time/traffic.h"

#include <gtest/gtest.h>

#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kParameters = 95040;

Workload Small(Strategy strategy, Dtype weights) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.precision = {weights, Dtype::kBf16, false};
  workload.parallel.strategy = strategy;
  workload.parallel.gpus = 4;
  workload.batch.gradient_accumulation = 3;
  return workload;
}

Reduction ReductionOf(const Workload& workload) { return ReductionOf(workload, TraceTrainingStep(workload)); }

TEST(Reduction, DdpSendsGradientsThereAndBackOnceAStep) {
  EXPECT_EQ(ReductionOf(Small(Strategy::kDdp, Dtype::kFp32)).bytes, 2 * 4 * kParameters);
  EXPECT_EQ(ReductionOf(Small(Strategy::kDdp, Dtype::kBf16)).bytes, 2 * 2 * kParameters);
  Workload megatron = Small(Strategy::kDdp, Dtype::kBf16);
  megatron.habits.master_gradients = MasterGradients::kFp32Buffer;
  EXPECT_EQ(ReductionOf(megatron).bytes, 2 * 4 * kParameters);
  Workload alone = Small(Strategy::kDdp, Dtype::kFp32);
  alone.parallel.gpus = 1;
  EXPECT_EQ(ReductionOf(alone).bytes, 0);
}

TEST(Reduction, StageTwoReducesEveryMicroBatchStageOneTheLast) {
  Workload workload = Small(Strategy::kZero1, Dtype::kBf16);
  workload.parallel.zero.overlap_comm = true;
  EXPECT_EQ(ReductionOf(workload).bytes, 2 * 2 * kParameters);
  EXPECT_EQ(ReductionOf(workload).waited_bytes, 2 * kParameters);  // weights come when all is updated
  workload.parallel.strategy = Strategy::kZero2;
  EXPECT_EQ(ReductionOf(workload).bytes, 3 * 2 * 2 * kParameters);
  EXPECT_EQ(ReductionOf(workload).waited_bytes, 2 * kParameters);
}

TEST(Reduction, WithoutOverlapNothingIsComputedMeanwhile) {
  const Reduction reduction = ReductionOf(Small(Strategy::kZero2, Dtype::kBf16));
  EXPECT_EQ(reduction.bytes, 0);
  EXPECT_EQ(reduction.waited_bytes, (3 * 2 * 2 + 2) * kParameters);
}

TEST(Reduction, MegatronScattersFp32GradientsAndGathersWeights) {
  Workload workload = Small(Strategy::kZero1, Dtype::kBf16);
  workload.habits.master_gradients = MasterGradients::kFp32Buffer;
  EXPECT_EQ(ReductionOf(workload).bytes, (4 + 2) * kParameters);
  EXPECT_EQ(ReductionOf(workload).waited_bytes, 0);
}

TEST(Reduction, CopiesOfAShardedModelAddUpTheirShares) {
  Workload workload = Small(Strategy::kFsdp2, Dtype::kFp32);
  EXPECT_EQ(ReductionOf(workload).bytes, 0);
  workload.parallel.shard = 2;
  const Step step = TraceTrainingStep(workload);
  EXPECT_EQ(ReductionOf(workload, step).bytes, 2 * 4 * CountElements(step, step.trained) / 2);
}

TEST(UpdatedElements, ARankOfStageOneUpdatesItsPart) {
  for (const Strategy strategy : {Strategy::kZero1, Strategy::kZero2}) {
    const Workload workload = Small(strategy, Dtype::kBf16);
    EXPECT_EQ(UpdatedElements(workload, TraceTrainingStep(workload)), kParameters / 4);
  }
  const Workload ddp = Small(Strategy::kDdp, Dtype::kBf16);
  EXPECT_EQ(UpdatedElements(ddp, TraceTrainingStep(ddp)), kParameters);
}

TEST(PagedTraffic, StatesStayWhereThereIsRoomForAll) {
  EXPECT_EQ(PagedTraffic(8, 16, 24), 0);
  EXPECT_EQ(PagedTraffic(8, 17, 24), 16);  // all of them in, and all of them out
}

}  // namespace
}  // namespace tunefit
