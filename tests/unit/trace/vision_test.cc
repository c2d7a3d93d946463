// A tower for images in steps over text: resident, never run. tests/support/architectures.cc has its sizes.
#include "core/trace/vision.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

/// Parameters of the tower: see CountParameters.ATowerForImagesByItsParts.
constexpr std::int64_t kTower = 104 + 32 + 3 * (4 * 72 + 108 + 104 + 32) + 16 + 8 + 32'768;

Workload WithTower() {
  Workload workload = test::MakeWorkload();
  workload.architecture.vision = test::MakeTower();
  return workload;
}

double Elements(const Step& step, const std::vector<Resident>& residents) {
  double elements = 0;
  for (const Resident& resident : residents) {
    elements += static_cast<double>(resident.count) *
                step.storages[static_cast<std::size_t>(resident.storage)].elements.coefficient;
  }
  return elements;
}

TEST(Tower, IsResidentAndRunsNothing) {
  const Step without = TraceTrainingStep(test::MakeWorkload());
  const Step with = TraceTrainingStep(WithTower());
  EXPECT_EQ(Elements(with, with.weights), Elements(without, without.weights) + kTower);
  EXPECT_EQ(with.events.size(), without.events.size());
  EXPECT_EQ(with.trained_parameters, without.trained_parameters);  // frozen unless the request says more
}

TEST(Tower, TrainedItHasNeitherGradientsNorLazyStates) {
  Workload workload = WithTower();
  const Step frozen = TraceTrainingStep(workload);
  workload.method.trains_vision_tower = true;
  const Step trained = TraceTrainingStep(workload);
  EXPECT_EQ(trained.trained_parameters, frozen.trained_parameters + kTower);
  EXPECT_EQ(Elements(trained, trained.idle), kTower);
  EXPECT_EQ(Elements(trained, trained.trained), Elements(frozen, frozen.trained));
  EXPECT_EQ(Elements(trained, trained.optimizer_states), Elements(frozen, frozen.optimizer_states));
}

TEST(Tower, LayersOfTheLanguageModelThatOnlyImagesReachTrainAsItsOthers) {
  Workload workload = WithTower();
  const Step alone = TraceTrainingStep(workload);
  const Block block = workload.architecture.runs.front().period.front();
  workload.architecture.vision->more_layers = {
      {.block = block, .hidden_size = 4096, .count = 2, .gates = 2, .of_language = true}};
  // Two of Llama's layers, 218,112,000 each, and two scalars.
  const std::int64_t layers = 2 * (218'112'000 + 2);
  const Step with = TraceTrainingStep(workload);
  EXPECT_EQ(with.trained_parameters, alone.trained_parameters + layers);
  EXPECT_EQ(Elements(with, with.idle), layers);
  EXPECT_EQ(with.events.size(), alone.events.size());
  workload.parallel.gpus = workload.parallel.tensor = 2;
  EXPECT_EQ(Validate(workload).at(0).field, "parallel.tensor");
  workload.architecture.vision->more_layers.front().of_language = false;
  EXPECT_TRUE(Validate(workload).empty());
  EXPECT_EQ(TraceTrainingStep(workload).trained_parameters, alone.trained_parameters);
}

TEST(Tower, MasterWeightsHaveStatesOfAllThatTrains) {
  Workload workload = WithTower();
  workload.precision.master_weights = true;
  const Step frozen = TraceTrainingStep(workload);
  workload.method.trains_vision_tower = true;
  const Step trained = TraceTrainingStep(workload);
  // A copy and two moments of each.
  EXPECT_NEAR(Elements(trained, trained.optimizer_states) - Elements(frozen, frozen.optimizer_states), 3.0 * kTower,
              100);  // step counters
}

TEST(Tower, DdpHasRoomForItsGradients) {
  Workload workload = WithTower();
  workload.parallel.strategy = Strategy::kDdp;
  workload.parallel.gpus = 2;
  const Step frozen = TraceTrainingStep(workload);
  workload.method.trains_vision_tower = true;
  const Step trained = TraceTrainingStep(workload);
  EXPECT_EQ(Elements(trained, trained.gradient_buffers) - Elements(frozen, frozen.gradient_buffers), kTower);
}

TEST(Tower, ShardedIsAShare) {
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2, Strategy::kZero3}) {
    Workload workload = test::MakeWorkload();
    workload.parallel.strategy = strategy;
    workload.parallel.gpus = 2;
    const Step without = TraceTrainingStep(workload);
    workload.architecture.vision = test::MakeTower();
    const Step with = TraceTrainingStep(workload);
    EXPECT_EQ(Elements(with, with.weights), Elements(without, without.weights) + static_cast<double>(kTower) / 2);
  }
}

TEST(Tower, StandsOnTheFirstStage) {
  Workload workload = WithTower();
  workload.stage.is_first = false;
  const Step later = TraceTrainingStep(workload);
  workload.architecture.vision.reset();
  const Step without = TraceTrainingStep(workload);
  EXPECT_EQ(Elements(later, later.weights), Elements(without, without.weights));
}

TEST(Tower, AdaptersOnItCountAndGetNoGradient) {
  Workload workload = WithTower();
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 2;
  workload.method.all_linear = false;
  workload.method.target_modules = {"tower.q_proj"};
  const Step step = TraceTrainingStep(workload);
  EXPECT_EQ(step.adapter_parameters, 3 * 2 * (8 + 8));
  EXPECT_TRUE(step.trained.empty());
  EXPECT_TRUE(step.optimizer_states.empty());
  workload.method.target_modules.clear();
  workload.method.all_linear = true;
  const Step all = TraceTrainingStep(workload);
  const std::int64_t block = 2 * (4 * (8 + 8) + 2 * (8 + 12));
  EXPECT_EQ(Elements(all, all.idle), 3 * block + 2 * (8 + 4096));  // patches are a convolution
  workload.architecture.vision->patches_are_linear = true;
  workload.architecture.vision->projectors[0].is_module = false;
  const Step bare = TraceTrainingStep(workload);
  EXPECT_EQ(Elements(bare, bare.idle), 3 * block + 2 * (12 + 8));
}

TEST(Tower, BitsandbytesPacksItAndGptqDoesNot) {
  Workload workload = WithTower();
  workload.method.kind = MethodKind::kLora;
  const auto bytes_of = [&](QuantizationKind kind) {
    workload.quantization.kind = kind;
    workload.quantization.prepare = PrepareKbit::kNone;
    const Step step = TraceTrainingStep(workload);
    double bytes = 0;
    for (const Resident& weight : step.weights) {
      const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
      const bool matrix = std::strcmp(storage.module, "projector.linear") == 0 && storage.term == Term::kWeights;
      if (matrix) bytes += storage.elements.coefficient * BytesPerElement(storage.dtype);
    }
    return bytes;
  };
  EXPECT_EQ(bytes_of(QuantizationKind::kNf4), 32'768 / 2);
  EXPECT_EQ(bytes_of(QuantizationKind::kGptq), 32'768 * 2);
}

}  // namespace
}  // namespace tunefit
