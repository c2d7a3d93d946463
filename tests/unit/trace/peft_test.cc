// IA3 and prompt tuning, as PEFT runs them: hand-worked cases of what they train and what they keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/memory/moments.h"
#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;

/// Llama 3.1 8B under bf16 autocast: keys and values 1,024 wide, the MLP 14,336.
Workload Peft(MethodKind kind) {
  Workload workload = test::MakeWorkload();
  workload.precision.autocast = true;
  workload.method.kind = kind;
  return workload;
}

/// IA3 with PEFT's own modules of a Llama.
Workload Ia3(QuantizationKind quantization = QuantizationKind::kNone) {
  Workload workload = Peft(MethodKind::kIa3);
  workload.method.all_linear = false;
  workload.method.target_modules = {"k_proj", "v_proj", "down_proj"};
  workload.method.feedforward_modules = {"down_proj"};
  workload.quantization = {.kind = quantization, .prepare = PrepareKbit::kNone};
  return workload;
}

Workload Prompted(std::int64_t tokens, QuantizationKind quantization = QuantizationKind::kNone) {
  Workload workload = Peft(MethodKind::kPromptTuning);
  workload.method.virtual_tokens = tokens;
  workload.quantization = {.kind = quantization, .prepare = PrepareKbit::kNone};
  return workload;
}

Axes AxesFor(const Step& step, const Workload& workload) { return AxesOf(step, workload, workload.batch); }

/// Bytes that every layer but the first keeps for backward.
double KeptByALayer(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, AxesFor(step, workload));
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const Section& section = step.sections[i];
    if (section.moment != Moment::kForward || section.repeats == 1) continue;
    return (replay.sections[i].after - replay.sections[i].before) / static_cast<double>(section.repeats);
  }
  return 0;
}

/// Tensors of that size that the forward pass leaves for backward.
std::int64_t KeptOfSize(const Step& step, Size size) {
  std::int64_t kept = 0;
  for (const Section& section : step.sections) {
    if (section.moment == Moment::kBackward) break;
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      if (step.storages[static_cast<std::size_t>(event.storage)].elements == size) kept += event.change;
    }
  }
  return kept;
}

/// The most bytes that live at once under a role of that dtype.
double MostAlive(const Workload& workload, const std::string& role, Dtype dtype) {
  const Step step = TraceTrainingStep(workload);
  const Axes axes = AxesFor(step, workload);
  const auto bytes = [&](const Section& /*any*/, const Storage& storage) {
    return storage.role == role && storage.dtype == dtype ? StorageBytes(storage, axes) : 0;
  };
  return test::MostAlive(step, bytes, [](const Section& /*any*/) { return true; });
}

TEST(Ia3, TrainsAVectorAModule) {
  // 1,024 + 1,024 + 14,336 numbers in each of 32 layers.
  EXPECT_EQ(TraceTrainingStep(Ia3()).trained_parameters, 524'288);
  EXPECT_EQ(TraceTrainingStep(Ia3()).adapter_parameters, 524'288);
  // Llama 7B: 4,096 + 4,096 + 11,008, which PEFT counts as 614,400.
  Workload seven = Ia3();
  seven.architecture = test::MakeLlama({4096, 11008, 32, 32, 32, 128, 32000, false});
  EXPECT_EQ(TraceTrainingStep(seven).trained_parameters, 614'400);
  // Where the input is not scaled, the output is: 4,096 of the last matrix in place of 14,336.
  Workload outputs = Ia3();
  outputs.method.feedforward_modules.clear();
  EXPECT_EQ(TraceTrainingStep(outputs).trained_parameters, 32 * (1'024 + 1'024 + 4'096));
}

TEST(Ia3, KeepsWhatTheVectorsMultiply) {
  // Prompt tuning trains nothing in the layers, and its gradient passes through all of them: what IA3's layers keep
  // beyond that is for the vectors. The keys' and values' products in bf16, the last matrix's input cast to fp32; and,
  // as gradients go on, the three vectors times one.
  const double products = 2 * 2 * kTokens * 1'024;
  const double input = 4 * kTokens * 14'336;
  const double vectors = 4 * (1'024 + 1'024 + 14'336);
  Workload frozen = Prompted(1);
  frozen.batch.sequence_length = 2'047;  // 2,048 with the virtual one
  EXPECT_EQ(KeptByALayer(Ia3()) - KeptByALayer(frozen), products + input + vectors);
}

TEST(Ia3, OfAFrozenInputOnlyTheProductIsKept) {
  // Nothing before the first layer needs a gradient: of its keys the product is kept and not the vector.
  Workload keys = Ia3();
  keys.method.target_modules = {"k_proj"};
  for (const std::int64_t layers : {1, 2}) {
    keys.architecture = test::MakeLlama({.layers = layers});
    const Step step = TraceTrainingStep(keys);
    EXPECT_EQ(step.trained_parameters, layers * 1'024);
    EXPECT_EQ(KeptOfSize(step, {1'024, Axis::kOnce}), layers - 1);
    EXPECT_EQ(ReplayStep(step, AxesFor(step, keys)).optimizer_states, layers * (2 * 4 * 1'024 + 512));
  }
}

TEST(Ia3, OverFourBitsNothingIsCastBack) {
  // ia3/bnb.py: the product with an fp32 vector is fp32, and cloned.
  EXPECT_EQ(MostAlive(Ia3(), "clone", Dtype::kFp32), 0);
  EXPECT_EQ(MostAlive(Ia3(QuantizationKind::kInt8), "clone", Dtype::kFp32), 0);
  EXPECT_GE(MostAlive(Ia3(QuantizationKind::kNf4), "clone", Dtype::kFp32), 4 * kTokens * 4'096);
  // So the residual stream is fp32 from the first layer's end on, and with it every product, which bitsandbytes casts
  // to its input's dtype: keys, values, the last matrix's input and the vectors, all in fp32; gate, its activation and
  // up are kept as without vectors, but in fp32, not bf16.
  const double for_vectors = 4 * (2 * kTokens * 1'024 + kTokens * 14'336 + 1'024 + 1'024 + 14'336);
  const double wider = 3 * (4 - 2) * kTokens * 14'336;
  Workload frozen = Prompted(1, QuantizationKind::kNf4);
  frozen.batch.sequence_length = 2'047;
  EXPECT_EQ(KeptByALayer(Ia3(QuantizationKind::kNf4)) - KeptByALayer(frozen), for_vectors + wider);
}

TEST(Ia3, WithoutTheAdapterTheBaseRunsAlone) {
  Workload dpo = Ia3();
  dpo.task = Task::kDpo;
  dpo.reference = Reference::kAdapterOff;
  const Step step = TraceTrainingStep(dpo);
  EXPECT_EQ(step.trained_parameters, 524'288);
  // One model's weights, no copy of them.
  const Replay replay = ReplayStep(step, AxesFor(step, dpo));
  EXPECT_EQ(replay.weights, 2 * 8'030'261'248.0 + 4 * 524'288);
}

TEST(PromptTuning, TrainsTheVirtualTokensAlone) {
  EXPECT_EQ(TraceTrainingStep(Prompted(20)).trained_parameters, 20 * 4'096);
  EXPECT_EQ(TraceTrainingStep(Prompted(20)).adapter_parameters, 20 * 4'096);
  const Workload workload = Prompted(20);
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, AxesFor(step, workload));
  // AdamW in fp32: two moments of 81,920 numbers, and the step's counter.
  EXPECT_EQ(replay.optimizer_states, 2 * 4 * 81'920 + 512);
  EXPECT_EQ(replay.weights, 2 * 8'030'261'248.0 + 4 * 81'920);
}

TEST(PromptTuning, SequencesAreLongerByTheVirtualTokens) {
  Workload workload = Prompted(20);
  workload.batch.per_device = 3;
  const double tokens = 3 * (kTokens + 20);
  EXPECT_EQ(MostAlive(workload, "input_ids", Dtype::kInt64), 8 * 3 * kTokens);
  EXPECT_EQ(MostAlive(workload, "labels", Dtype::kInt64), 8 * 3 * kTokens);
  EXPECT_EQ(MostAlive(workload, "labels of all tokens", Dtype::kInt64), RoundToGranule(8 * tokens));
  EXPECT_EQ(MostAlive(workload, "embedding", Dtype::kBf16), 2 * 3 * kTokens * 4'096);
  EXPECT_EQ(MostAlive(workload, "embedding", Dtype::kFp32), 4.0 * 20 * 4'096);
  EXPECT_EQ(MostAlive(workload, "prompts", Dtype::kFp32), 4.0 * 3 * 20 * 4'096);
  // The trace holds two layers: the first, and one that stands for the others.
  EXPECT_EQ(MostAlive(workload, "log-sum-exp", Dtype::kFp32), 2 * RoundToGranule(4 * 32 * tokens));
}

TEST(PromptTuning, TheGradientReachesTheVirtualTokens) {
  const Workload workload = Prompted(20);
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, AxesFor(step, workload));
  double gradients = 0;
  for (const Event& event : step.events) {
    const Storage& storage = step.storages[static_cast<std::size_t>(event.storage)];
    if (storage.term == Term::kGradients) gradients += event.change * storage.elements.coefficient;
  }
  EXPECT_EQ(gradients, 81'920);
  EXPECT_GT(replay.after_forward, replay.weights);
}

TEST(PromptTuning, AddsItsTokensToTheLearnedPositions) {
  Workload workload = Prompted(20);
  workload.architecture.position_rows = 2'068;
  EXPECT_FALSE(HasError(Validate(workload)));
  workload.method.virtual_tokens = 21;
  const Issues issues = Validate(workload);
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues.front().code, "length_over_positions");
}

}  // namespace
}  // namespace tunefit
