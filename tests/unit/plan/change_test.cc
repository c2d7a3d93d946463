#include "core/plan/change.h"

#include <gtest/gtest.h>

#include <set>

namespace tunefit {
namespace {

ChangeFigures Figures(Verdict verdict, double bytes, double hours) {
  ChangeFigures figures;
  figures.verdict = verdict;
  figures.device_bytes = {0.9 * bytes, bytes, 1.1 * bytes};
  figures.hours = hours;
  return figures;
}

ChangeOutcome Outcome(Change change, const ChangeFigures& after) { return {change, TraitsOf(change).quality, after}; }

const ChangeFigures kTooLarge = Figures(Verdict::kDoesNotFit, 100, 10);
const ChangeFigures kFitting = Figures(Verdict::kFits, 100, 10);

TEST(Changes, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kChangeCount; ++i) names.insert(ChangeName(static_cast<Change>(i)));
  EXPECT_EQ(names.size(), std::size_t{kChangeCount});
  EXPECT_EQ(ChangeName(Change::kGradientCheckpointing), "gradient_checkpointing");
  EXPECT_EQ(ChangeName(Change::kShorterSequence), "shorter_sequence");
  EXPECT_EQ(ChangeName(Change::kFastestCard), "fastest_card");
}

TEST(Changes, OfARunThatDoesNotFitFreeMemoryOrMakeItFit) {
  const auto told = [](Verdict verdict, double bytes, double hours) {
    return IsWorthTelling(kTooLarge, Outcome(Change::kChunkedLoss, Figures(verdict, bytes, hours)));
  };
  EXPECT_TRUE(told(Verdict::kFits, 99.9, 20));
  EXPECT_TRUE(told(Verdict::kDoesNotFit, 98, 20));
  EXPECT_FALSE(told(Verdict::kDoesNotFit, 98.5, 10));
  EXPECT_TRUE(told(Verdict::kDoesNotFit, 100, 9.7));
  EXPECT_FALSE(told(Verdict::kDoesNotFit, 101, 9));
}

TEST(Changes, OfARunThatFitsSaveTimeOrMemoryForNothing) {
  const auto told = [](Change change, double bytes, double hours) {
    return IsWorthTelling(kFitting, Outcome(change, Figures(Verdict::kFits, bytes, hours)));
  };
  EXPECT_TRUE(told(Change::kNoGradientCheckpointing, 150, 8));
  EXPECT_TRUE(told(Change::kFusedLinearLoss, 90, 10));
  EXPECT_FALSE(told(Change::kFusedLinearLoss, 90, 10.3));
  EXPECT_FALSE(told(Change::kOptimizer8Bit, 50, 10));
  EXPECT_FALSE(IsWorthTelling(kFitting, Outcome(Change::kLargerMicroBatch, Figures(Verdict::kTight, 150, 5))));
}

TEST(Changes, AreComparedByCostOfOneSortOnly) {
  ChangeFigures before = kFitting;
  ChangeFigures after = kFitting;
  before.cost = ChangeCost{100, true};
  after.cost = ChangeCost{50, true};
  EXPECT_EQ(CostShare(before, after), 0.5);
  after.cost->rented = false;
  EXPECT_EQ(CostShare(before, after), 1);
  after.cost.reset();
  EXPECT_EQ(CostShare(before, after), 1);
}

TEST(Changes, AreTimedByHoursElseByTokens) {
  ChangeFigures before = kFitting;
  ChangeFigures after = kFitting;
  before.seconds_per_token = after.seconds_per_token = 1;
  after.hours = 5;
  EXPECT_EQ(TimeShare(before, after), 0.5);
  after.hours.reset();
  EXPECT_EQ(TimeShare(before, after), 1);
  after.seconds_per_token = 3;
  EXPECT_EQ(TimeShare(before, after), 3);
}

TEST(Changes, StandByFitQualityHardwareAndTime) {
  const std::vector<ChangeOutcome> outcomes = {
      Outcome(Change::kChunkedLoss, Figures(Verdict::kDoesNotFit, 90, 10)),
      Outcome(Change::kSmallestCard, Figures(Verdict::kFits, 100, 1)),
      Outcome(Change::kLora, Figures(Verdict::kFits, 20, 2)),
      Outcome(Change::kOptimizer8Bit, Figures(Verdict::kFits, 70, 10)),
      Outcome(Change::kOffloadOptimizer, Figures(Verdict::kFits, 60, 30)),
      Outcome(Change::kGradientCheckpointing, Figures(Verdict::kFits, 50, 13)),
      Outcome(Change::kFusedKernels, Figures(Verdict::kDoesNotFit, 80, 10)),
      Outcome(Change::kZero2, Figures(Verdict::kDoesNotFit, 99, 11)),
      Outcome(Change::kFlashAttention, Figures(Verdict::kTight, 95, 9)),
  };
  EXPECT_EQ(InOrder(kTooLarge, outcomes), (std::vector<std::size_t>{5, 4, 1, 3, 2, 8, 6, 0}));
}

TEST(Changes, OfARunThatFitsStandByQualityAndTime) {
  const std::vector<ChangeOutcome> outcomes = {
      Outcome(Change::kLora, Figures(Verdict::kFits, 20, 2)),
      Outcome(Change::kFlashAttention, Figures(Verdict::kFits, 99, 9)),
      Outcome(Change::kNoGradientCheckpointing, Figures(Verdict::kFits, 140, 8)),
  };
  EXPECT_EQ(InOrder(kFitting, outcomes), (std::vector<std::size_t>{2, 1, 0}));
}

}  // namespace
}  // namespace tunefit
