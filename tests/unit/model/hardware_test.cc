#include "core/model/hardware.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

Gpu Card(const char* vendor, const char* capability) {
  Gpu card;
  card.vendor = vendor;
  card.compute_capability = capability;
  return card;
}

TEST(Hardware, TheCapabilityIsTheNumberBeforeThePoint) {
  EXPECT_EQ(CapabilityMajor(Card("NVIDIA", "7.5")), 7);
  EXPECT_EQ(CapabilityMajor(Card("NVIDIA", "12.0")), 12);
  EXPECT_EQ(CapabilityMajor(Card("NVIDIA", "")), 0);
  EXPECT_EQ(CapabilityMajor(Card("AMD", "gfx942")), 0);
}

TEST(Hardware, FlashAttentionNeedsAmpereOfNvidiaAlone) {
  EXPECT_FALSE(RunsFlashAttention2(Card("NVIDIA", "7.5")));
  EXPECT_TRUE(RunsFlashAttention2(Card("NVIDIA", "8.0")));
  EXPECT_TRUE(RunsFlashAttention2(Card("NVIDIA", "10.0")));
  EXPECT_TRUE(RunsFlashAttention2(Card("NVIDIA", "")));
  EXPECT_TRUE(RunsFlashAttention2(Card("AMD", "gfx942")));
  EXPECT_FALSE(RunsFlashAttention2(Card("Intel", "")));
}

TEST(Hardware, AGenerationNeedsTheToolkitThatFirstHadIt) {
  EXPECT_STREQ(CudaFloorOf(Card("NVIDIA", "8.9"))->toolkit, "11.8");
  EXPECT_STREQ(CudaFloorOf(Card("NVIDIA", "12.0"))->driver, "570.26");
  EXPECT_EQ(CudaFloorOf(Card("NVIDIA", "")), nullptr);
  EXPECT_EQ(CudaFloorOf(Card("AMD", "gfx942")), nullptr);
}

TEST(Hardware, ACardComputesInWhatItSays) {
  Gpu card = Card("NVIDIA", "8.0");
  card.dtypes = {Dtype::kFp32, Dtype::kBf16};
  EXPECT_TRUE(ComputesIn(card, Dtype::kBf16));
  EXPECT_FALSE(ComputesIn(card, Dtype::kFp8));
}

}  // namespace
}  // namespace tunefit
