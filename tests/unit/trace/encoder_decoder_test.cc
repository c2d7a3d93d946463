#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "core/memory/replay.h"
#include "core/model/parameters.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload MakeT5Workload(const test::T5Sizes& sizes = {}) {
  Workload workload = test::MakeWorkload();
  workload.architecture = test::MakeT5(sizes);
  workload.batch.packing = Packing::kNone;
  return workload;
}

/// Bytes that the long stretch of a stack leaves per layer in the forward pass.
double KeptByALayer(const Workload& workload, int stack) {
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, Axes::Of(2, 256, step.chunk));
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const Section& section = step.sections[i];
    if (section.moment != Moment::kForward || section.repeats == 1 || stack-- > 0) continue;
    return (replay.sections[i].after - replay.sections[i].before) / static_cast<double>(section.repeats);
  }
  return 0;
}

TEST(EncoderDecoder, ABlockOfT5KeepsByHand) {
  // Pure bf16, 512 tokens (t) of width 256 (h), 4 heads of 64, an MLP of 1,024 (f); t h is 131,072.
  // Two norms, each: fp32 input 4, cast product 2, output 2, and 4 t of roots. Two dropout masks of 1. The states after
  // each part, 2 each. q, k, v and the output as heads, 2 each. Probabilities: fp32 4, dropped 2, mask 1, of
  // 2 x 4 x 256 x 256. The MLP: relu 2, mask 1, dropped 2, of t f.
  const double th = 131'072;
  const double scores = 524'288;
  const double tf = 524'288;
  const double self = 8 * th + 2'048 + 8 * th + 7 * scores + th + 2 * th;
  const double mlp = 8 * th + 2'048 + 5 * tf + th + 2 * th;
  EXPECT_EQ(KeptByALayer(MakeT5Workload(), 0), self + mlp);
  // A decoder's layer has attention twice; that to the source projects keys and values from what all layers share.
  EXPECT_EQ(KeptByALayer(MakeT5Workload(), 1), 2 * self + mlp);
}

/// UMT5: T5 whose layers each have a table of biases.
Workload MakeUmt5Workload(const test::T5Sizes& sizes = {}) {
  Workload workload = MakeT5Workload(sizes);
  for (std::vector<LayerRun>* runs : {&workload.architecture.encoder_runs, &workload.architecture.runs}) {
    Block block = runs->front().period.front();
    std::get<Attention>(block.mixer).own_relative_bias = true;
    if (block.cross) block.cross->own_relative_bias = true;
    *runs = {{{block}, CountLayers(*runs)}};
  }
  return workload;
}

TEST(EncoderDecoder, EveryLayerOfUmt5HasBiasesOfItsOwn) {
  // Beside what T5's layers keep, the bucket of each of 256 x 256 pairs as int64; in a decoder's layer also the zeros
  // that stand for biases to the source, 4 heads x 256 x 256 in bf16, as they require a gradient.
  const double pairs = 65'536;
  EXPECT_EQ(KeptByALayer(MakeUmt5Workload(), 0) - KeptByALayer(MakeT5Workload(), 0), 8 * pairs);
  EXPECT_EQ(KeptByALayer(MakeUmt5Workload(), 1) - KeptByALayer(MakeT5Workload(), 1), 8 * pairs + 2 * 4 * pairs);
  const Workload t5 = MakeT5Workload();
  const Workload umt5 = MakeUmt5Workload();
  // 12 layers instead of the first of each stack: ten tables of 32 x 4 more.
  EXPECT_EQ(CountParameters(umt5.architecture).total() - CountParameters(t5.architecture).total(), 10 * 32 * 4);
  EXPECT_EQ(TraceTrainingStep(umt5).trained_parameters, CountParameters(umt5.architecture).total());
}

TEST(EncoderDecoder, HoldsEveryParameterOnce) {
  for (const bool tied : {false, true}) {
    test::T5Sizes sizes;
    sizes.tied = tied;
    const Workload workload = MakeT5Workload(sizes);
    EXPECT_EQ(TraceTrainingStep(workload).trained_parameters, CountParameters(workload.architecture).total());
  }
}

TEST(EncoderDecoder, FoldedLayersAreTheUnrolledOnes) {
  for (int variant = 0; variant < 64; ++variant) {
    test::T5Sizes sizes;
    sizes.gated = (variant & 1) != 0;
    sizes.decoder_layers = (variant & 2) != 0 ? 9 : 1;
    Workload workload = (variant & 32) != 0 ? MakeUmt5Workload(sizes) : MakeT5Workload(sizes);
    if ((variant & 4) != 0) workload.checkpointing = Checkpointing::kFull;
    if ((variant & 8) != 0) workload.method.kind = MethodKind::kLora;
    workload.precision.autocast = (variant & 16) != 0;
    workload.checkpoint_every = variant % 3 == 0 ? 2 : 1;
    const Step folded = TraceTrainingStep(workload, Unrolling::kFolded);
    const Step unrolled = TraceTrainingStep(workload, Unrolling::kAll);
    const Axes axes = Axes::Of(2, 256, folded.chunk);
    const Replay a = ReplayStep(folded, axes);
    const Replay b = ReplayStep(unrolled, axes);
    EXPECT_EQ(a.after_forward, b.after_forward) << variant;
    EXPECT_EQ(a.peak_forward.bytes, b.peak_forward.bytes) << variant;
    EXPECT_EQ(a.after_backward, b.after_backward) << variant;
    EXPECT_EQ(a.peak_backward.bytes, b.peak_backward.bytes) << variant;
  }
}

TEST(EncoderDecoder, TheLastMatrixOfAnMlpIsNotQuantized) {
  Workload workload = MakeT5Workload();
  workload.method.kind = MethodKind::kLora;
  workload.quantization = {QuantizationKind::kNf4, true, PrepareKbit::kPeft};
  const Step step = TraceTrainingStep(workload);
  for (const Resident& weight : step.weights) {
    const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
    if (std::string(storage.module) != "wo" || storage.term != Term::kWeights) continue;
    EXPECT_EQ(storage.dtype, Dtype::kFp32);
    EXPECT_EQ(storage.elements.coefficient, 256 * 1024);
  }
}

TEST(EncoderDecoder, ARankOfWhatIsDividedIsRefused) {
  Workload workload = MakeT5Workload();
  EXPECT_FALSE(HasError(Validate(workload)));
  workload.parallel.strategy = Strategy::kFsdp2;
  workload.parallel.gpus = 4;
  ASSERT_TRUE(HasError(Validate(workload)));
  EXPECT_EQ(Validate(workload)[0].code, "not_modelled");
  EXPECT_EQ(Validate(workload)[0].field, "parallel");
}

}  // namespace
}  // namespace tunefit
