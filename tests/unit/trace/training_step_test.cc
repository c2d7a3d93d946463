#include "core/trace/training_step.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/memory/replay.h"
#include "core/model/parameters.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

double WeightElements(const Step& step) {
  double elements = 0;
  for (const Resident& weight : step.weights) {
    elements += static_cast<double>(weight.count) *
                step.storages[static_cast<std::size_t>(weight.storage)].elements.coefficient;
  }
  return elements;
}

TEST(TraceTrainingStep, HoldsEveryParameterOnce) {
  const Workload workload = test::MakeWorkload();
  EXPECT_EQ(WeightElements(TraceTrainingStep(workload)),
            static_cast<double>(CountParameters(workload.architecture).total()));
}

TEST(TraceTrainingStep, TracesTwoPeriodsOfARunHoweverLong) {
  test::LlamaSizes deep;
  deep.layers = 126;
  const Step step = TraceTrainingStep(test::MakeWorkload(deep));
  EXPECT_EQ(step.events.size(), TraceTrainingStep(test::MakeWorkload()).events.size());
}

TEST(TraceTrainingStep, PureBf16WithAdamIsSixBytesAParameterBetweenSteps) {
  const Workload workload = test::MakeWorkload();
  const Replay replay = ReplayStep(TraceTrainingStep(workload), Axes::Of(1, 2048, {}));
  const double parameters = 8'030'261'248;
  EXPECT_NEAR((replay.weights + replay.optimizer_states) / parameters, 6, 0.001);
}

TEST(TraceTrainingStep, ForeachAdamHasOneTransientCopyOfTheTrainedParameters) {
  Workload workload = test::MakeWorkload();
  workload.optimizer = Optimizer::kAdamwForeach;
  const Replay replay = ReplayStep(TraceTrainingStep(workload), Axes::Of(1, 2048, {}));
  EXPECT_EQ(replay.optimizer_transient, replay.weights);
}

TEST(TraceTrainingStep, NestedScalesOfAFourBitMatrixByHand) {
  // q_proj of Llama 3.1 8B: 16,777,216 weights. Packed 8,388,608 bytes; 262,144 scales of a byte; 1,024 fp32 second
  // scales (4,096 bytes); 256 codes of fp32 (1,024) and 16 of fp32 (64, rounded to 512).
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  workload.quantization = {QuantizationKind::kNf4, true, PrepareKbit::kNone};
  const Step step = TraceTrainingStep(workload);
  const Axes axes = Axes::Of(1, 2048, {});
  double bytes = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
    if (std::string(storage.module) != "q_proj" || storage.term == Term::kAdapters) continue;
    bytes += static_cast<double>(weight.count) * StorageBytes(storage, axes);
  }
  EXPECT_EQ(bytes, 32 * (8'388'608 + 262'144 + 4'096 + 1'024 + 512));
}

TEST(TraceTrainingStep, EightBitStatesKeepEmbeddingsAndSmallTensorsAtThirtyTwo) {
  Workload workload = test::MakeWorkload();
  workload.optimizer = Optimizer::kAdamw8bit;
  const Step step = TraceTrainingStep(workload);
  for (const Resident& state : step.optimizer_states) {
    const Storage& storage = step.storages[static_cast<std::size_t>(state.storage)];
    if (std::string(storage.role) == "absmax") continue;
    const bool kept = std::string(storage.module) == "embed_tokens" || storage.elements.coefficient < 4096;
    EXPECT_EQ(storage.dtype, kept ? Dtype::kFp32 : Dtype::kUint8) << storage.module;
  }
}

TEST(TraceTrainingStep, ACheckpointedLayerKeepsItsInputOnly) {
  Workload workload = test::MakeWorkload();
  workload.checkpointing = Checkpointing::kFull;
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, Axes::Of(2, 1000, step.chunk));
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const Section& section = step.sections[i];
    if (section.moment != Moment::kForward || section.repeats == 1) continue;
    // hidden 4096 x 2000 tokens x 2 bytes
    EXPECT_EQ(replay.sections[i].after - replay.sections[i].before, 31 * 16'384'000);
  }
}

TEST(TraceTrainingStep, FusedLinearLossHasNoLogitsOfTheBatch) {
  Workload workload = test::MakeWorkload();
  const auto peak = [&workload] {
    const Step step = TraceTrainingStep(workload);
    return ReplayStep(step, Axes::Of(1, 8192, step.chunk)).peak_backward.bytes;
  };
  const double standard = peak();
  workload.loss = Loss::kFusedLinearCe;
  // Three fp32 tensors of the logits' size (8192 x 128256 x 4 bytes) are gone, less what the fused loss itself needs.
  EXPECT_LT(peak(), standard - 2.5 * 8192 * 128256 * 4);
}

TEST(TraceTrainingStep, Fp8ProductsKeepWhatTheyReadInTheComputeDtype) {
  Workload workload = test::MakeWorkload();
  const Replay plain = ReplayStep(TraceTrainingStep(workload), Axes::Of(1, 2048, {}));
  workload.precision.fp8_products = true;
  const Step step = TraceTrainingStep(workload);
  const Replay fp8 = ReplayStep(step, Axes::Of(1, 2048, {}));
  EXPECT_EQ(fp8.weights, plain.weights);
  EXPECT_EQ(fp8.after_forward, plain.after_forward);
  EXPECT_EQ(fp8.after_backward, plain.after_backward);
  // Forward, a byte for each number that a product reads: of down_proj's, the widest, 2,048 x 14,336 and 4,096 x
  // 14,336.
  double input = 0;
  double weight = 0;
  for (const Storage& storage : step.storages) {
    if (std::string(storage.module) != "down_proj") continue;
    if (std::string(storage.role) == "input in FP8") input = StorageBytes(storage, Axes::Of(1, 2048, {}));
    if (std::string(storage.role) == "weight in FP8") weight = StorageBytes(storage, Axes::Of(1, 2048, {}));
  }
  EXPECT_EQ(input, 2048.0 * 14336);
  EXPECT_EQ(weight, 4096.0 * 14336);
}

TEST(TraceTrainingStep, ClassesThatRepeatedHeadsForFlashAttentionKeepThemWhole) {
  // A layer keeps k and v for backward: 2 x 8 heads of 128 in bf16, or 2 x 32 where they were repeated.
  constexpr double kTokens = 2048;
  const auto kept = [](std::int64_t layers, FlashHeads heads, FlashRepeats version) {
    test::LlamaSizes sizes;
    sizes.layers = layers;
    Workload workload = test::MakeWorkload(sizes);
    workload.attention = AttentionKernel::kFlash;
    std::get<Attention>(workload.architecture.runs.front().period.front().mixer).flash_heads = heads;
    workload.habits.flash_repeats = version;
    return ReplayStep(TraceTrainingStep(workload), Axes::Of(1, kTokens, {})).after_forward;
  };
  const auto layer = [&kept](FlashHeads heads, FlashRepeats version) {
    return kept(10, heads, version) - kept(9, heads, version);
  };
  const double grouped = layer(FlashHeads::kGrouped, FlashRepeats::kAll);
  const double repeated = grouped + kTokens * 2 * 2 * (32 - 8) * 128;
  EXPECT_EQ(layer(FlashHeads::kRepeated, FlashRepeats::kAll), repeated);
  EXPECT_EQ(layer(FlashHeads::kRepeated, FlashRepeats::kUnconverted), grouped);
  EXPECT_EQ(layer(FlashHeads::kRepeatedLonger, FlashRepeats::kUnconverted), repeated);
  EXPECT_EQ(layer(FlashHeads::kRepeatedLonger, FlashRepeats::kNone), grouped);
}

TEST(TraceTrainingStep, AFusedKernelAddsUpTheQuerysGradientInFp32) {
  Workload workload = test::MakeWorkload();
  workload.attention = AttentionKernel::kFlash;
  const Step step = TraceTrainingStep(workload);
  // 32 heads of 128 over 2,048 tokens: 4 bytes for dq, and for dk and dv, of 8 heads, 2 bytes for every query head.
  double accumulated = 0;
  double of_every_head = 0;
  for (const Storage& storage : step.storages) {
    const std::string role = storage.role;
    if (role == "query gradient in fp32") accumulated = StorageBytes(storage, Axes::Of(1, 2048, {}));
    if (role == "key gradient of every head") of_every_head = StorageBytes(storage, Axes::Of(1, 2048, {}));
  }
  EXPECT_EQ(accumulated, 4.0 * 2048 * 32 * 128);
  EXPECT_EQ(of_every_head, 2.0 * 2048 * 32 * 128);
}

// torchtitan wraps modules for their mixed precision also where there is nothing to divide: weights are fp32, products
// bf16.
TEST(TraceTrainingStep, Fsdp2GathersAloneWhereTheStackSaysSo) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.precision = {Dtype::kFp32, Dtype::kBf16, false};
  workload.parallel.strategy = Strategy::kFsdp2;
  const auto products_are = [&](Dtype dtype) {
    const std::vector<Matmul> products = TraceTrainingStep(workload).work.matmuls;
    return !products.empty() &&
           std::all_of(products.begin(), products.end(), [&](const Matmul& product) { return product.dtype == dtype; });
  };
  EXPECT_TRUE(products_are(Dtype::kFp32));
  workload.parallel.fsdp2_gathers_alone = true;
  EXPECT_TRUE(products_are(Dtype::kBf16));
}

}  // namespace
}  // namespace tunefit
