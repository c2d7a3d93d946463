// torch.compile by hand: a Llama of hidden size 4096 (H), MLP width 14336 (F), 32 query and 8 key/value heads of 128,
// bf16, 2,048 tokens: a row of width w costs 2,048 x 2 x w bytes. Held against what AOTAutograd's partitioner keeps of
// the same layer (torch 2.14, tests/oracle).

#include <gtest/gtest.h>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double Row(double width) { return kTokens * 2 * width; }

Workload Compiled(std::int64_t layers) {
  test::LlamaSizes sizes;
  sizes.layers = layers;
  Workload workload = test::MakeWorkload(sizes);
  workload.compile = true;
  return workload;
}

double Kept(const Workload& workload) {
  const Replay replay = ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {}));
  return replay.after_forward - replay.weights - replay.optimizer_states;
}

TEST(Compile, ALayerKeepsWhatProductsAndAttentionReadAndMake) {
  // The layer's input, the first norm's output, rotated q and k, v, attention's output with its statistics, the product
  // after it, the second norm's output, gate, up and their product; two means of squares in fp32.
  const double layer =
      Row(4096 + 4096 + 4096 + 1024 + 1024 + 4096 + 4096 + 4096 + 3 * 14336) + kTokens * 4 * 32 + 2 * kTokens * 4;
  EXPECT_EQ(Kept(Compiled(10)) - Kept(Compiled(9)), layer);
}

TEST(Compile, AFrozenMatrixNeedsNothingOfItsInput) {
  // LoRA on q and v: norms' outputs are kept for the adapter only, gate and up for their activation, and no product.
  Workload nine = Compiled(9);
  nine.method = {.kind = MethodKind::kLora, .rank = 8, .all_linear = false, .target_modules = {"q_proj", "v_proj"}};
  nine.method.adapter_dtype = Dtype::kBf16;
  Workload ten = Compiled(10);
  ten.method = nine.method;
  // input, first norm's output, q, k, v, attention, the product after it, gate, up; two low-rank inputs of width 8.
  const double layer =
      Row(4096 + 4096 + 4096 + 1024 + 1024 + 4096 + 4096 + 2 * 14336 + 2 * 8) + kTokens * 4 * 32 + 2 * kTokens * 4;
  EXPECT_EQ(Kept(ten) - Kept(nine), layer);
}

TEST(Compile, CrossEntropyNeedsNoFp32Logits) {
  // Logits in bf16, and in backward their gradient in bf16: both in one pass over the vocabulary.
  Workload plain = Compiled(2);
  plain.compile = false;
  const Workload compiled = Compiled(2);
  const auto after = [](const Workload& workload) {
    return ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})).after_forward;
  };
  EXPECT_GT(after(plain) - after(compiled), Row(128256));  // 4 bytes of log-probabilities against 2 of logits
}

TEST(Compile, ALossOutsideTheCompiledLayersIsWrittenOut) {
  // torchtitan from 2024-12 to 2025-04: layers keep what compiled ones do, the loss its fp32 log-probabilities.
  const Workload compiled = Compiled(9);
  Workload eager = compiled;
  eager.habits.loss.compiled = false;
  EXPECT_EQ(Kept(eager) - Kept(compiled), Row(128256) * 2 - Row(128256));  // 4 bytes a word against 2
  Workload more = eager;
  more.architecture.runs.front().repeats += 1;
  EXPECT_EQ(Kept(more) - Kept(eager), Kept(Compiled(10)) - Kept(compiled));
}

TEST(Compile, ChunksOfLogitsBecomeTheirGradient) {
  // torchtune: 2 bytes of logits a token and word after the forward pass, and no log-probabilities beside them.
  Workload compiled = Compiled(2);
  compiled.loss = Loss::kChunked;
  compiled.habits.loss = {.chunked = ChunkedLoss::kLogitsInChunks, .chunks = 8};
  Workload plain = compiled;
  plain.compile = false;
  const auto loss_of = [](const Workload& workload) {
    const Step step = TraceTrainingStep(workload);
    const Replay replay = ReplayStep(step, Axes::Of(1, kTokens, step.chunk));
    for (std::size_t i = 0; i < step.sections.size(); ++i) {
      if (step.sections[i].moment == Moment::kLoss) return replay.sections[i].peak - replay.sections[i].before;
    }
    return 0.0;
  };
  // The last norm's output is written out when the head reads it: H more within the loss.
  EXPECT_NEAR(loss_of(compiled), Row(128256) + Row(4096), 1e5);
  EXPECT_NEAR(loss_of(plain), Row(128256) * (1 + 2 + 0.25), 1e5);
}

TEST(Compile, CheckpointedLayersStillKeepTheirInput) {
  Workload nine = Compiled(9);
  nine.checkpointing = Checkpointing::kFull;
  Workload ten = Compiled(10);
  ten.checkpointing = Checkpointing::kFull;
  EXPECT_EQ(Kept(ten) - Kept(nine), Row(4096));
}

}  // namespace
}  // namespace tunefit
