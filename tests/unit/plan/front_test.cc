// What stays in a front: by hand, with a tenth of the cost and a fifth of the time as alike.
#include "core/plan/front.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

Candidate Taking(double hours, double cost) {
  Candidate candidate;
  candidate.seconds = Exactly(hours * 3600);
  candidate.cost = Exactly(cost);
  return candidate;
}

std::size_t SizeWith(const std::vector<Candidate>& candidates) {
  Front front;
  for (const Candidate& candidate : candidates) front.Add(candidate);
  return front.candidates().size();
}

TEST(Front, KeepsWhatIsBetterInSomething) {
  EXPECT_EQ(SizeWith({Taking(10, 100), Taking(5, 200), Taking(20, 50)}), 3);
  EXPECT_EQ(SizeWith({Taking(10, 100), Taking(20, 200)}), 1);
}

TEST(Front, DropsWhatIsWorseThanALaterOne) {
  Front front;
  front.Add(Taking(20, 200));
  front.Add(Taking(10, 100));
  ASSERT_EQ(front.candidates().size(), 1);
  EXPECT_EQ(front.candidates().front().cost.expected, 100);
}

TEST(Front, TakesNearlyTheSameOnce) {
  // 12 hours are a fifth over 10, and 300 seconds more are alike to any time.
  EXPECT_EQ(SizeWith({Taking(12, 100), Taking(10, 105)}), 1);
  EXPECT_EQ(SizeWith({Taking(12, 100), Taking(9.8, 105)}), 2);
  // 110.25 are a tenth over 100 and small change.
  EXPECT_EQ(SizeWith({Taking(10, 110.25), Taking(10, 100)}), 1);
  EXPECT_EQ(SizeWith({Taking(10, 110.5), Taking(10.1, 100)}), 2);
}

TEST(Front, ReplacesWhatMayNotFitByWhatDoes) {
  Candidate tight = Taking(10, 100);
  tight.verdict = Verdict::kTight;
  EXPECT_EQ(SizeWith({tight, Taking(11, 105)}), 1);
  EXPECT_EQ(SizeWith({tight, Taking(13, 105)}), 2);
  EXPECT_EQ(SizeWith({Taking(11, 105), tight}), 1);
}

TEST(Front, HoldsOnlyLikeAgainstLike) {
  Candidate bought = Taking(10, 100);
  bought.supply.by = Acquisition::kBuy;
  Candidate adapter = Taking(10, 100);
  adapter.choice.method = TunedBy::kLora;
  Candidate cards = bought;
  cards.supply.price_is_whole = false;
  EXPECT_EQ(SizeWith({Taking(10, 100), bought, adapter}), 3);
  // A machine for the price of its cards is better than the cards.
  EXPECT_EQ(SizeWith({bought, cards}), 1);
  cards.cost = Exactly(30);
  EXPECT_EQ(SizeWith({bought, cards}), 2);
}

}  // namespace
}  // namespace tunefit
