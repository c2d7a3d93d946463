#include "core/trace/adapters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

const Axes kAxes = Axes::Of(1, 2048, {});

/// LoRA of rank 16 on the down projections of Llama 3.1 8B (14,336 in, 4,096 out) under bf16 autocast.
Workload Lora() {
  Workload workload = test::MakeWorkload();
  workload.precision.autocast = true;
  workload.method.kind = MethodKind::kLora;
  workload.method.all_linear = false;
  workload.method.target_modules = {"down_proj"};
  return workload;
}

std::int64_t Trainable(const Workload& workload) { return TraceTrainingStep(workload).trained_parameters; }

TEST(Dora, TrainsAMagnitudeARow) {
  Workload workload = Lora();
  const std::int64_t lora = Trainable(workload);
  EXPECT_EQ(lora, 32 * 16 * (14'336 + 4'096));
  workload.method.dora = true;
  EXPECT_EQ(Trainable(workload), lora + 32 * 4'096);
}

TEST(Dora, MakesTheAdaptersMatrixAndItsNormForAMoment) {
  Workload workload = Lora();
  workload.method.dora = true;
  const Step step = TraceTrainingStep(workload);
  const double matrix = 14'336.0 * 4'096;
  // The identity in fp32 and in bf16, together while the adapter runs over it.
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "identity"), 14'336.0 * 14'336 * (4 + 2));
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "adapter's matrix"), matrix * (2 + 4));
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "cast weight"), matrix * 4);
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "scaled update"), matrix * 4);
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "weight and update"), matrix * 4);
}

TEST(Dora, WithDropoutTheProductIsMadeAgainAndItsMatrixKept) {
  Workload workload = Lora();
  workload.method.dora = true;
  workload.method.dropout = 0.1;
  const double with = ReplayStep(TraceTrainingStep(workload), kAxes).after_forward;
  workload.method.dora = false;
  const double without = ReplayStep(TraceTrainingStep(workload), kAxes).after_forward;
  EXPECT_GT(with - without, 32 * 2 * 14'336.0 * 4'096);  // a bf16 copy of the matrix a layer
}

TEST(RankPattern, AModuleHasARankOfItsOwn) {
  Workload workload = Lora();
  workload.method.target_modules = {"down_proj", "o_proj"};
  workload.method.rank_pattern = {{"down_proj", 64}};
  EXPECT_EQ(Trainable(workload), 32 * (64 * (14'336 + 4'096) + 16 * (4'096 + 4'096)));
}

/// LoRA of rank 16 on the token table, 128,256 x 4,096, and on nothing else.
Workload OnTheTable() {
  Workload workload = Lora();
  workload.method.target_modules.clear();
  workload.method.adapts_embedding = true;
  return workload;
}

TEST(TableAdapter, TrainsARowATokenAndAColumnAFeature) {
  EXPECT_EQ(Trainable(OnTheTable()), 16 * (128'256 + 4'096));
  Workload head = OnTheTable();
  head.method.adapts_embedding = false;
  head.method.adapts_head = true;
  EXPECT_EQ(Trainable(head), 16 * (128'256 + 4'096));
}

TEST(TableAdapter, ReadsItsRowsAndAddsTheirProduct) {
  const Step step = TraceTrainingStep(OnTheTable());
  // Rows of rank 16 in fp32; autocast makes bf16 of them for the product. Then the sum, fp32 beside nothing wider than
  // the table's bf16, so bf16 itself.
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "lora_embedding_A"), 0);  // resident
  EXPECT_EQ(test::MostAliveAs(step, kAxes, "embedding"), 2 * 2048.0 * 4'096 + 4 * 2048.0 * 16);
  double low = 0;
  for (const Storage& storage : step.storages) {
    if (std::string(storage.role) == "cast" && storage.elements == Size{16, Axis::kTokens}) low += 1;
  }
  EXPECT_EQ(low, 1);
}

TEST(TableAdapter, ItsGradientIsCopiedIntoPlace) {
  const Step step = TraceTrainingStep(OnTheTable());
  // The table of rank 16 is read through a view that is transposed: autograd makes the view's gradient and copies it,
  // 4 x 16 x 128,256 twice.
  double alive = 0;
  double most = 0;
  for (const Event& event : step.events) {
    const Storage& storage = step.storages[static_cast<std::size_t>(event.storage)];
    if (!(storage.elements == Size{16.0 * 128'256, Axis::kOnce})) continue;
    alive += event.change * StorageBytes(storage, kAxes);
    most = std::max(most, alive);
  }
  EXPECT_EQ(most, 2 * 4 * 16.0 * 128'256);
}

TEST(SavedModules, AreCopiesInTheDtypeOfTheirOriginals) {
  Workload workload = Lora();
  workload.method.saves_embedding = true;
  const double table = 128'256.0 * 4'096;
  const auto copies = [](const Workload& asked) {
    const Step step = TraceTrainingStep(asked);
    double bytes = 0;
    for (const Resident& weight : step.weights) {
      const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
      if (std::string(storage.role) == "modules_to_save") bytes += StorageBytes(storage, kAxes);
    }
    return bytes;
  };
  EXPECT_EQ(copies(workload), 2 * table);
  workload.method.saved_dtype = Dtype::kFp32;
  EXPECT_EQ(copies(workload), 4 * table);
  workload.method.saved_dtype.reset();
  workload.quantization = {.kind = QuantizationKind::kNf4};  // prepared: the embedding became fp32
  EXPECT_EQ(copies(workload), 4 * table);
}

TEST(Freeze, TheLastLayersTrain) {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kFreeze;
  workload.method.trainable_layers = 3;
  const Step step = TraceTrainingStep(workload);
  // 218,103,808 weights of matrices and two norms of 4,096 in each.
  EXPECT_EQ(step.trained_parameters, 3 * (218'103'808 + 2 * 4'096));
  const Replay replay = ReplayStep(step, kAxes);
  EXPECT_NEAR(replay.optimizer_states, 3 * 218'112'000.0 * 4, 1e5);
  // The 29 frozen layers keep nothing: three layers' worth of activations, and not 32.
  workload.method.kind = MethodKind::kFull;
  const Replay full = ReplayStep(TraceTrainingStep(workload), kAxes);
  const double kept = replay.after_forward - replay.weights - replay.optimizer_states;
  EXPECT_LT(kept, 0.3 * (full.after_forward - full.weights - full.optimizer_states));
}

TEST(Freeze, CutsAPeriodWhereItHasTo) {
  Workload workload = test::MakeWorkload();
  LayerRun& run = workload.architecture.runs.front();
  run.period.push_back(run.period.front());
  run.period.back().scales_residual = true;  // two kinds of layers, alternating
  run.repeats = 16;
  workload.method.kind = MethodKind::kFreeze;
  for (std::int64_t layers = 1; layers <= 32; ++layers) {
    workload.method.trainable_layers = layers;
    EXPECT_EQ(Trainable(workload), layers * 218'112'000) << layers;
  }
}

}  // namespace
}  // namespace tunefit
