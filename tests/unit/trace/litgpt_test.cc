// LitGPT's model and loop by hand: a Llama of two layers (hidden size 4,096, 32 heads of 128, 8 of them with keys and
// values, MLP of 14,336), bf16, two sequences of 1,024 tokens (T = 2,048). All figures are bytes.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/memory/replay.h"
#include "core/model/litgpt.h"
#include "core/trace/training_step.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double kLayers = 2;
constexpr double kLogits = kTokens * 32000;

Workload Lora(std::vector<std::string> targets) {
  test::LlamaSizes sizes;
  sizes.layers = 2;
  sizes.vocabulary = 32000;
  Workload workload = test::MakeWorkload(sizes);
  workload.method.kind = MethodKind::kLora;
  workload.method.all_linear = false;
  workload.method.target_modules = std::move(targets);
  workload.method.rank = 8;
  workload.method.dropout = 0.05;
  workload.method.adapter_dtype = Dtype::kBf16;
  workload.habits.sdpa_repeats_heads = true;
  workload.attention = AttentionKernel::kSdpa;
  return workload;
}

Workload LitGpt(std::vector<std::string> targets, JoinedQkv rows = JoinedQkv::kGroups) {
  Workload workload = Lora(std::move(targets));
  BuildAsLitGpt(workload.architecture, {.joined_qkv = rows});
  return workload;
}

Axes AxesFor(const Step& step) { return Axes::Of(2, 1024, step.chunk); }

/// The most bytes of all layers that live at once under a role.
double MostAlive(const Workload& workload, const std::string& role) {
  const Step step = TraceTrainingStep(workload);
  const Axes axes = AxesFor(step);
  const auto bytes = [&](const Section& section, const Storage& storage) {
    return storage.role == role ? static_cast<double>(section.repeats) * StorageBytes(storage, axes) : 0;
  };
  return test::MostAlive(step, bytes, [](const Section& /*any*/) { return true; });
}

TEST(JoinedAdapter, HasTheParametersOfItsParts) {
  for (const std::vector<std::string>& targets :
       {std::vector<std::string>{"q_proj"}, {"q_proj", "v_proj"}, {"q_proj", "k_proj", "v_proj", "o_proj"}}) {
    EXPECT_EQ(TraceTrainingStep(LitGpt(targets)).trained_parameters,
              TraceTrainingStep(Lora(targets)).trained_parameters);
  }
  // 8 x (4,096 + 4,096) + 8 x (4,096 + 1,024), twice.
  EXPECT_EQ(TraceTrainingStep(LitGpt({"q_proj", "v_proj"})).trained_parameters, 2 * 8 * (8192 + 5120));
  EXPECT_EQ(TraceTrainingStep(LitGpt({"k_proj"}, JoinedQkv::kParts)).trained_parameters, 2 * 8 * 5120);
}

TEST(JoinedAdapter, DropsItsInputOnceForAllParts) {
  const std::vector<std::string> all = {"q_proj", "k_proj", "v_proj"};
  // One byte an element, in the second layer: what the first one reads asks for no gradient.
  EXPECT_EQ(MostAlive(Lora(all), "dropout mask"), 3 * 4096 * kTokens);
  EXPECT_EQ(MostAlive(LitGpt(all), "dropout mask"), 4096 * kTokens);
}

TEST(JoinedAdapter, KeepsTheUpdateThatZerosArePutAround) {
  // index_copy saves its source: queries (4,096) and values (1,024), two bytes each.
  EXPECT_EQ(MostAlive(LitGpt({"q_proj", "v_proj"}), "joined parts"), kLayers * (4096 + 1024) * 2 * kTokens);
  // With all three there is nothing to pad: the parts live until they are added.
  EXPECT_EQ(MostAlive(LitGpt({"q_proj", "k_proj", "v_proj"}), "joined parts"), (4096 + 2 * 1024) * 2 * kTokens);
}

/// Fabric's nf4 with a bitsandbytes whose products hold their input on the autograd function's context.
Workload HoldsInputs(bool loop_holds) {
  Workload workload = Lora({"q_proj"});
  workload.quantization.kind = QuantizationKind::kNf4;
  workload.quantization.prepare = PrepareKbit::kNone;
  workload.habits.kbit_keeps_input = true;
  workload.loss = Loss::kChunked;
  workload.habits.logits_upcast = LogitsUpcast::kModel;
  workload.habits.loss = {.chunked = ChunkedLoss::kLogitsInChunks, .chunk_length = 128, .loop_holds = loop_holds};
  return workload;
}

/// Inputs of the products: in each layer both norms' outputs, what attention returns, gate times up; but for what the
/// first layer's products read, which asks for no gradient.
constexpr double kInputs = (kLayers * (4096 + 4096 + 4096 + 14336) - 4096) * 2 * kTokens;

TEST(HeldGraph, LivesUntilTheNextLogitsWhereTheLoopHoldsThem) {
  const Step held = TraceTrainingStep(HoldsInputs(true));
  const Step freed = TraceTrainingStep(HoldsInputs(false));
  const Replay with = ReplayStep(held, AxesFor(held));
  const Replay without = ReplayStep(freed, AxesFor(freed));
  // After backward the step's own inputs and fp32 logits are still there, and the last step's are gone.
  EXPECT_EQ(with.after_backward - without.after_backward, kInputs + kLogits * 4);
  // The next step begins with as much, its ids and its labels.
  const SectionBytes& first = with.sections.front();
  EXPECT_EQ(first.after - first.before, kInputs + kLogits * 4 + 2 * 8 * kTokens);
  EXPECT_EQ(with.after_forward - without.after_forward, kLogits * 4);
}

TEST(HeldGraph, OfAModuleThatRanAgainEndsWithIt) {
  Workload workload = HoldsInputs(true);
  workload.checkpointing = Checkpointing::kFull;
  workload.habits.recompute = Recompute::kStopsEarly;
  const Step step = TraceTrainingStep(workload);
  const SectionBytes first = ReplayStep(step, AxesFor(step)).sections.front();
  EXPECT_EQ(first.after - first.before, kLogits * 4 + 2 * 8 * kTokens);  // the last step's logits, ids and labels
}

TEST(HeldGraph, EndsWithItsBackwardElsewhere) {
  Workload workload = HoldsInputs(false);
  const Step step = TraceTrainingStep(workload);
  const Axes axes = AxesFor(step);
  const auto freed_last = [&](const Step& of) {
    double bytes = 0;
    const Section& last = of.sections.back();
    for (std::int32_t e = last.first_event; e < last.end_event; ++e) {
      const Event event = of.events[static_cast<std::size_t>(e)];
      const Storage& storage = of.storages[static_cast<std::size_t>(event.storage)];
      bytes += std::max(0, -event.change) * StorageBytes(storage, axes);
    }
    return bytes;
  };
  workload.habits.kbit_keeps_input = false;
  EXPECT_GE(freed_last(step), freed_last(TraceTrainingStep(workload)) + kInputs / 2);
  EXPECT_EQ(ReplayStep(step, axes).after_backward, ReplayStep(TraceTrainingStep(workload), axes).after_backward);
}

}  // namespace
}  // namespace tunefit
