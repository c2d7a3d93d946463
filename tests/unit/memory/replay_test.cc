#include "core/memory/replay.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

constexpr Axes kAxes = Axes::Of(1, 1, {});

StorageId AddStorage(Step& step, double bytes) {
  step.storages.push_back({.elements = {bytes, Axis::kOnce}, .dtype = Dtype::kUint8});
  return static_cast<StorageId>(step.storages.size()) - 1;
}

TEST(RoundToGranule, IsCudasAllocator) {
  EXPECT_EQ(RoundToGranule(0), 0);
  EXPECT_EQ(RoundToGranule(1), 512);
  EXPECT_EQ(RoundToGranule(512), 512);
  EXPECT_EQ(RoundToGranule(512.5), 1024);
  EXPECT_EQ(RoundToGranule(5e12 + 1), 5e12 + 512);
  EXPECT_EQ(RoundToGranule(1e22), 1e22);
}

/// A section that allocates 1,024 bytes, 512 more for a moment, and keeps the first.
Step Growing(std::int64_t repeats) {
  Step step;
  const StorageId kept = AddStorage(step, 1024);
  const StorageId moment = AddStorage(step, 512);
  step.events = {{kept, 1}, {moment, 1}, {moment, -1}};
  step.sections = {{0, 3, Moment::kForward, 0, 1, repeats}};
  return step;
}

TEST(ReplayStep, AGrowingSectionPeaksInItsLastRepetition) {
  const Replay replay = ReplayStep(Growing(10), kAxes);
  EXPECT_EQ(replay.peak_forward.bytes, 10 * 1024 + 512);
  EXPECT_EQ(replay.peak_forward.repetition, 9);
  EXPECT_EQ(replay.after_forward, 10 * 1024);
}

TEST(ReplayStep, AShrinkingSectionPeaksInItsFirstRepetition) {
  Step step = Growing(10);
  const StorageId moment = AddStorage(step, 4096);
  step.events.push_back({moment, 1});
  step.events.push_back({moment, -1});
  step.events.push_back({0, -1});
  step.sections.push_back({3, 6, Moment::kBackward, 9, 1, 10});
  const Replay replay = ReplayStep(step, kAxes);
  EXPECT_EQ(replay.peak_backward.bytes, 10 * 1024 + 4096);
  EXPECT_EQ(replay.peak_backward.repetition, 0);
  EXPECT_EQ(replay.after_backward, 0);
}

TEST(CountAlive, CountsRepetitionsThatRan) {
  const Step step = Growing(10);
  const std::vector<std::int64_t> alive = CountAlive(step, ReplayStep(step, kAxes).peak_forward);
  EXPECT_EQ(alive[0], 10);
  EXPECT_EQ(alive[1], 1);
}

TEST(ReplayStep, ResidentsCountAsOftenAsTheModelHasThem) {
  Step step = Growing(1);
  step.weights.push_back({AddStorage(step, 100), 7});
  EXPECT_EQ(ReplayStep(step, kAxes).weights, 7 * 512);
}

}  // namespace
}  // namespace tunefit
