#include "core/trace/optimizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

const Axes kAxes = Axes::Of(1, 2048, {});

// Llama 3.1 8B: 8,030,261,248 parameters. A layer's matrices: q and o 4,096 x 4,096, k and v 1,024 x 4,096, gate and up
// 14,336 x 4,096, down 4,096 x 14,336: 218,103,808. Embedding and head 128,256 x 4,096 = 525,336,576 each. 65 norms of
// 4,096.
constexpr double kParameters = 8'030'261'248;
constexpr double kLayerMatrices = 32 * 218'103'808.0;
constexpr double kTable = 525'336'576;

Workload With(Optimizer optimizer, Dtype weights = Dtype::kBf16) {
  Workload workload = test::MakeWorkload();
  workload.optimizer = optimizer;
  workload.precision.weights = weights;
  return workload;
}

Replay Read(const Workload& workload) { return ReplayStep(TraceTrainingStep(workload), kAxes); }

/// Bytes of the optimizer's states of one kind of module, without the allocator's rounding.
double StatesOf(const Workload& workload, const std::string& module) {
  const Step step = TraceTrainingStep(workload);
  double bytes = 0;
  for (const auto* list : {&step.optimizer_states, &step.paged_states}) {
    for (const Resident& state : *list) {
      const Storage& storage = step.storages[static_cast<std::size_t>(state.storage)];
      if (storage.module != module) continue;
      bytes += static_cast<double>(state.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
    }
  }
  return bytes;
}

TEST(Optimizer, SgdKeepsNothing) {
  const Replay replay = Read(With(Optimizer::kSgd));
  EXPECT_EQ(replay.optimizer_states, 0);
  EXPECT_EQ(replay.optimizer_transient, 0);
}

TEST(Optimizer, AdafactorKeepsARowAndAColumnInFp32) {
  const Workload workload = With(Optimizer::kAdafactor);
  EXPECT_EQ(StatesOf(workload, "gate_proj"), 32 * 4 * (14'336 + 4'096));
  EXPECT_EQ(StatesOf(workload, "norm"), 4 * 4'096);
  // The embedding's update: gradient and parameter upcast, the update and its negative: four fp32 copies.
  EXPECT_EQ(Read(workload).optimizer_transient, 16 * kTable);
  EXPECT_EQ(Read(With(Optimizer::kAdafactor, Dtype::kFp32)).optimizer_transient, 8 * kTable);
}

TEST(Optimizer, LionIsOneMomentOfBitsandbytes) {
  EXPECT_NEAR(Read(With(Optimizer::kLion32bit)).optimizer_states / kParameters, 4, 1e-5);
  // A byte, four bytes a block of 256; the embedding stays in fp32.
  const double packed = kParameters - kTable - 65 * 4'096.0;
  EXPECT_NEAR(Read(With(Optimizer::kLion8bit)).optimizer_states,
              packed * (1 + 4.0 / 256) + 4 * kTable + 65 * 4'096 * (1 + 4.0 / 256), 1e5);
  EXPECT_EQ(Read(With(Optimizer::kPagedLion32bit)).optimizer_states,
            65 * 4 * 4'096);  // the norms are too small to page
}

TEST(Optimizer, AdemamixHasASlowAverageBesides) {
  EXPECT_NEAR(Read(With(Optimizer::kAdemamix)).optimizer_states / kParameters, 12, 1e-5);
}

TEST(Optimizer, TorchaoPacksInBlocksOf256) {
  // down_proj, 58,720,256 elements: two moments of a byte (half a byte), a scale of four bytes a block, a table each.
  const double blocks = 58'720'256.0 / 256;
  EXPECT_EQ(StatesOf(With(Optimizer::kAdamwTorchao8bit), "down_proj"), 32 * 2 * (58'720'256 + 4 * blocks + 4 * 256));
  EXPECT_EQ(StatesOf(With(Optimizer::kAdamwTorchao4bit), "down_proj"), 32 * 2 * (29'360'128 + 4 * blocks + 4 * 16));
  EXPECT_EQ(StatesOf(With(Optimizer::kAdamwTorchao8bit), "norm"), 2 * (4'096 + 4 * 16 + 4 * 256));
}

TEST(Optimizer, GaloreKeepsMomentsOfTheProjectedGradient) {
  Workload workload = With(Optimizer::kGaloreAdamw);
  workload.optimizer_rank = 128;
  // k_proj, 1,024 x 4,096: projection 128 x 1,024, two moments of 128 x 4,096, all bf16.
  EXPECT_EQ(StatesOf(workload, "k_proj"), 32 * 2 * (128 * 1'024 + 2 * 128 * 4'096));
  // The embedding is no target: two whole moments.
  EXPECT_EQ(StatesOf(workload, "embed_tokens"), 4 * kTable);
  // Decomposing gate_proj: the gradient in fp32, a working copy, U (14,336 x 4,096) and V (4,096 x 4,096).
  const double gate = 14'336.0 * 4'096;
  const double svd = 4 * (3 * gate + 4'096.0 * 4'096);
  // The embedding's AdamW takes two copies in bf16, which is more.
  EXPECT_EQ(Read(workload).optimizer_transient, std::max(svd, 2 * 2 * kTable));
  workload.optimizer = Optimizer::kGaloreAdamw8bit;
  EXPECT_EQ(StatesOf(workload, "k_proj"), 32 * (2 * 128 * 1'024 + 2 * 128 * 4'096 * (1 + 4.0 / 256)));
  workload.optimizer = Optimizer::kGaloreAdafactor;
  EXPECT_EQ(StatesOf(workload, "k_proj"), 32 * 4 * (128 * 1'024 + 4'096 + 128));
}

TEST(Optimizer, MuonHasOneMomentForTheMatricesOfLayers) {
  const Workload workload = With(Optimizer::kMuon);
  EXPECT_EQ(StatesOf(workload, "q_proj"), 32 * 2 * 4'096 * 4'096.0);
  EXPECT_EQ(StatesOf(workload, "lm_head"), 4 * kTable);
  const double vectors = kParameters - kLayerMatrices - 2 * kTable;
  EXPECT_NEAR(Read(workload).optimizer_states, 2 * kLayerMatrices + 4 * (2 * kTable + vectors), 1e5);
}

TEST(Optimizer, AdamMiniKeepsOneNumberARowBesideItsMoment) {
  EXPECT_EQ(StatesOf(With(Optimizer::kAdamMini), "gate_proj"), 32 * 2 * (14'336 * 4'096.0 + 14'336));
}

TEST(Optimizer, ScheduleFreeAndStableAdamw) {
  EXPECT_NEAR(Read(With(Optimizer::kScheduleFreeAdamw)).optimizer_states / kParameters, 4, 1e-5);
  EXPECT_NEAR(Read(With(Optimizer::kScheduleFreeSgd)).optimizer_states / kParameters, 2, 1e-5);
  EXPECT_NEAR(Read(With(Optimizer::kStableAdamw)).optimizer_states / kParameters, 6, 1e-5);
  EXPECT_NEAR(Read(With(Optimizer::kStableAdamw, Dtype::kFp32)).optimizer_states / kParameters, 8, 1e-5);
}

TEST(Optimizer, StatesMayHaveADtypeOfTheirOwn) {
  Workload workload = With(Optimizer::kAdamwFused, Dtype::kFp32);
  workload.precision.optimizer_states = Dtype::kBf16;
  EXPECT_NEAR(Read(workload).optimizer_states / kParameters, 4, 1e-4);
}

TEST(OptimizerInBackward, NoGradientStays) {
  Workload workload = With(Optimizer::kAdamwFused);
  workload.loss = Loss::kFusedLinearCe;  // the peak is where gradients are, not logits
  workload.checkpointing = Checkpointing::kFull;
  const Replay kept = Read(workload);
  workload.optimizer_in_backward = true;
  const Replay freed = Read(workload);
  EXPECT_NEAR(kept.after_backward - freed.after_backward, 2 * kParameters, 1e5);
  EXPECT_LT(freed.peak_backward.bytes, kept.peak_backward.bytes - kParameters);
  EXPECT_EQ(freed.optimizer_transient, 0);
  EXPECT_EQ(freed.optimizer_states, kept.optimizer_states);
}

TEST(OptimizerInBackward, ATiedTableIsUpdatedWhenBothItsGradientsAreThere) {
  test::LlamaSizes sizes;
  sizes.tied = true;
  Workload workload = test::MakeWorkload(sizes);
  workload.optimizer_in_backward = true;
  const Step step = TraceTrainingStep(workload);
  // The head's gradient waits for the embedding's: it ends in the last section, with the sum of the two.
  const Section& last = step.sections.back();
  double freed = 0;
  for (std::int32_t i = last.first_event; i < last.end_event; ++i) {
    const Event& event = step.events[static_cast<std::size_t>(i)];
    const Storage& storage = step.storages[static_cast<std::size_t>(event.storage)];
    if (storage.term == Term::kGradients && event.change < 0) freed += StorageBytes(storage, kAxes);
  }
  EXPECT_EQ(freed, 3 * 2 * kTable);
  EXPECT_NEAR(ReplayStep(step, kAxes).after_backward,
              ReplayStep(step, kAxes).weights + ReplayStep(step, kAxes).optimizer_states, 1e6);
}

TEST(OptimizerInBackward, LomoIsItByNature) {
  const Replay replay = Read(With(Optimizer::kLomo));
  EXPECT_EQ(replay.optimizer_states, 0);
  EXPECT_LT(replay.after_backward, replay.weights + 1e6);
  // The head's gradient (bf16) is applied in fp32: the gradient and the parameter, 8 bytes each element.
  EXPECT_GT(replay.peak_backward.bytes, replay.weights + 10 * kTable);
}

TEST(MasterWeights, AreThePlusOfTwelveBytes) {
  Workload workload = With(Optimizer::kAdamwFused);
  workload.precision.master_weights = true;
  const Replay cast = Read(workload);
  EXPECT_NEAR(cast.weights / kParameters, 2, 1e-5);
  EXPECT_NEAR(cast.optimizer_states / kParameters, 12, 1e-4);
  EXPECT_NEAR(cast.optimizer_transient / kParameters, 4, 1e-5);  // gradients cast to fp32 for the step
  workload.habits.master_gradients = MasterGradients::kFp32Buffer;
  const Replay buffered = Read(workload);
  EXPECT_NEAR(buffered.gradient_buffers / kParameters, 4, 1e-5);
  EXPECT_EQ(buffered.optimizer_transient, 0);
  EXPECT_NEAR(buffered.after_backward / kParameters, 2 + 12 + 4, 1e-3);
  workload.batch.gradient_accumulation = 8;  // nothing more stays alive
  EXPECT_EQ(Read(workload).peak_backward.bytes, buffered.peak_backward.bytes);
}

TEST(MasterWeights, AreNoneOfFp32Weights) {
  Workload workload = With(Optimizer::kAdamwFused, Dtype::kFp32);
  const Replay plain = Read(workload);
  workload.precision.master_weights = true;
  EXPECT_EQ(Read(workload).optimizer_states, plain.optimizer_states);
}

}  // namespace
}  // namespace tunefit
