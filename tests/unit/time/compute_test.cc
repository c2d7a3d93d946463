// What a step computes, by hand: Llama 3.1 8B (7,504,924,672 weights in products: all but the token table and the
// norms, of which the head is 525,336,576), one sequence of 2,048 tokens, bf16.
#include "core/time/compute.h"

#include <gtest/gtest.h>

#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double kHead = 525'336'576;
constexpr double kInProducts = 8'030'261'248 - kHead - 65.0 * 4096;
constexpr double kLayer = (kInProducts - kHead) / 32;
constexpr double kDown = 14336.0 * 4096;
/// One product of scores, of all layers: 4,096 numbers of queries, and half the keys.
constexpr double kScores = 32 * 2 * kTokens * 4096 * (kTokens + 1) / 2;

MicroBatchWork Of(const Workload& workload) { return WorkOf(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})); }

void ExpectNear(double value, double expected) { EXPECT_NEAR(value / expected, 1, 1e-9) << value; }

TEST(Work, AFullStepMultipliesThreeTimes) {
  const MicroBatchWork work = Of(test::MakeWorkload());
  ExpectNear(work.matmul.forward, 2 * kTokens * kInProducts);
  ExpectNear(work.matmul.backward, 4 * kTokens * kInProducts);
  EXPECT_EQ(work.matmul.recompute, 0);
  ExpectNear(work.attention.forward, 2 * kScores);
  ExpectNear(work.attention.backward, 5 * kScores);
}

TEST(Work, ACheckpointedLayerRunsAgainButForItsLastProduct) {
  Workload workload = test::MakeWorkload();
  workload.checkpointing = Checkpointing::kFull;
  const MicroBatchWork work = Of(workload);
  ExpectNear(work.matmul.forward, 2 * kTokens * kInProducts);
  ExpectNear(work.matmul.recompute, 2 * kTokens * 32 * (kLayer - kDown));
  ExpectNear(work.attention.recompute, 2 * kScores);
}

TEST(Work, AReentrantCheckpointRunsAllOfIt) {
  Workload workload = test::MakeWorkload();
  workload.checkpointing = Checkpointing::kFull;
  workload.habits.recompute = Recompute::kReentrant;
  ExpectNear(Of(workload).matmul.recompute, 2 * kTokens * 32 * kLayer);
}

TEST(Work, AFrozenBaseHasNoGradientsOfItsWeights) {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 8;
  workload.method.all_linear = true;
  const MicroBatchWork work = Of(workload);
  // The first layer's projections have no gradient to send on, but their adapters' low-rank states do not differ.
  const double adapters = 8.0 * 32 * (2 * (4096 + 4096) + 2 * (4096 + 1024) + 3 * (4096 + 14336));
  ExpectNear(work.matmul.forward + work.matmul_fp32.forward, 2 * kTokens * (kInProducts + adapters));
  const double first_projections = 2 * kTokens * (4096.0 * 4096 + 2 * 4096 * 1024 + 8 * 3 * 4096);
  ExpectNear(work.matmul.backward + work.matmul_fp32.backward,
             2 * kTokens * (kInProducts + 2 * adapters) - first_projections);
}

TEST(Work, WrittenOutAttentionMultipliesEveryPair) {
  Workload workload = test::MakeWorkload();
  workload.attention = AttentionKernel::kEager;
  const MicroBatchWork work = Of(workload);
  const double pairs = 32 * 2 * kTokens * 4096 * kTokens;
  ExpectNear(work.matmul.forward, 2 * kTokens * kInProducts + 2 * pairs);
  ExpectNear(work.matmul.backward, 4 * kTokens * kInProducts + 4 * pairs);
  EXPECT_EQ(work.attention.total(), 0);
}

// Liger's blocks have all three products of the head in the forward pass.
TEST(Work, AFusedLinearLossMultipliesByTheHeadInForward) {
  Workload workload = test::MakeWorkload();
  workload.loss = Loss::kFusedLinearCe;
  const MicroBatchWork work = Of(workload);
  ExpectNear(work.matmul.forward, 2 * kTokens * (kInProducts + 2 * kHead));
  ExpectNear(work.matmul.backward, 4 * kTokens * (kInProducts - kHead));
}

// One block of 256 tokens is traced; 2,048 tokens have eight, which run once more in backward.
TEST(Work, BlocksOfTheHeadStandForAll) {
  Workload workload = test::MakeWorkload();
  workload.loss = Loss::kChunked;
  const Step step = TraceTrainingStep(workload);
  const MicroBatchWork work = WorkOf(step, Axes::Of(1, kTokens, step.chunk));
  ExpectNear(work.matmul.forward, 2 * kTokens * kInProducts);
  ExpectNear(work.matmul.recompute, 2 * kTokens * kHead);
  ExpectNear(work.matmul.backward, 4 * kTokens * kInProducts);
}

// Heads of 100 instead of 128 numbers, in every layer: queries with keys and probabilities with values, forward, and
// two products for each of these in backward.
TEST(Work, HeadsThatMatrixUnitsCannotReadRunWhereFp32Does) {
  test::LlamaSizes sizes;
  sizes.head_dim = 100;
  Workload workload = test::MakeWorkload(sizes);
  workload.attention = AttentionKernel::kEager;
  const MicroBatchWork work = Of(workload);
  const double product = 32 * 2 * kTokens * 32 * 100 * kTokens;
  ExpectNear(work.matmul_fp32.forward, 2 * product);
  ExpectNear(work.matmul_fp32.backward, 4 * product);
  workload.attention = AttentionKernel::kSdpa;  // its kernel pads them
  EXPECT_EQ(Of(workload).matmul_fp32.forward, 0);
}

TEST(Work, AWindowBoundsTheKeys) {
  FusedScores scores{.query = {128, Axis::kTokens}, .out = {128, Axis::kTokens}, .span = {.window = 2}};
  // Of four tokens: 1, 2, 2 and 2 keys.
  EXPECT_EQ(FlopsOf(scores, Axes::Of(1, 4, {})), 2 * 2 * 128 * (1 + 2 + 2 + 2));
  scores.span.causal = false;
  EXPECT_EQ(FlopsOf(scores, Axes::Of(1, 4, {})), 2 * 2 * 128 * 4 * 2);
}

TEST(Work, TwiceTheTokensMoveTwiceTheBytes) {
  // But for what weights take themselves, whatever the batch.
  const Step step = TraceTrainingStep(test::MakeWorkload());
  const double once = WorkOf(step, Axes::Of(1, kTokens, {})).bytes;
  const double twice = WorkOf(step, Axes::Of(2, kTokens, {})).bytes;
  EXPECT_GT(twice, 1.9 * once);
  EXPECT_LT(twice, 2 * once);
}

}  // namespace
}  // namespace tunefit
