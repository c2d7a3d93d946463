// Eight GPUs a machine, links of 400, PCIe of 50, a network of 50 bytes a second a GPU.
#include "core/time/links.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

Gpu Linked(LinkTopology link, std::int64_t link_gpus) {
  Gpu gpu;
  gpu.link = link;
  gpu.link_gpus = link_gpus;
  gpu.link_bytes_per_second = link == LinkTopology::kNone ? 0 : 400;
  gpu.host_bytes_per_second = 50;
  return gpu;
}

Parallel Of(std::int64_t gpus) {
  Parallel parallel;
  parallel.gpus = gpus;
  return parallel;
}

TEST(Links, ASwitchJoinsTheMachine) {
  const Fabric fabric = FabricOf(Linked(LinkTopology::kSwitch, 8), Of(16), {}, 50);
  EXPECT_EQ(fabric.domain_gpus, 8);
  EXPECT_EQ(RingBytesPerSecond(fabric, 8, 1), 400);
}

TEST(Links, ARacksSwitchJoinsMachines) {
  EXPECT_EQ(FabricOf(Linked(LinkTopology::kSwitch, 72), Of(72), {}, 50).domain_gpus, 72);
  EXPECT_EQ(FabricOf(Linked(LinkTopology::kSwitch, 72), Of(144), {}, 50).domain_gpus, 72);
}

TEST(Links, OthersAreAlongsideWhereTheMachineOrRackHasRoom) {
  const auto alongside = [](LinkTopology link, std::int64_t link_gpus, std::int64_t gpus, std::int64_t others) {
    const Gpu gpu = Linked(link, link_gpus);
    return AreAlongside(gpu, Of(gpus), FabricOf(gpu, Of(gpus), {}, 50), others);
  };
  EXPECT_TRUE(alongside(LinkTopology::kSwitch, 8, 7, 1));
  EXPECT_FALSE(alongside(LinkTopology::kSwitch, 8, 7, 2));
  EXPECT_FALSE(alongside(LinkTopology::kSwitch, 8, 9, 1)) << "the first rank sends, from another machine";
  EXPECT_TRUE(alongside(LinkTopology::kSwitch, 72, 64, 8));
  EXPECT_FALSE(alongside(LinkTopology::kSwitch, 72, 72, 1));
  EXPECT_TRUE(alongside(LinkTopology::kNone, 0, 4, 4)) << "by the host";
}

TEST(Links, ABoardsSwitchJoinsNoMachines) {
  Parallel alone = Of(8);
  alone.gpus_per_node = 1;
  const Fabric fabric = FabricOf(Linked(LinkTopology::kSwitch, 8), alone, {}, 50);
  EXPECT_EQ(fabric.domain_gpus, 1);
  EXPECT_EQ(RingBytesPerSecond(fabric, 8, 1), 50);
}

TEST(Links, ABridgeJoinsTwo) {
  EXPECT_FALSE(FabricOf(Linked(LinkTopology::kBridge, 2), Of(2), {}, 50).by_host);
  const Fabric four = FabricOf(Linked(LinkTopology::kBridge, 2), Of(4), {}, 50);
  EXPECT_TRUE(four.by_host);
  EXPECT_EQ(RingBytesPerSecond(four, 4, 1), 50);
}

TEST(Links, WithoutOneItIsTheHost) { EXPECT_TRUE(FabricOf(Linked(LinkTopology::kNone, 0), Of(2), {}, 50).by_host); }

TEST(Links, AMachineWithoutThemLeavesTheHost) {
  Wiring wiring;
  wiring.by_host = true;
  const Fabric plain = FabricOf(Linked(LinkTopology::kSwitch, 8), Of(8), wiring, 50);
  EXPECT_TRUE(plain.by_host);
  EXPECT_EQ(RingBytesPerSecond(plain, 8, 1), 50);
  wiring.link_bytes_per_second = 16;
  EXPECT_EQ(FabricOf(Linked(LinkTopology::kSwitch, 8), Of(8), wiring, 50).link_bytes_per_second, 16);
}

TEST(Links, WhatIsSaidStandsBeforeTheCardsOwn) {
  Wiring said;
  said.link_bytes_per_second = 200;
  said.network_bytes_per_second = 10;
  const Fabric fabric = FabricOf(Linked(LinkTopology::kSwitch, 8), Of(16), said, 50);
  EXPECT_EQ(RingBytesPerSecond(fabric, 8, 1), 200);
  EXPECT_EQ(RingBytesPerSecond(fabric, 16, 1), 80);
}

TEST(Links, RingsShareTheNetworkOfTheirMachine) {
  const Fabric fabric = FabricOf(Linked(LinkTopology::kSwitch, 8), Of(16), {}, 50);
  EXPECT_EQ(RingBytesPerSecond(fabric, 16, 1), 400);  // eight NICs of 50
  EXPECT_EQ(RingBytesPerSecond(fabric, 4, 4), 100);   // two of its ranks are in a machine
  EXPECT_EQ(RingBytesPerSecond(fabric, 2, 8), 50);
}

TEST(Links, AnExchangeWaitsForItsOwnShareOfTheNetwork) {
  const Fabric fabric = FabricOf(Linked(LinkTopology::kSwitch, 8), Of(16), {}, 50);
  EXPECT_EQ(ExchangeBytesPerSecond(fabric, 8, 1), 400);
  EXPECT_EQ(ExchangeBytesPerSecond(fabric, 16, 1), 50 / (8.0 / 15));  // 8 of the 15 others are elsewhere
}

}  // namespace
}  // namespace tunefit
