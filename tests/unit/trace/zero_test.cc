// What DeepSpeed's settings, hybrid shards and DDP's buckets change, worked out by hand on the model of
// sharding_test.cc: 2 layers of width 64, 4 heads of 16, an MLP of 128, 100 words, an untied head.
//
// Parameters of a layer: q, k, v, o 4 x 64 x 64 = 16,384; gate, up, down 3 x 64 x 128 = 24,576; norms 2 x 64 = 128;
// together 41,088. The root: table 6,400, head 6,400, norm 64; together 12,864. In all 95,040.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "core/trace/zero3.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kLayer = 41'088;
constexpr double kRoot = 12'864;
constexpr double kModel = 95'040;
constexpr double kMatrices = 94'720;  // all but five norms, which are 512 bytes each however they are cut
constexpr double kNormBytes = 5 * 512;

Workload Small(Strategy strategy, std::int64_t gpus) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.precision = {Dtype::kFp32, Dtype::kBf16, false};
  workload.optimizer = Optimizer::kAdamwFused;
  workload.parallel.strategy = strategy;
  workload.parallel.gpus = gpus;
  workload.parallel.zero = {
      .reduce_bucket_size = 1024, .prefetch_bucket_size = 0, .param_persistence_threshold = 0, .max_reuse_distance = 0};
  return workload;
}

MemoryEstimate Estimate(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
}

/// The most elements of storages that `counts`, alive at once in sections that `includes`.
template <typename Counts, typename Includes>
double MostAlive(const Workload& workload, Counts counts, Includes includes) {
  const auto elements = [&counts](const Section& /*any*/, const Storage& storage) {
    return counts(storage) ? storage.elements.coefficient : 0;
  };
  return test::MostAlive(TraceTrainingStep(workload), elements, includes);
}

double MostReduced(const Workload& workload) {
  return MostAlive(
      workload, [](const Storage& storage) { return std::strcmp(storage.role, "reduced gradients") == 0; },
      [](const Section& /*any*/) { return true; });
}

double MostGatheredOfLayers(const Workload& workload, Moment moment) {
  return MostAlive(
      workload, [](const Storage& storage) { return storage.term == Term::kGathered && storage.in_layer; },
      [moment](const Section& section) { return section.moment == moment; });
}

TEST(HybridShards, AreThoseOfOneCopysRanks) {
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2, Strategy::kZero3}) {
    Workload hybrid = Small(strategy, 8);
    hybrid.parallel.shard = 2;
    const Phases two = Estimate(Small(strategy, 2)).phases;
    const Phases eight = Estimate(hybrid).phases;
    EXPECT_EQ(eight.between_steps, two.between_steps);
    EXPECT_EQ(eight.peak_step, two.peak_step);
  }
}

TEST(HybridShards, HoldWhatIsReducedInAnotherDtypeToTheEnd) {
  Workload workload = Small(Strategy::kFsdp2, 4);
  workload.parallel.reduce_dtype = Dtype::kBf16;
  EXPECT_EQ(MostReduced(workload), kLayer / 4);
  workload.parallel.shard = 2;
  EXPECT_EQ(MostReduced(workload), 2 * kLayer / 2 + kRoot / 2);
  workload.parallel.reduce_dtype = Dtype::kFp32;  // these become the gradients
  const Phases in_place = Estimate(workload).phases;
  workload.parallel.shard = 0;
  workload.parallel.gpus = 2;
  EXPECT_EQ(Estimate(workload).phases.peak_backward, in_place.peak_backward);
}

TEST(HybridShards, FillTheDataRanks) {
  Parallel parallel;
  parallel.strategy = Strategy::kFsdp2;
  parallel.gpus = 8;
  parallel.tensor = 2;
  parallel.shard = 2;
  EXPECT_FALSE(HasError(Validate(parallel)));
  EXPECT_EQ(parallel.Replicas(), 2);  // 8 / 2 ranks in groups of 2
  for (const std::int64_t shard : {3, 8}) {
    parallel.shard = shard;
    const Issues issues = Validate(parallel);
    ASSERT_EQ(issues.size(), 1U);
    EXPECT_EQ(issues.front().code, "shard_does_not_divide");
    EXPECT_EQ(issues.front().field, "parallel.shard");
  }
}

TEST(ZeroBuckets, LiveThroughBackwardAndNoLonger) {
  Workload workload = Small(Strategy::kZero2, 2);
  const Phases small = Estimate(workload).phases;
  workload.parallel.zero.reduce_bucket_size = 1024 * 1024;
  const Phases large = Estimate(workload).phases;
  constexpr double kMore = 4.0 * (1024 * 1024 - 1024);  // in the weights' fp32
  EXPECT_EQ(large.peak_backward - small.peak_backward, kMore);
  EXPECT_EQ(large.after_backward, small.after_backward);
  EXPECT_EQ(large.peak_optimizer, small.peak_optimizer);
  workload.parallel.zero.overlap_comm = true;
  EXPECT_EQ(Estimate(workload).phases.peak_backward - large.peak_backward, 4.0 * 1024 * 1024);
}

TEST(ZeroBuckets, WithoutThemGradientsWaitToBeFlattened) {
  // As many as the bucket counts, of 95,040 at most: 380,160 bytes in fp32, 380,416 as the allocator counts. Stage 2
  // has them waiting and flat, stage 1 flat beside those that stay anyway.
  constexpr double kFlat = 380'416;
  const auto peak = [](Strategy strategy, const ZeroSettings& zero) {
    Workload workload = Small(strategy, 2);
    workload.parallel.zero = zero;
    return Estimate(workload).phases.peak_backward;
  };
  ZeroSettings flat{.reduce_bucket_size = 1'000'000'000, .contiguous_gradients = false};
  for (const Strategy strategy : {Strategy::kZero1, Strategy::kZero2}) {
    const double without = peak(strategy, {.reduce_bucket_size = 128}) - 512;  // 128 numbers
    EXPECT_EQ(peak(strategy, flat) - without, strategy == Strategy::kZero1 ? kFlat : 2 * kFlat);
  }
  flat.overlap_comm = true;  // and those of the reduction before
  EXPECT_EQ(peak(Strategy::kZero2, flat) - (peak(Strategy::kZero2, {.reduce_bucket_size = 128}) - 512), 3 * kFlat);
}

TEST(ZeroStage3, SmallParametersStayWhole) {
  Workload workload = Small(Strategy::kZero3, 2);
  const Phases none = Estimate(workload).phases;
  workload.parallel.zero.param_persistence_threshold = 64;  // the norms
  const Phases norms = Estimate(workload).phases;
  EXPECT_EQ(norms.static_bytes - none.static_bytes, kNormBytes);
  EXPECT_EQ(MostGatheredOfLayers(workload, Moment::kForward), kLayer - 128);
  workload.parallel.zero.param_persistence_threshold = 10'000;  // everything: half of it as shares, the whole in bf16
  const Phases all = Estimate(workload).phases;
  EXPECT_EQ(all.static_bytes - none.static_bytes, 2 * kMatrices + kNormBytes);
  EXPECT_EQ(MostGatheredOfLayers(workload, Moment::kBackward), 0);
}

TEST(ZeroStage3, GathersAheadUntilAllThatMayBeAliveIs) {
  Workload workload = Small(Strategy::kZero3, 2);
  const auto most = [&workload](std::int64_t alive) {
    workload.parallel.zero.max_live_parameters = alive;
    return MostAlive(
        workload, [](const Storage& storage) { return storage.term == Term::kGathered; },
        [](const Section& /*any*/) { return true; });
  };
  workload.parallel.zero.prefetch_bucket_size = 0;
  const double none = most(1'000'000);
  workload.parallel.zero.prefetch_bucket_size = 1;
  EXPECT_EQ(most(1'000'000) - none, kLayer);  // the other layer
  // 8,912 more, in whole parameters until it is over that: two norms, q, k and v.
  EXPECT_EQ(most(50'000) - none, 128 + 3 * 4'096);
  EXPECT_EQ(most(41'088), none);
  // What stays for backward is a part of what may be alive.
  workload.parallel.zero.max_reuse_distance = 136'064;
  EXPECT_EQ(most(1'000'000) - none, kLayer);
  workload.parallel.zero.max_reuse_distance = 136'065;
  EXPECT_EQ(most(1'000'000) - none, kLayer);
}

TEST(ZeroStage3, KeepsWhatIsUsedAgainSoon) {
  // From the last layer's forward to its backward: the head twice, 12,800, and the layer's own 41,088 make 53,888. From
  // the first one's: the last layer twice more, 12,800 + 82,176 + 41,088 = 136,064; three times where it runs again.
  Workload workload = Small(Strategy::kZero3, 2);
  const auto first = [&workload](std::int64_t distance) {
    workload.parallel.zero.max_reuse_distance = distance;
    return FirstReusedLayer(workload);
  };
  EXPECT_EQ(first(53'888), 2);
  EXPECT_EQ(first(53'889), 1);
  EXPECT_EQ(MostGatheredOfLayers(workload, Moment::kLoss), kLayer);
  EXPECT_EQ(first(136'064), 1);
  EXPECT_EQ(first(136'065), 0);
  EXPECT_EQ(MostGatheredOfLayers(workload, Moment::kLoss), 2 * kLayer);
  workload.checkpointing = Checkpointing::kFull;
  EXPECT_EQ(first(136'064 + 41'088), 1);
  EXPECT_EQ(first(136'064 + 41'089), 0);
}

TEST(ZeroStage3, UpdatesASubGroupAtATime) {
  Workload workload = Small(Strategy::kZero3, 1);
  workload.precision = {Dtype::kBf16, Dtype::kBf16, false, true};
  const auto transient = [&workload](std::int64_t elements) {
    workload.parallel.zero.sub_group_size = elements;
    const Phases phases = Estimate(workload).phases;
    return phases.peak_optimizer - phases.after_backward;
  };
  // gradients in fp32 and flat in bf16, tensor by tensor; norms 512 bytes each
  EXPECT_EQ(transient(95'040), 6 * kMatrices + 2 * kNormBytes);
  EXPECT_EQ(transient(47'520), 285'184);  // 6 x 47,520 = 285,120, in blocks of 512
}

TEST(ZeroStage3, HpzKeepsASecondShareFromTheForwardPassToTheStep) {
  Workload workload = Small(Strategy::kZero3, 4);
  const Phases without = Estimate(workload).phases;
  workload.parallel.zero.hpz_partition_size = 2;
  const Phases with = Estimate(workload).phases;
  // Halves in bf16, a byte a parameter: the layers' matrices 81,920; table and head 6,400 each, in blocks 6,656.
  EXPECT_EQ(with.after_backward - without.after_backward, 81'920 + 2 * 6'656 + kNormBytes);
  EXPECT_EQ(with.between_steps, without.between_steps);
}

TEST(Ddp, GradientsMayBeViewsOfTheBuckets) {
  Workload workload = Small(Strategy::kDdp, 2);
  const MemoryEstimate copied = Estimate(workload);
  workload.parallel.gradient_as_bucket_view = true;
  const MemoryEstimate viewed = Estimate(workload);
  const double gradients = 4 * kMatrices + kNormBytes;
  EXPECT_EQ(viewed.phases.static_bytes, copied.phases.static_bytes);
  EXPECT_EQ(copied.phases.after_backward - viewed.phases.after_backward, gradients);
  EXPECT_LE(viewed.phases.peak_backward, copied.phases.peak_backward);
  EXPECT_EQ(viewed.recipe.gradients, copied.recipe.gradients);
}

TEST(Offload, StatesOnDiskPassThroughFourBuffers) {
  // Two ranks of 47,520 parameters each, fp32 throughout but for the gradients that stage 3 collects.
  Workload workload = Small(Strategy::kZero3, 2);
  workload.optimizer = Optimizer::kAdamwForeach;  // no counters
  workload.parallel.optimizer_device = OffloadDevice::kCpu;
  const MemoryEstimate memory = Estimate(workload);
  workload.parallel.optimizer_device = OffloadDevice::kNvme;
  const MemoryEstimate disk = Estimate(workload);
  const double half = 4 * kMatrices / 2 + kNormBytes;
  EXPECT_EQ(memory.host.nvme, 0);
  EXPECT_EQ(disk.host.optimizer_states, 0);
  EXPECT_EQ(disk.host.nvme, 2 * (2 * half + half));  // two moments and the gradient, of both ranks
  EXPECT_EQ(memory.host.gradients - disk.host.gradients, 2 * half);
  EXPECT_EQ(disk.host.buffers, 2 * 4 * 4 * 47'520.0);
  EXPECT_EQ(disk.disk_bytes, memory.disk_bytes);
  EXPECT_EQ(disk.phases.peak_step, memory.phases.peak_step);
  workload.parallel.zero.sub_group_size = 12'800;
  EXPECT_EQ(Estimate(workload).host.buffers, 2 * 4 * 4 * 12'800.0);
}

TEST(Offload, ParametersOnDiskLeaveABillionInMemory) {
  Workload workload = Small(Strategy::kZero3, 2);
  workload.optimizer = Optimizer::kAdamwForeach;  // no counters
  workload.parallel.optimizer_device = workload.parallel.parameter_device = OffloadDevice::kNvme;
  const MemoryEstimate estimate = Estimate(workload);
  // 47,520 in fp32 are 190,080 bytes, 190,464 in blocks; five buffers of 1e8 beside the four of the states
  EXPECT_EQ(estimate.host.buffers, 2 * (4 * 4 * 47'520.0 + 190'464 + 4 * 5e8));
  EXPECT_EQ(estimate.host.parameters, 0);
  EXPECT_EQ(estimate.host.nvme, 2 * 4 * (4 * kMatrices / 2 + kNormBytes));  // and the shards themselves
}

TEST(Offload, StageTwoHasCopiesOfWeightsAndOneGradient) {
  Workload workload = Small(Strategy::kZero2, 2);
  const Phases card = Estimate(workload).phases;
  workload.parallel.optimizer_device = OffloadDevice::kCpu;
  const MemoryEstimate estimate = Estimate(workload);
  constexpr double kLargest = 4 * 8192;  // a matrix of the MLP
  EXPECT_EQ(estimate.host.buffers, 2 * (190'464 + kLargest));
  EXPECT_EQ(estimate.phases.static_bytes - card.static_bytes, kLargest);
  workload.batch.gradient_accumulation = 2;
  EXPECT_EQ(Estimate(workload).host.buffers, 2 * (2 * 190'464 + kLargest));
}

}  // namespace
}  // namespace tunefit
