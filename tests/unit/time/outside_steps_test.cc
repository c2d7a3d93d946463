#include "core/time/outside_steps.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

Range Certain(double value) { return {value, value, value}; }

/// 1 GB/s, a failure in 100,000 seconds of one GPU, and 100 seconds to start again.
OutsideRates Round() { return {Certain(1e9), Certain(100'000), Certain(100)}; }

TEST(OutsideSteps, AShortRunSavesAtTheEndOfEachEpoch) {
  // 3 epochs in 300 s: saves of 2 s, each 100 s apart. A failure costs 100 s and half of 100 s: 0.0015 of the time.
  const OutsideSteps outside = OutsideStepsOf(Certain(300), {16e9, 2e9}, 3, 1, Round());
  EXPECT_DOUBLE_EQ(outside.start.expected, 16);
  EXPECT_DOUBLE_EQ(outside.saves, 3);
  EXPECT_DOUBLE_EQ(outside.saving.expected, 6);
  EXPECT_NEAR(outside.lost.expected, 306 / (1 - 0.0015) - 306, 1e-12);
  EXPECT_NEAR(outside.interruptions, 306 / (1 - 0.0015) / 100'000, 1e-12);
  EXPECT_NEAR(outside.total().expected, 22 + outside.lost.expected, 1e-12);
}

TEST(OutsideSteps, ALongRunSavesAsOftenAsCostsLeast) {
  // 8 GPUs fail every 12,500 s: with saves of 16 s, sqrt(2 · 16 · 12,500) = 632.5 s between them, in 63,246 s 100.
  const OutsideSteps outside = OutsideStepsOf(Certain(63'245.553'203'367'59), {0, 16e9}, 1, 8, Round());
  EXPECT_NEAR(outside.saves, 100, 1e-9);
  EXPECT_NEAR(outside.saving.expected, 1600, 1e-6);
  // A failure costs 100 s and half of 632.5 s, of 12,500 s: the 64,846 s take so much longer.
  const double share = (100 + 632.455'532'033'675'9 / 2) / 12'500;
  EXPECT_NEAR(outside.lost.expected, 64'845.553'203'367'59 * share / (1 - share), 1e-6);
  EXPECT_NEAR(outside.interruptions, (64'845.553'203'367'59 + outside.lost.expected) / 12'500, 1e-9);
}

TEST(OutsideSteps, NothingToWriteIsNotWaitedFor) {
  const OutsideSteps outside = OutsideStepsOf(Certain(300), {0, 0}, 1, 1, Round());
  EXPECT_EQ(outside.saving.expected, 0);
  EXPECT_EQ(outside.start.expected, 0);
}

TEST(OutsideSteps, TheRangeIsFromAllAtTheirBestToAllAtTheirWorst) {
  const OutsideRates rates = {{1e9, 2e9, 4e9}, {50'000, 100'000, 200'000}, {60, 100, 200}};
  const OutsideSteps outside = OutsideStepsOf({90, 100, 120}, {8e9, 8e9}, 1, 1, rates);
  EXPECT_DOUBLE_EQ(outside.start.low, 2);
  EXPECT_DOUBLE_EQ(outside.start.expected, 4);
  EXPECT_DOUBLE_EQ(outside.start.high, 8);
  const auto lost = [](double work, double share) { return work * share / (1 - share); };
  EXPECT_NEAR(outside.lost.low, lost(90 + 2, (60 + 45) / 200'000.0), 1e-9);
  EXPECT_NEAR(outside.lost.high, lost(120 + 8, (200 + 60) / 50'000.0), 1e-9);
}

TEST(OutsideSteps, SixteenThousandGpusTrainNineTenthsOfTheTime) {
  // Llama 3 405B says "higher than 90 %" of its 54 days. Its 4.9 TB of weights and states are on 2,048 machines, which
  // fail every 50,700 GPU-hours and write 0.98 GB/s each.
  const OutsideRates rates = {Certain(0.98e9), Certain(50'700 * 3600.0), Certain(660)};
  const double steps = 54 * 86'400.0;
  const double waits = OutsideStepsOf(Certain(steps), {810e9, 4.9e12 / 2048}, 1, 16'384, rates).total().expected;
  EXPECT_GT(steps / (steps + waits), 0.90);
  EXPECT_LT(steps / (steps + waits), 0.95);
}

TEST(OutsideSteps, NoMoreThanNineTenthsAreLost) {
  const OutsideSteps outside = OutsideStepsOf(Certain(1000), {0, 0}, 1, 1'000'000, Round());
  EXPECT_NEAR(outside.lost.expected, 9000, 1e-6);
}

TEST(OutsideSteps, PartOfAnEpochEndsWithASave) {
  EXPECT_DOUBLE_EQ(OutsideStepsOf(Certain(300), {0, 1e9}, 0.25, 1, Round()).saves, 1);
  EXPECT_DOUBLE_EQ(OutsideStepsOf(Certain(300), {0, 1e9}, 2.5, 1, Round()).saves, 3);
}

}  // namespace
}  // namespace tunefit
