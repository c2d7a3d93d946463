// TransformerEngine's FP8 by hand: a Llama of hidden size 4096 (H), MLP width 14336 (F), 32 query and 8 key/value heads
// of 128, bf16, fused kernels, 2,048 tokens.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/memory/replay.h"
#include "core/model/share.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double kHidden = 4096;
constexpr double kWidth = 14336;
/// q and o, k and v, gate, up and down of a layer.
constexpr double kMatrices = 2 * kHidden * kHidden + 2 * kHidden * 1024 + 3 * kHidden * kWidth;

Workload Llama(std::int64_t layers, bool fp8) {
  test::LlamaSizes sizes;
  sizes.layers = layers;
  Workload workload = test::MakeWorkload(sizes);
  workload.fused = {.rms_norm = true, .rope = true, .swiglu = true};
  workload.precision.fp8_products = fp8;
  workload.habits.fp8_operands = Fp8Operands::kKept;
  return workload;
}

Replay ReplayOf(const Workload& workload) { return ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})); }

/// What the forward pass leaves of ten layers more than of nine.
template <typename Change>
double KeptByALayer(bool fp8, Change change) {
  const auto after_forward = [&](std::int64_t layers) {
    Workload workload = Llama(layers, fp8);
    change(workload);
    const Replay replay = ReplayOf(RankOf(workload, 0));
    return replay.after_forward - replay.weights - replay.weight_copies - replay.optimizer_states;
  };
  return after_forward(10) - after_forward(9);
}

double KeptByALayer(bool fp8) {
  return KeptByALayer(fp8, [](Workload& /*as it is*/) {});
}

/// The largest storage of that module and role; 0 where there is none.
double BytesOf(const Step& step, const char* module, const char* role) {
  double most = 0;
  for (const Storage& storage : step.storages) {
    if (std::string(storage.module) != module || std::string(storage.role) != role) continue;
    most = std::max(most, StorageBytes(storage, Axes::Of(1, kTokens, {})));
  }
  return most;
}

TEST(KeptFp8, InputsOfMatricesAreAByteANumber) {
  // Both norms' outputs and the MLP's product are bytes instead of bf16. Attention keeps its own output in bf16, and
  // o_proj a copy of it in FP8.
  const double saved = kTokens * ((2 - 1) * kHidden * 2 + (2 - 1) * kWidth - kHidden);
  EXPECT_EQ(KeptByALayer(false) - KeptByALayer(true), saved);
}

TEST(KeptFp8, BlackwellKeepsAsMuchForBackward) {
  const auto blackwell = [](Workload& workload) { workload.precision.fp8_transposes = false; };
  EXPECT_EQ(KeptByALayer(true, blackwell), KeptByALayer(true));
}

TEST(KeptFp8, WeightsHaveLastingCopies) {
  Workload workload = Llama(10, true);
  const Replay hopper = ReplayOf(workload);
  EXPECT_EQ(hopper.weights, ReplayOf(Llama(10, false)).weights);
  EXPECT_EQ(hopper.weight_copies, 10 * 2 * kMatrices);
  workload.precision.fp8_transposes = false;
  EXPECT_EQ(ReplayOf(workload).weight_copies, 10 * kMatrices);
  workload.precision.fp8_weights = true;
  EXPECT_EQ(ReplayOf(workload).weight_copies, 0);
  EXPECT_EQ(hopper.weights - ReplayOf(workload).weights, 10 * kMatrices);
  workload.precision.fp8_transposes = true;
  EXPECT_EQ(ReplayOf(workload).weight_copies, 10 * kMatrices);
}

TEST(KeptFp8, GradientsAndStatesOfFp8MatricesStayWide) {
  Workload workload = Llama(10, true);
  workload.precision.master_weights = true;
  const Replay wide = ReplayOf(workload);
  workload.precision.fp8_weights = true;
  const Replay narrow = ReplayOf(workload);
  EXPECT_EQ(narrow.optimizer_states, wide.optimizer_states);
  // The matrices themselves, and their copies in FP8 beside the transposed ones: a byte a number each.
  EXPECT_EQ(wide.after_backward - narrow.after_backward, 2 * 10 * kMatrices);
}

TEST(KeptFp8, BeforeBlackwellTheGradientIsThereTwice) {
  Workload workload = Llama(2, true);
  const Step hopper = TraceTrainingStep(workload);
  EXPECT_EQ(BytesOf(hopper, "down_proj", "gradient in FP8"), kTokens * kHidden);
  EXPECT_EQ(BytesOf(hopper, "down_proj", "gradient in FP8, transposed"), kTokens * kHidden);
  EXPECT_EQ(BytesOf(hopper, "down_proj", "input in FP8"), kTokens * kWidth);
  EXPECT_EQ(BytesOf(hopper, "down_proj", "input in FP8, transposed"), kTokens * kWidth);
  EXPECT_EQ(BytesOf(hopper, "q_proj", "input in FP8"), 0);  // the norm wrote it
  EXPECT_EQ(BytesOf(hopper, "q_proj", "input in FP8, transposed"), kTokens * kHidden);
  workload.precision.fp8_transposes = false;
  const Step blackwell = TraceTrainingStep(workload);
  EXPECT_EQ(BytesOf(blackwell, "down_proj", "gradient in FP8"), kTokens * kHidden);
  EXPECT_EQ(BytesOf(blackwell, "down_proj", "gradient in FP8, transposed"), 0);
  EXPECT_EQ(BytesOf(blackwell, "down_proj", "input in FP8, transposed"), 0);
}

TEST(KeptFp8, AFrozenMatrixKeepsNothingAndItsAdapterBf16) {
  const auto lora = [](Workload& workload) {
    workload.method.kind = MethodKind::kLora;
    workload.method.adapter_dtype = Dtype::kBf16;
    workload.habits.lora_casts_input = false;
  };
  EXPECT_EQ(KeptByALayer(true, lora), KeptByALayer(false, lora));
}

TEST(KeptFp8, SequenceParallelRanksKeepTheirPart) {
  const auto divided = [](Workload& workload) {
    workload.parallel.gpus = 2;
    workload.parallel.tensor = 2;
    workload.parallel.sequence_parallel = true;
    workload.habits.gathers_tokens_again = true;
  };
  EXPECT_EQ(KeptByALayer(true, divided), KeptByALayer(true) / 2);
}

}  // namespace
}  // namespace tunefit
