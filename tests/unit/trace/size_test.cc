#include "core/trace/size.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

TEST(Axes, AreProductsOfBatchAndLength) {
  const Axes axes = Axes::Of(3, 100, {.tokens = 256});
  EXPECT_EQ(axes({7, Axis::kOnce}), 7);
  EXPECT_EQ(axes({7, Axis::kLength}), 700);
  EXPECT_EQ(axes({2, Axis::kTokens}), 600);
  EXPECT_EQ(axes({1, Axis::kScores}), 30'000);
  EXPECT_EQ(axes({1, Axis::kChunk}), 256);
}

TEST(Axes, CopiesForASingleSequenceCostNothing) {
  EXPECT_EQ(Axes::Of(1, 100, {})(IfBatched({64, Axis::kTokens})), 0);
  EXPECT_EQ(Axes::Of(2, 100, {})(IfBatched({64, Axis::kTokens})), 12'800);
}

TEST(ChunkRule, NeverExceedsTheTokensThereAre) {
  EXPECT_EQ((ChunkRule{.tokens = 256}).Tokens(100), 100);
  EXPECT_EQ((ChunkRule{.tokens = 256}).Tokens(1000), 256);
}

TEST(ChunkRule, LigerTakesThePowerOfTwoAboveAShare) {
  // Vocabulary 128256 over hidden 4096 rounds up to 32; 16384 / 32 = 512 tokens, a power of two already.
  const ChunkRule rule{.tokens = 0, .power_of_two_share = 32};
  EXPECT_EQ(rule.Tokens(16'384), 512);
  EXPECT_EQ(rule.Tokens(16'385), 1024);
  EXPECT_EQ(rule.Tokens(1), 1);
}

TEST(Size, AChangeOfWidthIsExact) {
  // 448 x (432 / 448) is a bit below 432, and a sum with a tensor of 432 would count as one that was broadcast.
  for (double from = 1; from <= 700; ++from) {
    for (double to = 1; to <= 700; ++to) {
      const Size narrow = Size{3 * from, Axis::kTokens} * to / from;
      ASSERT_EQ(narrow.coefficient, 3 * to) << from << " to " << to;
    }
  }
}

}  // namespace
}  // namespace tunefit
