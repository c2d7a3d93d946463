// The time of a step by hand, on a card of round numbers: 1e12 flops and 1e9 bytes a second.
#include "core/time/step_time.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/time/run.h"
#include "tests/support/architectures.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

using test::Ideal, test::RoundCard;

StepCounts OneRank() {
  StepCounts counts;
  counts.ranks.resize(1);
  RankCounts& rank = counts.ranks.front();
  rank.work.matmul = {.forward = 1e12, .recompute = 5e11, .backward = 2e12};
  rank.work.attention = {.forward = 1e11, .recompute = 0, .backward = 2e11};
  rank.work.bytes = 4e9;
  rank.work.kernels = 1000;
  rank.state_bytes = 1e9;
  rank.updated = 1e9;
  counts.micro_batches = 2;
  return counts;
}

StepTime TimeOf(const StepCounts& counts, const Workload& workload, const Efficiencies& efficiencies) {
  const Gpu gpu = RoundCard();
  return TimeStep(counts, workload, gpu, FabricOf(gpu, workload.parallel, {}, 1e6), efficiencies);
}

TEST(StepTime, EveryTermByHand) {
  const StepTime time = TimeOf(OneRank(), test::MakeWorkload(), Ideal());
  EXPECT_DOUBLE_EQ(time[TimeTerm::kMatmul], 2 * 3.0);
  EXPECT_DOUBLE_EQ(time[TimeTerm::kRecompute], 2 * 0.5);
  EXPECT_DOUBLE_EQ(time[TimeTerm::kAttention], 2 * 0.3);
  EXPECT_DOUBLE_EQ(time[TimeTerm::kMemory], 2 * 4.0);
  EXPECT_DOUBLE_EQ(time[TimeTerm::kOptimizer], 2 * 1.0 + 8.0);
  EXPECT_DOUBLE_EQ(time.seconds, 6 + 1 + 0.6 + 8 + 10);
  EXPECT_DOUBLE_EQ(std::accumulate(time.terms.begin(), time.terms.end(), 0.0), time.seconds);
}

TEST(StepTime, KernelsForAmpereWasteTheUnitsOfHopperOnly) {
  Efficiencies efficiencies = Ideal();
  efficiencies.constants[static_cast<std::size_t>(Constant::kOlderAttentionShare)] = 0.5;
  Workload workload = test::MakeWorkload();
  const auto attention = [&](const char* capability) {
    Gpu gpu = RoundCard();
    gpu.compute_capability = capability;
    return TimeStep(OneRank(), workload, gpu, FabricOf(gpu, workload.parallel, {}, 1e6),
                    efficiencies)[TimeTerm::kAttention];
  };
  for (const char* own : {"8.0", "8.9", "12.0"}) EXPECT_DOUBLE_EQ(attention(own), 2 * 0.3) << own;
  for (const char* later : {"9.0", "10.0", "10.3"}) EXPECT_DOUBLE_EQ(attention(later), 2 * 0.6) << later;
  workload.habits.attention_by_generation = true;
  EXPECT_DOUBLE_EQ(attention("9.0"), 2 * 0.3);
}

TEST(StepTime, AStepIsNoFasterThanItsLaunches) {
  Efficiencies efficiencies = Ideal();
  efficiencies.constants[static_cast<std::size_t>(Constant::kKernelSeconds)] = 0.01;
  const StepTime time = TimeOf(OneRank(), test::MakeWorkload(), efficiencies);
  EXPECT_DOUBLE_EQ(time[TimeTerm::kLaunch], 2 * (1000 * 0.01 - 7.8));
  EXPECT_EQ(time.bound, Bound::kHost);
}

TEST(StepTime, APipelineIsIdleWhileItFills) {
  Workload workload = test::MakeWorkload();
  workload.parallel.gpus = workload.parallel.pipeline = 4;
  const StepTime plain = TimeOf(OneRank(), workload, Ideal());
  EXPECT_DOUBLE_EQ(plain[TimeTerm::kBubble], 3 * 7.8);  // (4 - 1) micro-batches
  workload.parallel.interleave = 3;
  EXPECT_DOUBLE_EQ(TimeOf(OneRank(), workload, Ideal())[TimeTerm::kBubble], 7.8);
}

TEST(StepTime, GradientsGoThereAndBackUnderDdp) {
  Workload workload = test::MakeWorkload();
  workload.parallel.gpus = 4;
  workload.parallel.strategy = Strategy::kDdp;
  StepCounts counts = OneRank();
  counts.ranks.front().reduction.bytes = 4e8;
  // Three quarters of them, at 1e8 a second.
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, Ideal())[TimeTerm::kData], 3);
}

// A micro-batch takes 7.8 s, of which half can hide traffic. Twelve seconds of gradients come with the last of two;
// under stage 2, which sends them with each, both hide them.
TEST(StepTime, WhatGoesOnceAStepHidesBehindTheLastMicroBatch) {
  Efficiencies efficiencies = Ideal();
  efficiencies.constants[static_cast<std::size_t>(Constant::kExposedShare)] = 0.1;
  efficiencies.constants[static_cast<std::size_t>(Constant::kHiddenShare)] = 0.5;
  Workload workload = test::MakeWorkload();
  workload.parallel.gpus = 4;
  workload.parallel.strategy = Strategy::kDdp;
  StepCounts counts = OneRank();
  counts.ranks.front().reduction.bytes = 16e8;  // three quarters, at 1e8 a second
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, efficiencies)[TimeTerm::kData], 12 - 0.5 * 7.8);
  workload.parallel.strategy = Strategy::kZero2;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, efficiencies)[TimeTerm::kData], 12 - 0.5 * 15.6);
  counts.ranks.front().reduction.waited_bytes = 4e8;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, efficiencies)[TimeTerm::kData], 12 - 0.5 * 15.6 + 3);
}

TEST(StepTime, TheSlowestRankIsTheStep) {
  StepCounts counts = OneRank();
  counts.ranks.push_back(counts.ranks.front());
  counts.ranks.back().work.bytes *= 2;
  EXPECT_DOUBLE_EQ(TimeOf(counts, test::MakeWorkload(), Ideal())[TimeTerm::kMemory], 2 * 8.0);
}

TEST(StepTime, RangesAreSharesOfTheEstimate) {
  const StepTime time = TimeOf(OneRank(), test::MakeWorkload(), Ideal());
  const Range range = RangeOf(time, Ideal());
  EXPECT_DOUBLE_EQ(range.low, 0.9 * time.seconds);
  EXPECT_DOUBLE_EQ(range.high, 1.2 * time.seconds);
}

TEST(MatrixRates, TheBestMeasuredOneOrAShareOfThePrinted) {
  Gpu gpu = RoundCard();
  EXPECT_EQ(MatrixRate(gpu, Dtype::kBf16, 0.8), 1e12);
  EXPECT_EQ(MatrixRate(gpu, Dtype::kFp16, 0.8), 1e12);  // both types at one rate
  EXPECT_EQ(MatrixRate(gpu, Dtype::kFp8, 0.8), 1e12);   // none: what stands in for it
  gpu.measured.bf16 = 0;
  EXPECT_EQ(MatrixRate(gpu, Dtype::kBf16, 0.8), 1.6e12);
  gpu.kin_share.bf16 = 0.6;
  EXPECT_EQ(MatrixRate(gpu, Dtype::kBf16, 0.8), 1.2e12);
  EXPECT_EQ(MatrixRate(gpu, Dtype::kFp16, 0.8), 1.2e12);
}

TEST(Efficiencies, CardsWithoutARowTakeTheFirst) {
  Efficiencies efficiencies;
  efficiencies.architectures = {{"", 0.5, 1}, {"Ada", 0.9, 2}, {"Blackwell", 0.7, 3}};
  const auto share = [&](const char* architecture, const char* capability) {
    Gpu gpu;
    gpu.architecture = architecture;
    gpu.compute_capability = capability;
    return efficiencies.Of(gpu).matmul_share;
  };
  EXPECT_EQ(share("Turing", "7.5"), 0.5);
  EXPECT_EQ(share("Blackwell", "10.0"), 0.7);
  EXPECT_EQ(share("Blackwell", "12.0"), 0.9) << "an RTX 5090 multiplies as Ada does";
}

TEST(BusyShare, LeavesOutWhatAGpuWaitsFor) {
  StepTime time;
  const std::pair<TimeTerm, double> terms[] = {
      {TimeTerm::kMatmul, 4}, {TimeTerm::kOptimizer, 1}, {TimeTerm::kLaunch, 2}, {TimeTerm::kData, 3}};
  for (const auto& [term, seconds] : terms) time.terms[static_cast<std::size_t>(term)] = seconds;
  time.seconds = 10;
  EXPECT_DOUBLE_EQ(BusyShare(time), 0.5);
  EXPECT_EQ(BusyShare(StepTime{}), 0);
}

// 70B parameters over 2,048 x 16 x 500 tokens on 16 A100 in 13.5 hours: 2.8 %, not the 45.5 % that one card's peak
// beside all cards' tokens gives.
TEST(Utilization, CountsEveryCard) {
  const double flops = 6 * 70e9 * 2048 * 16 * 500;
  EXPECT_NEAR(Utilization(flops, 13.5 * 3600, 16, 312e12), 0.028, 0.0005);
  EXPECT_EQ(Utilization(flops, 0, 16, 312e12), 0);
}

}  // namespace
}  // namespace tunefit
