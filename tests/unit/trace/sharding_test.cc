// What strategies divide among ranks, worked out by hand on a small model: 2 layers of width 64, 4 heads of 16, an MLP
// of 128, 100 words, an untied head.
//
// Parameters of a layer: q, k, v, o 4 x 64 x 64 = 16,384; gate, up, down 3 x 64 x 128 = 24,576; norms 2 x 64 = 128;
// together 41,088. The root: table 6,400, head 6,400, norm 64; together 12,864. In all 95,040.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/model/share.h"
#include "core/trace/training_step.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload Small(Strategy strategy, std::int64_t gpus) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.precision = {Dtype::kFp32, Dtype::kBf16, false};
  workload.optimizer = Optimizer::kAdamwForeach;
  workload.parallel.strategy = strategy;
  workload.parallel.gpus = gpus;
  workload.parallel.zero.reduce_bucket_size = 64 * 64;
  workload.parallel.zero.param_persistence_threshold = 0;
  return workload;
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).phases;
}

/// One rank's step as it is, without looking for the busiest.
Replay ReplayOf(const Workload& rank) {
  const Step step = TraceTrainingStep(rank);
  return ReplayStep(step, Axes::Of(1, static_cast<double>(rank.batch.sequence_length), step.chunk));
}

// Every tensor of this model is a multiple of 512 bytes also when it is cut in two, but for the norms: 64 numbers are
// 256 bytes in fp32, 512 as the allocator counts them, whole or halved.
constexpr double kMatrices = 2 * (16384 + 24576) + 2 * 6400;  // 94,720
constexpr double kNorms = 5;
constexpr double kNormBytes = 512;

TEST(Sharding, DdpAddsABucketForEveryGradient) {
  const Phases one = PhasesOf(Small(Strategy::kNone, 1));
  const Phases two = PhasesOf(Small(Strategy::kDdp, 2));
  const double gradients = 4 * kMatrices + kNorms * kNormBytes;
  EXPECT_EQ(one.static_bytes, gradients);  // weights are as large
  EXPECT_EQ(two.static_bytes, one.static_bytes + gradients);
  EXPECT_EQ(two.peak_step, one.peak_step + gradients);
}

// Megatron-LM's own reduces the buffer of fp32 gradients in place.
TEST(Sharding, DdpAddsNoBucketToABufferOfGradients) {
  Workload two = Small(Strategy::kDdp, 2);
  two.precision = {Dtype::kBf16, Dtype::kBf16, false};
  two.precision.master_weights = true;
  two.habits.master_gradients = MasterGradients::kFp32Buffer;
  Workload one = two;
  one.parallel = {};
  EXPECT_EQ(PhasesOf(two).static_bytes, PhasesOf(one).static_bytes);
}

TEST(Sharding, ZeroOneDividesTheStates) {
  const Phases one = PhasesOf(Small(Strategy::kNone, 1));
  const Phases two = PhasesOf(Small(Strategy::kZero1, 2));
  EXPECT_EQ(two.static_bytes, one.static_bytes);
  // exp_avg and exp_avg_sq, halved; a norm's stays at the allocator's 512 bytes
  EXPECT_EQ(two.between_steps - two.static_bytes, 2 * (4 * kMatrices / 2 + kNorms * kNormBytes));
}

TEST(Sharding, ZeroTwoDividesGradientsToo) {
  const Phases one = PhasesOf(Small(Strategy::kZero1, 2));
  const Phases two = PhasesOf(Small(Strategy::kZero2, 2));
  EXPECT_EQ(two.between_steps, one.between_steps);
  EXPECT_EQ(one.after_backward - two.after_backward, 4 * kMatrices / 2);
}

TEST(Sharding, Fsdp2DividesEverythingBetweenSteps) {
  const Phases one = PhasesOf(Small(Strategy::kNone, 1));
  const Phases two = PhasesOf(Small(Strategy::kFsdp2, 2));
  EXPECT_EQ(two.static_bytes, 4 * kMatrices / 2 + kNorms * kNormBytes);
  EXPECT_EQ(two.between_steps, 3 * two.static_bytes);
  EXPECT_GT(one.between_steps, two.between_steps);
}

TEST(Sharding, FsdpHoldsTheLastGradientsUntilTheNextStep) {
  Workload workload = Small(Strategy::kFsdp, 2);
  const Phases without = PhasesOf(workload);
  workload.habits.fsdp1_keeps_gradients = true;
  const Phases with = PhasesOf(workload);
  EXPECT_EQ(with.between_steps - without.between_steps, without.static_bytes);  // gradients are as large as weights
  EXPECT_EQ(with.after_forward, without.after_forward);
  EXPECT_EQ(with.peak_backward, without.peak_backward);
}

/// The most layers, of 41,088 parameters each, that exist as a whole at once within the backward pass.
double LayersGatheredInBackward(const Workload& workload) {
  const auto gathered = [](const Section& /*any*/, const Storage& storage) {
    return storage.term == Term::kGathered && storage.in_layer ? storage.elements.coefficient : 0;
  };
  const auto backward = [](const Section& section) { return section.moment == Moment::kBackward; };
  return test::MostAlive(TraceTrainingStep(workload), gathered, backward) / 41088;
}

TEST(Sharding, FsdpGathersNoLayerAheadUnderReentrantCheckpointing) {
  Workload workload = Small(Strategy::kFsdp, 2);
  workload.checkpointing = Checkpointing::kFull;
  EXPECT_EQ(LayersGatheredInBackward(workload), 2);  // the one at work and the one before it
  workload.habits.recompute = Recompute::kReentrant;
  EXPECT_EQ(LayersGatheredInBackward(workload), 1);
}

TEST(Sharding, TensorRanksDivideMatricesAndRepeatNorms) {
  Workload workload = Small(Strategy::kNone, 2);
  workload.parallel.tensor = 2;
  EXPECT_EQ(PhasesOf(workload).static_bytes, 4 * kMatrices / 2 + kNorms * kNormBytes);
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  EXPECT_EQ(estimate.parameters.trainable, 95'040);  // of the whole model
}

/// What a layer keeps for backward on one of two tensor ranks, or alone.
double KeptByALayer(std::int64_t ranks, bool sequence_parallel, bool gathers_again) {
  const auto after_forward = [&](std::int64_t layers) {
    Workload workload = Small(Strategy::kNone, ranks);
    workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
    workload.architecture.runs.front().repeats = layers;
    workload.batch.sequence_length = 2048;
    workload.parallel.tensor = ranks;
    workload.parallel.sequence_parallel = sequence_parallel;
    workload.habits.gathers_tokens_again = gathers_again;
    const Replay replay = ReplayOf(RankOf(workload, 0));
    return replay.after_forward - replay.weights - replay.optimizer_states;
  };
  return after_forward(10) - after_forward(9);
}

TEST(Sharding, SequenceParallelRanksDivideAllThatALayerKeeps) {
  // Korthikanti et al. 2022, equation 4: s b h / t (34 + ...), where tensor ranks alone repeat 10 s b h of it.
  const double alone = KeptByALayer(1, false, false);
  EXPECT_EQ(KeptByALayer(2, true, true), alone / 2);
  // torchtitan keeps what it gathered: both norms' outputs whole, 2,048 tokens of 64 in bf16 each.
  EXPECT_EQ(KeptByALayer(2, true, false), alone / 2 + 2 * 2048 * 64 * 2 * 0.5);
  EXPECT_GT(KeptByALayer(2, false, false), KeptByALayer(2, true, false));
}

TEST(Sharding, SequenceParallelStagesSendTheirPart) {
  Workload workload = Small(Strategy::kNone, 4);
  workload.parallel.tensor = 2;
  workload.parallel.pipeline = 2;
  const Replay whole = ReplayOf(RankOf(workload, 1));
  workload.parallel.sequence_parallel = true;
  const Replay divided = ReplayOf(RankOf(workload, 1));
  EXPECT_LT(divided.after_forward, whole.after_forward);
  EXPECT_EQ(divided.weights, whole.weights);
}

TEST(Sharding, StagesDivideLayersAndKeepTheirEnds) {
  Workload workload = Small(Strategy::kNone, 2);
  workload.parallel.pipeline = 2;
  const Workload first = RankOf(workload, 0);
  const Workload last = RankOf(workload, 1);
  EXPECT_EQ(first.architecture.layers(), 1);
  EXPECT_EQ(last.architecture.layers(), 1);
  const double layer = 4 * (16384 + 24576) + 2 * kNormBytes;
  EXPECT_EQ(ReplayOf(first).weights, layer + 4 * 6400);              // the table
  EXPECT_EQ(ReplayOf(last).weights, layer + 4 * 6400 + kNormBytes);  // final norm and head
}

TEST(Sharding, LayersAreDealtOutEarlierStagesFirst) {
  Workload workload = Small(Strategy::kNone, 4);
  workload.architecture.runs = {{{workload.architecture.runs[0].period[0]}, 10}};
  workload.parallel.pipeline = 4;
  const std::vector<std::int64_t> expected = {3, 3, 2, 2};
  for (std::size_t stage = 0; stage < expected.size(); ++stage) {
    EXPECT_EQ(StageOf(workload, static_cast<std::int64_t>(stage)).architecture.layers(), expected[stage]);
  }
}

TEST(Sharding, AStageHoldsItsMicroBatchesInFlight) {
  Workload workload = Small(Strategy::kNone, 2);
  workload.parallel.pipeline = 2;
  workload.batch.gradient_accumulation = 8;
  Workload first = RankOf(workload, 0);
  EXPECT_EQ(first.stage.in_flight, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(RankOf(workload, 1).stage.in_flight, (std::vector<std::int64_t>{1}));
  const Replay two = ReplayOf(first);
  first.stage.in_flight = {1};
  const Replay one = ReplayOf(first);
  first.stage.in_flight = {3};
  const Replay three = ReplayOf(first);
  EXPECT_GT(two.peak_backward.bytes, one.peak_backward.bytes);
  EXPECT_EQ(three.peak_backward.bytes - two.peak_backward.bytes, two.peak_backward.bytes - one.peak_backward.bytes);
  EXPECT_EQ(three.after_backward, one.after_backward);
}

TEST(Sharding, AStageLeavesAutocastWithoutALossToo) {
  Workload workload = Small(Strategy::kNone, 2);
  workload.parallel.pipeline = 2;
  workload.checkpointing = Checkpointing::kFull;
  Workload first = RankOf(workload, 0);
  first.stage.in_flight = {1};
  const Replay without = ReplayOf(first);
  first.precision.autocast = true;
  // Checkpoints are of the table's fp32 either way, and no 16-bit copy of a matrix outlives the forward pass.
  EXPECT_EQ(ReplayOf(first).after_forward, without.after_forward);
  EXPECT_EQ(ReplayOf(first).after_backward, without.after_backward);
}

TEST(Sharding, ZeroThreeHoldsSixteenBytesAParameterBetweenSteps) {
  Workload workload = Small(Strategy::kZero3, 2);
  workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
  workload.precision.master_weights = true;
  workload.parallel.gpus = 1;
  const double one = PhasesOf(workload).between_steps;
  // weights 2, gradient partition 2, master 4, moments 8; norms of 64 numbers are 512 bytes each in bf16 and fp32
  // alike; the bucket is 64 x 64 in bf16
  EXPECT_EQ(one, 16 * kMatrices + 5 * kNorms * kNormBytes + 2 * 64 * 64);
  workload.parallel.gpus = 2;
  // half of the table is 6,400 bytes in bf16, 6,656 as the allocator counts: so is half of the head, weight and
  // gradient
  EXPECT_EQ(PhasesOf(workload).between_steps, 8 * kMatrices + 5 * kNorms * kNormBytes + 2 * 64 * 64 + 4 * 256);
}

TEST(Sharding, ContextRanksShareTheSequence) {
  Workload whole = Small(Strategy::kDdp, 2);
  Workload halved = whole;
  halved.parallel.context = 2;
  whole.batch.sequence_length = 1024;
  halved.batch.sequence_length = 2048;
  const Phases of_whole = PhasesOf(whole);
  const Phases of_half = PhasesOf(halved);
  EXPECT_EQ(of_half.after_forward, of_whole.after_forward);
  EXPECT_GE(of_half.peak_forward, of_whole.peak_forward);  // keys and values that pass by
}

TEST(Sharding, OffloadedStatesAndGradientsAreOnTheHost) {
  // DeepSpeed's stage 2 on two GPUs: a rank's half of the fp32 moments and of the gradients, which leave the card in
  // fp32. No matrix is cut below the allocator's 512 bytes; norms are, and count as 512 each.
  Workload workload = Small(Strategy::kZero2, 2);
  const MemoryEstimate card = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  workload.parallel.optimizer_device = OffloadDevice::kCpu;
  const MemoryEstimate host = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  const double half = 4 * kMatrices / 2 + kNorms * kNormBytes;
  EXPECT_EQ(host.host.optimizer_states, 2 * (2 * half));  // of both GPUs
  EXPECT_EQ(host.host.gradients, 2 * half);
  EXPECT_EQ(host.host.parameters, 0);
  const double on_its_way = 4 * 64 * 128;  // room for one gradient
  EXPECT_EQ(card.phases.between_steps - host.phases.between_steps, 2 * half - on_its_way);
  EXPECT_EQ(card.phases.after_backward - host.phases.after_backward, 3 * half - on_its_way);
  EXPECT_EQ(host.phases.peak_optimizer, host.phases.after_backward);  // the update is the processor's
  EXPECT_EQ(host.disk_bytes, card.disk_bytes);
  EXPECT_EQ(host.recipe.optimizer_states, card.recipe.optimizer_states);
}

TEST(Sharding, FsdpOffloadLeavesTheCardEmptyBetweenSteps) {
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2, Strategy::kZero3}) {
    Workload workload = Small(strategy, 2);
    workload.parallel.optimizer_device = OffloadDevice::kCpu;
    workload.parallel.parameter_device = OffloadDevice::kCpu;
    const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads{}, Detail::kFull);
    const double half = 4 * kMatrices / 2 + kNorms * kNormBytes;
    const double bucket = strategy == Strategy::kZero3 ? 2 * 64 * 64 : 0;  // of reductions, in bf16
    // Of both GPUs. Stage 3 has the gradients in bf16 as well; 3,200 of them, of table and head, end in half a granule.
    const double collected = strategy == Strategy::kZero3 ? 2 * kMatrices / 2 + 2 * 256 + kNorms * kNormBytes : 0;
    EXPECT_EQ(estimate.host.parameters, 2 * half);
    EXPECT_EQ(estimate.host.gradients, 2 * (half + collected));
    EXPECT_EQ(estimate.host.optimizer_states, 2 * (2 * half));
    EXPECT_EQ(estimate.phases.between_steps, bucket);
    // Whole layers pass by still.
    EXPECT_GT(estimate.phases.peak_step, 2 * (16384 + 24576));
  }
}

TEST(Sharding, OnlyGradientsInMegatronsBufferStayOnTheCard) {
  Workload workload = Small(Strategy::kFsdp2, 2);
  workload.parallel.optimizer_device = workload.parallel.parameter_device = OffloadDevice::kCpu;
  workload.precision.master_weights = true;
  workload.habits.master_gradients = MasterGradients::kFp32Buffer;
  // Weights in fp32 have no copy to master and no buffer for it: 4 bytes a gradient, of both GPUs.
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  EXPECT_EQ(estimate.host.gradients, 4 * kMatrices + 2 * kNorms * kNormBytes);
  workload.precision.weights = Dtype::kBf16;
  EXPECT_EQ(EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).host.gradients, 0);
}

}  // namespace
}  // namespace tunefit
