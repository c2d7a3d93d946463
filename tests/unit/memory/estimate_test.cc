#include "core/memory/estimate.h"

#include <gtest/gtest.h>

#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Overheads SomeOverheads() {
  Overheads overheads;
  overheads.reserved_low_fraction = 0.05;
  overheads.reserved_high_fraction = 0.1;
  overheads.reserved_high_of_loss = 0.5;
  overheads.contexts = {{"", {5e8, 6e8, 9e8}}, {"Hopper", {5.5e8, 6e8, 6.5e8}}};
  return overheads;
}

constexpr SearchBounds kAnything{65536, 16'777'216, 67'108'864};

Gpu Card(double usable_bytes) {
  Gpu gpu;
  gpu.architecture = "Hopper";
  gpu.usable_bytes = usable_bytes;
  return gpu;
}

TEST(EstimateMemory, TermsSumExactlyToThePeak) {
  for (const Checkpointing checkpointing : {Checkpointing::kNone, Checkpointing::kFull}) {
    for (const Optimizer optimizer : {Optimizer::kAdamwForeach, Optimizer::kAdamwFused}) {
      Workload workload = test::MakeWorkload();
      workload.checkpointing = checkpointing;
      workload.optimizer = optimizer;
      const MemoryEstimate estimate = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kFull);
      double sum = 0;
      for (const TermBytes& term : estimate.terms) {
        double items = 0;
        for (const LedgerItem& item : term.items) items += item.bytes;
        EXPECT_EQ(items, term.bytes);
        sum += term.bytes;
      }
      EXPECT_EQ(sum, estimate.phases.peak_step);
    }
  }
}

TEST(EstimateMemory, TheTimelineReachesThePeakAndEndsAtItsEnd) {
  Workload workload = test::MakeWorkload();
  workload.checkpointing = Checkpointing::kFull;
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kFull);
  double peak = 0;
  for (const TimelinePoint& point : estimate.timeline) peak = std::max(peak, point.peak_bytes);
  EXPECT_EQ(peak, std::max(estimate.phases.peak_forward, estimate.phases.peak_backward));
  EXPECT_EQ(estimate.timeline.back().bytes, estimate.phases.after_backward);
  EXPECT_EQ(estimate.timeline.size(), 2U * (32 + 3));  // before the layers, after them, the loss: forward and back
}

TEST(EstimateMemory, OverheadsLeadFromLiveToDevice) {
  const Gpu gpu = Card(8e10);
  const MemoryEstimate estimate = EstimateMemory(test::MakeWorkload(), &gpu, SomeOverheads(), Detail::kSummary);
  double expected = estimate.phases.peak_step;
  for (const Overhead& overhead : estimate.overheads) expected += overhead.bytes.expected;
  EXPECT_DOUBLE_EQ(expected, estimate.device.expected);
  EXPECT_EQ(estimate.overheads.back().bytes.high, 6.5e8);  // Hopper's own context
  EXPECT_LE(estimate.allocated.expected, estimate.reserved.expected);
  EXPECT_LE(estimate.device.low, estimate.device.expected);
  EXPECT_LE(estimate.device.expected, estimate.device.high);
}

TEST(JudgeFit, AsksTheWholeRange) {
  const Range device{70, 80, 90};
  EXPECT_EQ(JudgeFit(device, 90), Verdict::kFits);
  EXPECT_EQ(JudgeFit(device, 89), Verdict::kTight);
  EXPECT_EQ(JudgeFit(device, 70), Verdict::kTight);
  EXPECT_EQ(JudgeFit(device, 69), Verdict::kDoesNotFit);
}

TEST(FindLimits, TheNextValueNoLongerFits) {
  const Workload workload = test::MakeWorkload({2048, 8192, 16, 32, 8, 64, 128256, true});
  const Gpu gpu = Card(8e10);
  const Overheads overheads = SomeOverheads();
  const Limits limits = FindLimits(workload, gpu, overheads, kAnything);
  const auto verdict = [&](std::int64_t batch, std::int64_t length) {
    Workload changed = workload;
    changed.batch.per_device = batch;
    changed.batch.sequence_length = length;
    return JudgeFit(EstimateMemory(changed, &gpu, overheads, Detail::kSummary).device, gpu.usable_bytes);
  };
  ASSERT_GT(limits.largest_batch, 1);
  EXPECT_EQ(verdict(limits.largest_batch, 2048), Verdict::kFits);
  EXPECT_NE(verdict(limits.largest_batch + 1, 2048), Verdict::kFits);
  EXPECT_EQ(verdict(1, limits.longest_sequence_tokens), Verdict::kFits);
  EXPECT_NE(verdict(1, limits.longest_sequence_tokens + 1), Verdict::kFits);
}

TEST(FindLimits, NeverOffersMoreThanARequestMayAskForOrTheModelWasMadeFor) {
  Workload workload = test::MakeWorkload({64, 128, 2, 2, 2, 32, 100, true});
  workload.batch.sequence_length = 16;
  workload.architecture.context_tokens = 512;
  const Limits limits = FindLimits(workload, Card(2e11), SomeOverheads(), {100, 4096, 1000});
  EXPECT_EQ(limits.largest_batch, 62);  // 1000 / 16
  EXPECT_EQ(limits.longest_sequence_tokens, 512);
}

TEST(EstimateMemory, TheRecipeIsAnAverageOfWhatIsHeld) {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  workload.quantization = {QuantizationKind::kNf4, true, PrepareKbit::kPeft};
  const RecipeBytes recipe = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kSummary).recipe;
  EXPECT_DOUBLE_EQ(recipe.weights, 4);
  EXPECT_DOUBLE_EQ(recipe.optimizer_states, 8);
  // 6.98 of 8.03 billion packed at 0.5 + 1/64 + 4/16384 bytes, embedding and head in fp32.
  EXPECT_NEAR(recipe.frozen, (6.98 * 0.5159 + 1.05 * 4) / 8.03, 0.002);
}

TEST(FindLimits, NothingFitsOnTooSmallACard) {
  const Limits limits = FindLimits(test::MakeWorkload(), Card(1e9), SomeOverheads(), kAnything);
  EXPECT_EQ(limits.largest_batch, 0);
  EXPECT_EQ(limits.longest_sequence_tokens, 0);
}

TEST(EstimateMemory, PagedStatesAreOutsideTorch) {
  Workload workload = test::MakeWorkload();
  workload.optimizer = Optimizer::kPagedAdamw32bit;
  const MemoryEstimate paged = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kSummary);
  workload.optimizer = Optimizer::kAdamwFused;
  const MemoryEstimate fused = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kSummary);
  EXPECT_LT(paged.phases.between_steps, fused.phases.between_steps);
  EXPECT_EQ(paged.overheads.back().id, "paged_optimizer_states");
  EXPECT_GT(paged.device.expected, fused.device.expected);  // fp32 states, but still on the card where there is room
}

TEST(EstimateMemory, PagedStatesGiveWayOnASmallCard) {
  Workload workload = test::MakeWorkload();
  workload.optimizer = Optimizer::kPagedAdamw8bit;
  const MemoryEstimate anywhere = EstimateMemory(workload, nullptr, SomeOverheads(), Detail::kSummary);
  // Room for all but the states: they stay on the host, and the run fits.
  const Gpu gpu = Card(anywhere.reserved.high + 1e9);
  const MemoryEstimate small = EstimateMemory(workload, &gpu, SomeOverheads(), Detail::kSummary);
  EXPECT_EQ(JudgeFit(small.device, gpu.usable_bytes), Verdict::kFits);
  EXPECT_LT(small.overheads.back().bytes.expected, anywhere.overheads.back().bytes.expected);
}

}  // namespace
}  // namespace tunefit
