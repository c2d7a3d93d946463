#include "core/time/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/time/row_length.h"
#include "tests/support/architectures.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

Workload WithBatch(Packing packing) {
  Workload workload = test::MakeWorkload();
  workload.batch = {.per_device = 4, .gradient_accumulation = 1, .sequence_length = 2048, .packing = packing};
  return workload;
}

Dataset Examples(double examples, double mean_tokens, double epochs = 1) {
  return {.examples = examples, .mean_tokens = mean_tokens, .tokens = {}, .epochs = epochs};
}

TEST(RunLength, EveryExampleIsPaddedUnlessPacked) {
  const Dataset dataset = Examples(1000, 512, 2);
  const auto padded = LengthOf(dataset, WithBatch(Packing::kNone));
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->steps, 500);
  EXPECT_EQ(padded->trained_tokens, 1000 * 512 * 2);
  EXPECT_EQ(padded->computed_tokens, 500 * 4 * 2048);
  EXPECT_EQ(padded->filled_tokens, 1000 * 2 * 2048);
  EXPECT_EQ(padded->row_tokens, 2048);
  EXPECT_EQ(padded->waited_tokens, 2048);
  const auto packed = LengthOf(dataset, WithBatch(Packing::kPacked));
  EXPECT_EQ(packed->steps, 126) << "62.5 an epoch, whole ones";
  EXPECT_EQ(packed->row_tokens, 2048);
  EXPECT_EQ(packed->filled_tokens, packed->trained_tokens);
}

TEST(RunLength, TokensAloneAreEnough) {
  const Dataset dataset{.examples = {}, .mean_tokens = {}, .tokens = 1e6, .epochs = 1};
  EXPECT_EQ(LengthOf(dataset, WithBatch(Packing::kPacked))->steps, 123);  // 122.07
  EXPECT_FALSE(LengthOf({}, WithBatch(Packing::kPacked)));
}

TEST(RunLength, TokensOverExamplesAreTheirMean) {
  const Dataset dataset{.examples = 1000, .mean_tokens = {}, .tokens = 512e3, .epochs = 1};
  Workload workload = WithBatch(Packing::kNone);
  workload.batch.per_device = 1;
  workload.habits.pads_to_longest = true;
  EXPECT_EQ(LengthOf(dataset, workload)->row_tokens, 512);
}

TEST(RunLength, LongerExamplesAreCut) {
  EXPECT_EQ(LengthOf(Examples(8, 4096), WithBatch(Packing::kNone))->trained_tokens, 8 * 2048);
}

TEST(RunLength, StepsOfAnEpochAreWhole) {
  EXPECT_EQ(LengthOf(Examples(9, 2048, 3), WithBatch(Packing::kNone))->steps, 9);
  EXPECT_EQ(LengthOf(Examples(9, 2048, 0.5), WithBatch(Packing::kNone))->steps, 2);
}

// One row is its own longest, so nothing is padded at batch 1: an hour's run is not four hours because rows could have
// been four times as long.
TEST(RunLength, RowsArePaddedToTheLongestOfTheirMicroBatch) {
  Workload workload = WithBatch(Packing::kNone);
  workload.habits.pads_to_longest = true;
  const auto four = LengthOf(Examples(1000, 128), workload);
  EXPECT_NEAR(four->row_tokens, 128 * (1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4), 1)
      << "a limit of 16 means cuts next to nothing";
  EXPECT_EQ(four->waited_tokens, four->row_tokens);
  EXPECT_DOUBLE_EQ(four->computed_tokens, 250 * 4 * four->row_tokens);
  EXPECT_EQ(four->filled_tokens, 1000 * 2048);
  workload.batch.per_device = 1;
  EXPECT_EQ(LengthOf(Examples(1000, 128), workload)->computed_tokens, 1000 * 128);
}

TEST(RunLength, GpusWaitForTheLongestRowOfAll) {
  Workload workload = WithBatch(Packing::kNone);
  workload.habits.pads_to_longest = true;
  workload.batch.per_device = 1;
  workload.batch.gradient_accumulation = 4;
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kDdp;
  const auto ddp = LengthOf(Examples(1000, 128), workload);
  EXPECT_EQ(ddp->row_tokens, 128);
  EXPECT_NEAR(ddp->waited_tokens, 128 + 0.5 * 64, 1) << "they meet once in four micro-batches";
  workload.parallel.strategy = Strategy::kFsdp2;
  EXPECT_NEAR(LengthOf(Examples(1000, 128), workload)->waited_tokens, 128 + 64, 1);
}

TEST(EstimateTime, CardsOfADeviceMapWorkOneAfterAnother) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.batch = {.per_device = 2, .gradient_accumulation = 3, .sequence_length = 64};
  const auto timed = [&] {
    return EstimateTime(workload, TraceJob(workload), test::RoundCard(), {}, test::Ideal(), Examples(600, 64));
  };
  const TimeEstimate one = timed();
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kDeviceMap;
  const TimeEstimate two = timed();
  EXPECT_NEAR(two.step[TimeTerm::kMatmul], one.step[TimeTerm::kMatmul], 1e-9 * one.step[TimeTerm::kMatmul]);
  EXPECT_EQ(two.tokens_per_step, one.tokens_per_step) << "one process";
  EXPECT_EQ(two.run->steps, one.run->steps);
  EXPECT_LT(two.step[TimeTerm::kOptimizer], one.step[TimeTerm::kOptimizer]) << "each updates its layers";
  EXPECT_GE(two.step[TimeTerm::kOptimizer], one.step[TimeTerm::kOptimizer] / 2);
  const auto flops = [](const TimeEstimate& time, double gpus) {
    return time.model_flops_utilization * time.step.seconds * gpus;
  };
  EXPECT_NEAR(flops(two, 2), flops(one, 1), 1e-9 * flops(one, 1)) << "each counted once";
  EXPECT_NEAR(BusyShare(one, {}), 1, 1e-9);
  EXPECT_NEAR(BusyShare(two, workload.parallel), 0.5, 1e-9) << "the other one waits";
  double terms = 0;
  for (const double term : two.step.terms) terms += term;
  EXPECT_NEAR(two.step.seconds, terms, 1e-9 * terms);
}

TEST(LongestOf, EndsAtTheLimit) {
  EXPECT_EQ(LongestOf(8, 2048, 2048), 2048);
  EXPECT_EQ(LongestOf(1, 300, 2048), 300);
  EXPECT_NEAR(LongestOf(1'000'000, 300, 2048), 2048, 1);
  double before = 0;
  for (std::int64_t rows = 1; rows <= 64; rows *= 2) {
    const double longest = LongestOf(rows, 700, 2048);
    EXPECT_GT(longest, before);
    EXPECT_LE(longest, 2048);
    before = longest;
  }
}

// Against lengths drawn at equal steps of their distribution: -m ln(1 - u), cut.
TEST(LongestOf, IsTheExpectedMaximumOfCutExponentials) {
  const double uncut = 900;
  const double limit = 1024;
  const double mean = uncut * (1 - std::exp(-limit / uncut));
  constexpr int kSteps = 200'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double of_four = std::pow((i + 0.5) / kSteps, 1.0 / 4);  // the largest of four shares
    sum += std::min(limit, -uncut * std::log(1 - of_four));
  }
  EXPECT_NEAR(LongestOf(4, mean, limit), sum / kSteps, 0.01 * limit / 100);
}

}  // namespace
}  // namespace tunefit
