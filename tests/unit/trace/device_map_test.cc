// Where accelerate's device_map="auto" places layers, worked out by hand on Llama 3.1 8B in bf16.
//
// A layer: q and o 16,777,216 each, k and v 4,194,304 each, the MLP 176,160,768, norms 8,192: 218,112,000 parameters,
// 436,224,000 bytes. The table and the head 525,336,576 parameters, 1,050,673,152 bytes each, and a norm of 8,192
// bytes. In all 16,060,522,496 bytes.

#include "core/model/device_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/memory/estimate.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload Placed(std::int64_t gpus, bool tied = false) {
  Workload workload = test::MakeWorkload({.tied = tied});
  workload.parallel.strategy = Strategy::kDeviceMap;
  workload.parallel.gpus = gpus;
  return workload;
}

std::vector<std::int64_t> LayersOf(const std::vector<DevicePlace>& places) {
  std::vector<std::int64_t> layers;
  for (const DevicePlace& place : places) layers.push_back(place.layers);
  return layers;
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).phases;
}

TEST(DeviceMap, LeavesTheFirstCardRoomForTheLargestModule) {
  // A card takes 16,060,522,496 / 2 + 1.25 x 436,224,000 = 8,575,541,248 bytes, the first less by the head with its
  // norm, 1,050,681,344, and its table: 6,474,186,752 are 14 layers. All else is the last one's.
  const std::vector<DevicePlace> two = PlaceOnDevices(Placed(2));
  EXPECT_EQ(LayersOf(two), (std::vector<std::int64_t>{14, 18}));
  EXPECT_TRUE(two[0].has_embedding && !two[0].has_head);
  EXPECT_TRUE(!two[1].has_embedding && two[1].has_head);
  EXPECT_EQ(two[1].first_layer, 14);
  // 16,060,522,496 / 3 + 545,280,000 = 5,898,787,498: 8 layers, then 13, then the rest.
  EXPECT_EQ(LayersOf(PlaceOnDevices(Placed(3))), (std::vector<std::int64_t>{8, 13, 11}));
  EXPECT_EQ(LayersOf(PlaceOnDevices(Placed(1))), (std::vector<std::int64_t>{32}));
}

TEST(DeviceMap, ATiedHeadIsWhereItsTableIs) {
  const std::vector<DevicePlace> places = PlaceOnDevices(Placed(2, true));
  EXPECT_TRUE(places[0].has_head);
  EXPECT_FALSE(places[1].has_head);
  // 15,009,849,344 / 2 + 545,280,000 - a layer and the table = 6,563,307,520: 15 layers
  EXPECT_EQ(LayersOf(places), (std::vector<std::int64_t>{15, 17}));
}

TEST(DeviceMap, TheCardsHoldTheModelOnce) {
  const Workload placed = Placed(3);
  double sum = 0;
  for (const DevicePlace& place : PlaceOnDevices(placed)) {
    Workload card = DeviceOf(placed, place);
    card.parallel = {};
    sum += PhasesOf(card).static_bytes;
  }
  EXPECT_EQ(sum, PhasesOf(test::MakeWorkload()).static_bytes);
  EXPECT_EQ(EstimateMemory(placed, nullptr, Overheads{}, Detail::kSummary).disk_bytes,
            EstimateMemory(test::MakeWorkload(), nullptr, Overheads{}, Detail::kSummary).disk_bytes);
}

TEST(DeviceMap, TheBusiestOfThreeIsTheLast) {
  // 11 layers and the head, 11 x 218,112,000 + 525,340,672 = 2,924,572,672 parameters, against 13 layers'
  // 2,835,456,000. Full bf16 training: weights and two moments, 2 bytes each.
  Workload workload = Placed(3);
  workload.optimizer = Optimizer::kAdamwForeach;  // no counters
  EXPECT_EQ(PhasesOf(workload).between_steps, 6 * 2'924'572'672.0);
}

TEST(DeviceMap, TheLogitsComeBackToTheFirstCard) {
  Workload workload = Placed(2);
  workload.precision.autocast = true;
  Workload first = DeviceOf(workload, PlaceOnDevices(workload).front());
  first.checkpointing = Checkpointing::kFull;
  first.parallel = {};
  const Phases with = PhasesOf(first);
  first.stage.gets_logits = false;
  const Phases without = PhasesOf(first);
  // 2,048 tokens of 128,256 words in bf16, and cast to fp32, at the end of the forward pass
  EXPECT_EQ(with.peak_forward, without.after_forward + 6.0 * 2048 * 128256);
  EXPECT_EQ(with.after_forward, without.after_forward);
  EXPECT_EQ(with.peak_backward, without.peak_backward);
}

// The head of a tied model works on states that come back from the last layers' card, and asks for their gradient
// though nothing of the first card, which has no layer here, trains: its loss keeps what it keeps on one card.
TEST(DeviceMap, AHeadOnTheFirstCardGetsTheLastLayersStates) {
  Workload whole = test::MakeWorkload(test::SmallSizes(1, 3000, true));
  whole.method.kind = MethodKind::kLora;
  whole.method.rank = 4;
  Workload placed = whole;
  placed.parallel.strategy = Strategy::kDeviceMap;
  placed.parallel.gpus = 2;
  const std::vector<DevicePlace> places = PlaceOnDevices(placed);
  ASSERT_EQ(LayersOf(places), (std::vector<std::int64_t>{0, 1}));
  const auto kept_logits = [](const Workload& of) {
    const MemoryEstimate estimate = EstimateMemory(of, nullptr, Overheads{}, Detail::kFull);
    double bytes = 0;
    for (const TermBytes& term : estimate.terms) bytes += term.term == Term::kLogitsAndLoss ? term.bytes : 0;
    return bytes;
  };
  EXPECT_GT(kept_logits(whole), 0);
  EXPECT_EQ(kept_logits(DeviceOf(whole, places[0])), kept_logits(whole));
}

// Logits that an evaluation keeps are on the last card: it is the busiest though training fills the others more.
TEST(DeviceMap, TheBusiestCardIsSoWithTheEvaluation) {
  Workload placed = Placed(4);
  placed.method.kind = MethodKind::kLora;
  placed.evaluation.per_device = 64;
  double most = 0;
  for (const RankMemory& rank : EstimateRanks(placed, nullptr, Overheads{})) {
    most = std::max(most, rank.phases.peak_step);
  }
  EXPECT_EQ(PhasesOf(placed).peak_step, most);
}

TEST(DeviceMap, MoreCardsThanLayersLeaveSomeIdle) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.parallel.strategy = Strategy::kDeviceMap;
  workload.parallel.gpus = 16;
  EXPECT_LE(PlaceOnDevices(workload).size(), 4U);
  EXPECT_GT(PhasesOf(workload).peak_step, 0);
}

}  // namespace
}  // namespace tunefit
