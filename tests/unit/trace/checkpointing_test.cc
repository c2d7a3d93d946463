// Checkpointing by hand: a Llama of hidden size 4096 (H), MLP width 14336 (F), 32 query and 8 key/value heads of 128,
// bf16, one sequence of 2,048 tokens: a row of width w costs 2,048 x 2 x w bytes.

#include <gtest/gtest.h>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double Row(double width) { return kTokens * 2 * width; }
constexpr double kHidden = Row(4096);
constexpr double kStatistics = kTokens * 4 * 32;  // log-sum-exp, fp32 a head

double AfterForward(const Workload& workload) {
  return ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})).after_forward;
}

Workload With(Checkpointing checkpointing, std::int64_t layers = 32) {
  test::LlamaSizes sizes;
  sizes.layers = layers;
  Workload workload = test::MakeWorkload(sizes);
  workload.checkpointing = checkpointing;
  return workload;
}

/// What one more pair of layers adds to the bytes after the forward pass, weights and states left out.
double PerPair(const Workload& workload, const Workload& two_more) {
  const auto kept = [](const Workload& of) {
    const Replay replay = ReplayStep(TraceTrainingStep(of), Axes::Of(1, kTokens, {}));
    return replay.after_forward - replay.weights - replay.optimizer_states;
  };
  return kept(two_more) - kept(workload);
}

double PerPair(Checkpointing checkpointing, std::int64_t every, const Habits& habits = {}) {
  Workload small = With(checkpointing, 8);
  Workload large = With(checkpointing, 10);
  for (Workload* workload : {&small, &large}) {
    workload->checkpoint_every = every;
    workload->habits = habits;
  }
  return PerPair(small, large);
}

TEST(Checkpointing, EverySecondLayerKeepsHalfOfEach) {
  const double none = PerPair(Checkpointing::kNone, 1);
  const double full = PerPair(Checkpointing::kFull, 1);
  EXPECT_EQ(full, 2 * kHidden);  // the inputs of two layers
  // The first layer of a pair keeps all that a layer keeps, the second its input. That input is the sum that the first
  // layer ends in: fp32 norms of the second would have kept a copy of it.
  EXPECT_EQ(PerPair(Checkpointing::kFull, 2), none / 2 + kHidden);
}

TEST(Checkpointing, LayersThatAreLeftOverArePartOfTheModel) {
  // 10 layers, every third checkpointed: 3, 6 and 9; seven keep all.
  Workload workload = With(Checkpointing::kFull, 10);
  workload.checkpoint_every = 3;
  const double none = PerPair(Checkpointing::kNone, 1) / 2;
  const double difference = AfterForward(With(Checkpointing::kNone, 10)) - AfterForward(workload);
  EXPECT_EQ(difference, 3 * (none - kHidden));
  EXPECT_EQ(ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})).weights,
            ReplayStep(TraceTrainingStep(With(Checkpointing::kNone, 10)), Axes::Of(1, kTokens, {})).weights);
}

TEST(Checkpointing, EveryMoreThanThereAreLayersIsNone) {
  Workload workload = With(Checkpointing::kFull, 4);
  workload.checkpoint_every = 5;
  EXPECT_EQ(AfterForward(workload), AfterForward(With(Checkpointing::kNone, 4)));
}

TEST(Checkpointing, EverySecondProductOfALlamaLayer) {
  // torchtitan: products 1 q, 2 k, 3 v, 4 o, 5 gate, 6 up, 7 down. Kept are 1, 3, 5 and 7, and attention's output with
  // its statistics: 4096 + 1024 + 14336 + 4096 + 4096, and the layer's input.
  Habits habits;
  habits.selective_checkpoint = SelectiveCheckpoint::kAllButEverySecondProduct;
  const double layer = kHidden + Row(4096 + 1024 + 14336 + 4096) + Row(4096) + kStatistics;
  EXPECT_EQ(PerPair(Checkpointing::kSelective, 1, habits), 2 * layer);
}

TEST(Checkpointing, AttentionsOutputMayStay) {
  Habits habits;
  habits.selective_checkpoint = SelectiveCheckpoint::kAllButAttention;
  EXPECT_EQ(PerPair(Checkpointing::kSelective, 1, habits), 2 * (kHidden + Row(4096) + kStatistics));
}

TEST(Checkpointing, CoreAttentionRunsAgain) {
  // Megatron-LM with written-out attention: the scores of 32 heads are not kept; q, k, v are, and so is all the rest.
  Habits habits;
  habits.selective_checkpoint = SelectiveCheckpoint::kCoreAttention;
  Workload plain = With(Checkpointing::kNone);
  plain.attention = AttentionKernel::kEager;
  Workload selective = plain;
  selective.checkpointing = Checkpointing::kSelective;
  selective.habits = habits;
  // Kept a layer only without it: the softmax in fp32 and in bf16, 32 x 2,048 x 2,048 each; the repeated keys and
  // values, 4,096 wide; those that are kept instead are 1,024 wide. The query is kept either way.
  const double scores = 32 * kTokens * kTokens * (4 + 2);
  EXPECT_EQ(AfterForward(plain) - AfterForward(selective), 32 * (scores + 2 * Row(4096) - 2 * Row(1024)));
}

TEST(Checkpointing, KernelsThatKeepNoScoresGainLittleFromSelective) {
  Habits habits;
  habits.selective_checkpoint = SelectiveCheckpoint::kCoreAttention;
  Workload selective = With(Checkpointing::kSelective);
  selective.habits = habits;
  // The statistics only: attention's output is the next matrix' input.
  EXPECT_EQ(AfterForward(With(Checkpointing::kNone)) - AfterForward(selective), 32 * kStatistics);
}

TEST(Checkpointing, OffloadedInputsWaitOnTheHost) {
  Workload workload = With(Checkpointing::kOffload);
  workload.habits.offload_blocks_on_card = 2;
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, {}, Detail::kSummary);
  EXPECT_EQ(estimate.host.checkpoints, 32 * kHidden);
  EXPECT_EQ(EstimateMemory(With(Checkpointing::kFull), nullptr, {}, Detail::kSummary).host.total(), 0);
  // 32 inputs less, but for the two blocks on the card and the last layer's output, which is no checkpoint.
  EXPECT_EQ(AfterForward(With(Checkpointing::kFull)) - AfterForward(workload), (32 - 2) * kHidden);
  // No more layers, no more bytes on the card but for weights, gradients and states.
  EXPECT_EQ(PerPair(Checkpointing::kOffload, 1), 0);
}

TEST(Checkpointing, EverySecondInputIsOffloaded) {
  Workload workload = With(Checkpointing::kOffload);
  workload.checkpoint_every = 2;
  EXPECT_EQ(EstimateMemory(workload, nullptr, {}, Detail::kSummary).host.checkpoints, 16 * kHidden);
}

TEST(Checkpointing, AReentrantRecomputationHoldsItsOutput) {
  // The sum with the residual stream lives until the layer's backward is done. A small vocabulary, so that the peak is
  // in a layer.
  test::LlamaSizes sizes;
  sizes.vocabulary = 512;
  Workload early = test::MakeWorkload(sizes);
  early.checkpointing = Checkpointing::kFull;
  Workload whole = early;
  whole.habits.recompute = Recompute::kReentrant;
  const auto peak = [](const Workload& workload) {
    const Step step = TraceTrainingStep(workload);
    return ReplayStep(step, Axes::Of(1, kTokens, step.chunk)).peak_backward.bytes;
  };
  EXPECT_EQ(peak(whole) - peak(early), kHidden);
}

}  // namespace
}  // namespace tunefit
