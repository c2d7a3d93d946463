#include "core/memory/reserved.h"

#include <gtest/gtest.h>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kMiB = 1 << 20;

/// A step of hand-made storages: sizes in MiB, one byte an element.
class HandMadeStep {
 public:
  StorageId Add(double mebibytes) {
    Storage storage;
    storage.elements = {mebibytes * kMiB, Axis::kTokens};
    storage.dtype = Dtype::kUint8;
    step.storages.push_back(storage);
    return static_cast<StorageId>(step.storages.size() - 1);
  }
  void Section(Moment moment, std::int64_t repeats, const std::vector<Event>& events) {
    tunefit::Section section;
    section.first_event = static_cast<std::int32_t>(step.events.size());
    step.events.insert(step.events.end(), events.begin(), events.end());
    section.end_event = static_cast<std::int32_t>(step.events.size());
    section.moment = moment;
    section.repeats = repeats;
    step.sections.push_back(section);
  }
  double Reserved(const AllocatorUse& use = {}) const { return ReservedFor({1}, use); }
  /// Steps of so many tokens, one after another.
  double ReservedFor(const std::vector<double>& lengths, const AllocatorUse& use = {}) const {
    std::vector<AllocatorPlan> plans;
    for (const double tokens : lengths) plans.emplace_back(step, Axes::Of(1, tokens, {}));
    return ReservedBytes(plans, use) / kMiB;
  }

  Step step;
};

TEST(ReservedBytes, WeightsFillTheirSegments) {
  HandMadeStep hand;
  hand.step.weights = {{hand.Add(12), 3}, {hand.Add(7), 3}, {hand.Add(0.25), 9}};
  // 3 x 12; two segments of 20 for three of 7; 2.25 of small ones in segments of 2.
  EXPECT_EQ(hand.Reserved(), 36 + 40 + 4);
}

TEST(ReservedBytes, AHoleThatDoesNotFitIsKept) {
  HandMadeStep hand;
  const StorageId a = hand.Add(30), b = hand.Add(40);
  hand.Section(Moment::kForward, 1, {{a, 1}, {a, -1}, {b, 1}, {b, -1}});
  EXPECT_EQ(hand.Reserved(), 70);  // 40 alive at most: the 30 is free, too small, and stays
  EXPECT_EQ(hand.Reserved({.full_card = true}), 40);
  EXPECT_EQ(hand.Reserved({.expandable_segments = true}), 40);
}

TEST(ReservedBytes, StatesLandInTheFirstStepsHoles) {
  HandMadeStep hand;
  const StorageId weight = hand.Add(20), activation = hand.Add(20);
  hand.step.weights = {{weight, 1}};
  hand.step.optimizer_states = {{hand.Add(20), 1}};
  hand.Section(Moment::kForward, 1, {{activation, 1}});
  hand.Section(Moment::kBackward, 1, {{activation, -1}});
  // The state takes the activation's place after the first step; the second step's activation needs another.
  EXPECT_EQ(hand.Reserved(), 60);
}

TEST(ReservedBytes, OneTracedLayerStandsForMany) {
  // Each layer makes its output and frees its input, which the first layer made under another name.
  HandMadeStep hand;
  const StorageId first = hand.Add(30), other = hand.Add(30);
  hand.Section(Moment::kForward, 1, {{first, 1}});
  hand.Section(Moment::kForward, 9, {{other, 1}, {first, -1}});
  hand.Section(Moment::kBackward, 1, {{other, -1}});
  EXPECT_EQ(hand.Reserved(), 60);  // two at a time
}

TEST(ReservedBytes, ALongerBatchFitsInNothingThatWasKept) {
  HandMadeStep hand;
  const StorageId logits = hand.Add(50);
  hand.Section(Moment::kForward, 1, {{logits, 1}, {logits, -1}});
  EXPECT_EQ(hand.ReservedFor({4}), 200);
  EXPECT_EQ(hand.ReservedFor({2, 3, 4}), 100 + 150 + 200);
  EXPECT_EQ(hand.ReservedFor({4, 3, 2}), 200);                                 // shorter ones do fit
  EXPECT_EQ(hand.ReservedFor({2, 3, 4}, {.full_card = true}), 200);            // and a full card gives them back
  EXPECT_EQ(hand.ReservedFor({2, 3, 4}, {.expandable_segments = true}), 200);  // one segment grows
}

TEST(ReservedBytes, TwoWorkspacesOfTheMathLibrary) {
  HandMadeStep hand;
  const StorageId a = hand.Add(30);
  hand.Section(Moment::kForward, 1, {{a, 1}});
  hand.Section(Moment::kBackward, 1, {{a, -1}});
  EXPECT_EQ(hand.Reserved({.workspace_bytes = 8.125 * kMiB}), 30 + 20);  // both in one segment of 20
}

TEST(ReservedBytes, IsNeverBelowWhatIsAlive) {
  for (const Checkpointing checkpointing : {Checkpointing::kNone, Checkpointing::kFull}) {
    Workload workload = test::MakeWorkload();
    workload.checkpointing = checkpointing;
    const Step step = TraceTrainingStep(workload);
    for (const double tokens : {256, 1000, 4096}) {
      const Axes axes = Axes::Of(1, tokens, step.chunk);
      const Replay replay = ReplayStep(step, axes);
      const AllocatorPlan plan(step, axes);
      EXPECT_GE(ReservedBytes({&plan, 1}, {}), std::max(replay.peak_forward.bytes, replay.peak_backward.bytes));
    }
  }
}

}  // namespace
}  // namespace tunefit
