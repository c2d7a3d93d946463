#include "core/plan/combination.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tunefit {
namespace {

constexpr double kCard = 50;

/// A run of 100 bytes on a card of 50, of which each change takes a share away. Whatever is tried together is counted.
class Combinations : public testing::Test {
 protected:
  void Add(Change change, double keeps, double slower = 1) {
    keeps_.push_back(keeps);
    slower_.push_back(slower);
    ChangeOutcome outcome;
    outcome.change = change;
    outcome.quality = TraitsOf(change).quality;
    outcome.after = After({keeps_.size() - 1});
    outcomes_.push_back(outcome);
  }

  ChangeFigures After(const std::vector<std::size_t>& places) const {
    double bytes = 100;
    double hours = 10;
    for (const std::size_t place : places) {
      bytes *= keeps_[place];
      hours *= slower_[place];
    }
    ChangeFigures figures;
    figures.verdict = bytes <= kCard ? Verdict::kFits : Verdict::kDoesNotFit;
    figures.device_bytes = {bytes, bytes, bytes};
    figures.hours = hours;
    return figures;
  }

  Combination Find(ChangeQuality most = ChangeQuality::kCutsRows) {
    return Combine(After({}), outcomes_, most, [this](const std::vector<std::size_t>& places) {
      ++tries_;
      return std::optional(After(places));
    });
  }

  std::vector<double> keeps_, slower_;
  std::vector<ChangeOutcome> outcomes_;
  int tries_ = 0;
};

TEST_F(Combinations, TakeWhatHarmsLeastFirst) {
  Add(Change::kLora, 0.1);
  Add(Change::kOptimizer8Bit, 0.6);
  Add(Change::kGradientCheckpointing, 0.7, 1.3);
  Add(Change::kFusedLinearLoss, 0.8);
  const Combination found = Find();
  EXPECT_EQ(found.places, (std::vector<std::size_t>{3, 1}));  // running layers again is not needed beside these
  EXPECT_EQ(found.after.verdict, Verdict::kFits);
  EXPECT_LE(tries_, 6);
}

TEST_F(Combinations, CountSlowChangesAsHarm) {
  Add(Change::kOffloadParameters, 0.3, 4);
  Add(Change::kGradientCheckpointing, 0.6);
  Add(Change::kFusedLinearLoss, 0.7);
  EXPECT_EQ(Find().places, (std::vector<std::size_t>{1, 2}));
}

TEST_F(Combinations, HoldOneOfAKind) {
  Add(Change::kChunkedLoss, 0.8);
  Add(Change::kFusedLinearLoss, 0.9);
  Add(Change::kGradientCheckpointing, 0.6);
  const Combination found = Find();
  EXPECT_EQ(found.places, (std::vector<std::size_t>{2, 0}));
}

TEST_F(Combinations, StopAtTheHarmThatIsAllowed) {
  Add(Change::kLora, 0.6);
  Add(Change::kGradientCheckpointing, 0.7);
  const Combination found = Find(ChangeQuality::kSlight);
  EXPECT_EQ(found.after.verdict, Verdict::kDoesNotFit);
  EXPECT_EQ(found.places, (std::vector<std::size_t>{1}));
  EXPECT_EQ(Find().places, (std::vector<std::size_t>{1, 0}));
}

TEST_F(Combinations, LeaveHardwareToOthers) {
  Add(Change::kSmallestCard, 0.1);
  Add(Change::kMoreGpus, 0.1);
  EXPECT_TRUE(Find().places.empty());
}

TEST_F(Combinations, LookAgainAtWhatFreedNothing) {
  Add(Change::kGradientCheckpointing, 0.7);
  Add(Change::kFusedLinearLoss, 1);
  Add(Change::kFusedKernels, 0.9);
  // The loss decides the peak once the layers and their kernels have less.
  const Combination found =
      Combine(After({}), outcomes_, ChangeQuality::kNone, [this](const std::vector<std::size_t>& places) {
        const auto has = [&places](std::size_t place) {
          return std::find(places.begin(), places.end(), place) != places.end();
        };
        ChangeFigures after = After(places);
        if (has(0) && has(1) && has(2)) {
          after.device_bytes.expected = 40;
          after.verdict = Verdict::kFits;
        }
        return std::optional(after);
      });
  EXPECT_EQ(found.after.verdict, Verdict::kFits);
  EXPECT_EQ(found.places, (std::vector<std::size_t>{0, 2, 1}));
}

TEST_F(Combinations, LeaveOutWhatDoesNotGoTogether) {
  Add(Change::kGradientCheckpointing, 0.7);
  Add(Change::kFusedKernels, 0.8);
  Add(Change::kOptimizer8Bit, 0.7);
  const Combination found = Combine(After({}), outcomes_, ChangeQuality::kSlight,
                                    [this](const std::vector<std::size_t>& places) -> std::optional<ChangeFigures> {
                                      if (places == std::vector<std::size_t>{0, 1}) return std::nullopt;
                                      return After(places);
                                    });
  EXPECT_EQ(found.places, (std::vector<std::size_t>{0, 2}));
}

}  // namespace
}  // namespace tunefit
