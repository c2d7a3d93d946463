#include "core/trace/quantized.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/alive.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

/// LoRA on the query projections of Llama 3.1 8B over a base of this kind.
Workload Over(QuantizationKind kind, std::int64_t bits = 4, std::int64_t group_size = 128) {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  workload.method.all_linear = false;
  workload.method.target_modules = {"q_proj"};
  workload.quantization.kind = kind;
  workload.quantization.prepare = PrepareKbit::kNone;
  workload.quantization.bits = bits;
  workload.quantization.group_size = group_size;
  return workload;
}

/// Bytes of one down_proj (14,336 in, 4,096 out: 58,720,256 weights) with all that belongs to it.
double DownBytes(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const Axes axes = Axes::Of(1, 2048, {});
  double bytes = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
    if (std::string(storage.module) != "down_proj") continue;
    bytes += static_cast<double>(weight.count) * StorageBytes(storage, axes);
  }
  return bytes / 32;
}

TEST(QuantizedWeight, GptqByHand) {
  // 58,720,256 / 2 packed; 14,336 / 128 = 112 groups x 4,096 columns = 458,752 zeros of half a byte and scales of two
  // bytes; an int32 for each of 14,336 rows.
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kGptq)), 29'360'128 + 229'376 + 917'504 + 57'344);
  // Eight bits, one group a column: a byte a weight, 4,096 zeros of a byte and scales of two.
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kGptq, 8, 1'000'000)), 58'720'256 + 4'096 + 8'192 + 57'344);
}

TEST(QuantizedWeight, AwqHasNoOrderOfRows) {
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kAwq)), 29'360'128 + 229'376 + 917'504);
}

TEST(QuantizedWeight, HqqByHand) {
  // 58,720,256 / 64 = 917,504 groups, zero and scale of two bytes each.
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kHqq, 4, 64)), 29'360'128 + 2 * 1'835'008);
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kHqq, 2, 64)), 14'680'064 + 2 * 1'835'008);
}

TEST(QuantizedWeight, Fp8ByHand) {
  // 32 x 112 blocks of 128 x 128, an fp32 scale each.
  EXPECT_EQ(DownBytes(Over(QuantizationKind::kFp8)), 58'720'256 + 14'336);
}

TEST(QuantizedProduct, GptqsKernelWritesOneMatrixOutAtATime) {
  Workload workload = Over(QuantizationKind::kGptq);
  workload.habits.gptq_unpacks_in_torch = false;
  const Axes axes = Axes::Of(1, 2048, {});
  EXPECT_EQ(test::MostAliveAs(TraceTrainingStep(workload), axes, "dequantized weight"), 2.0 * 58'720'256);
}

TEST(QuantizedProduct, UnpackedByPyTorchEveryMatrixStaysForBackward) {
  Workload workload = Over(QuantizationKind::kGptq);
  workload.habits.gptq_unpacks_in_torch = true;
  // 32 layers of 218,103,808 weights in fp16, cast to bf16: that copy is what the product keeps. The first layer's
  // query, key, value, output and MLP matrices too: behind its adapted queries everything needs a gradient, before
  // them nothing does, so the first layer's three projections of the embeddings keep nothing.
  const Step step = TraceTrainingStep(workload);
  const Axes axes = Axes::Of(1, 2048, {});
  const Replay torch = ReplayStep(step, axes);
  workload.habits.gptq_unpacks_in_torch = false;
  const Replay kernel = ReplayStep(TraceTrainingStep(workload), axes);
  const double qkv = 4096.0 * (4096 + 2 * 1024);
  EXPECT_EQ(torch.after_forward - kernel.after_forward, 2 * (32 * 218'103'808.0 - qkv));
}

TEST(QuantizedProduct, AwqsBackwardCopiesTheMatrixForEverySequence) {
  const Step step = TraceTrainingStep(Over(QuantizationKind::kAwq));
  EXPECT_EQ(test::MostAliveAs(step, Axes::Of(1, 2048, {}), "repeated weight"), 2.0 * 58'720'256);
  EXPECT_EQ(test::MostAliveAs(step, Axes::Of(4, 2048, {}), "repeated weight"), 8.0 * 58'720'256);
}

TEST(QuantizedProduct, HqqHoldsThreeMatricesWhileItUnpacks) {
  const Step step = TraceTrainingStep(Over(QuantizationKind::kHqq, 4, 64));
  const Axes axes = Axes::Of(1, 2048, {});
  EXPECT_EQ(test::MostAliveAs(step, axes, "unpacked weight"), 4.0 * 58'720'256);
  EXPECT_EQ(test::MostAliveAs(step, axes, "dequantized weight"), 2.0 * 58'720'256);
}

TEST(QuantizedProduct, Fp8WritesTheMatrixOutInBackwardOnly) {
  const Step step = TraceTrainingStep(Over(QuantizationKind::kFp8));
  for (const Section& section : step.sections) {
    if (section.moment == Moment::kBackward) break;
    for (std::int32_t i = section.first_event; i < section.end_event; ++i) {
      const Event& event = step.events[static_cast<std::size_t>(i)];
      EXPECT_STRNE(step.storages[static_cast<std::size_t>(event.storage)].role, "dequantized weight");
    }
  }
  EXPECT_EQ(test::MostAliveAs(step, Axes::Of(1, 2048, {}), "dequantized weight"), 2.0 * 58'720'256);
}

TEST(QuantizedBase, OnlyBitsandbytesAndFp8ArePreparedInFp32) {
  // The embedding: 128,256 x 4,096 in the weights' bf16, or upcast.
  for (const auto& [kind, bytes] : {std::pair(QuantizationKind::kNf4, 4), std::pair(QuantizationKind::kFp8, 4),
                                    std::pair(QuantizationKind::kGptq, 2), std::pair(QuantizationKind::kAwq, 2),
                                    std::pair(QuantizationKind::kHqq, 2)}) {
    Workload workload = Over(kind);
    workload.quantization.prepare = PrepareKbit::kPeft;
    const Step step = TraceTrainingStep(workload);
    const Storage& table = step.storages[static_cast<std::size_t>(step.weights.front().storage)];
    ASSERT_STREQ(table.module, "embed_tokens");
    EXPECT_EQ(BytesPerElement(table.dtype), bytes);
  }
}

TEST(QuantizedBase, AdaptersOverPackedBasesCastTheirInputOutsideAutocastOnly) {
  Workload workload = Over(QuantizationKind::kAwq);
  EXPECT_TRUE(AdapterCastsInput(workload));
  workload.precision.autocast = true;
  EXPECT_FALSE(AdapterCastsInput(workload));
  workload.quantization.kind = QuantizationKind::kGptq;
  EXPECT_TRUE(AdapterCastsInput(workload));  // peft from 2025-06 on
  workload.habits.gptq_lora_casts_input = false;
  EXPECT_FALSE(AdapterCastsInput(workload));
}

/// Kernels of a step, and bytes that they move whatever the tokens.
std::pair<double, double> KernelsAndBytes(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  std::pair<double, double> sum;
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const auto repeats = static_cast<double>(step.sections[i].repeats);
    sum.first += repeats * step.work.sections[i].kernels;
    sum.second += repeats * step.work.sections[i].bytes[static_cast<std::size_t>(Axis::kOnce)];
  }
  return sum;
}

// Unsloth's fused LoRA unpacks each of 7 matrices a layer for its product and again for its input's gradient; 32 layers
// have 218,103,808 weights each, of which 0.53 bytes are read and 2 written.
TEST(QuantizedProduct, FusedLoraUnpacksForwardAndBackward) {
  Workload workload = Over(QuantizationKind::kNone);
  workload.method.all_linear = true;
  workload.method.dropout = 0;
  workload.fused.lora = true;
  const auto plain = KernelsAndBytes(workload);
  workload.quantization.kind = QuantizationKind::kNf4;
  workload.quantization.double_quant = false;
  const auto packed = KernelsAndBytes(workload);
  EXPECT_EQ(packed.first - plain.first, 32 * 7 * 2);
  EXPECT_NEAR(packed.second - plain.second, 2.53 * 2 * 32 * 218'103'808, 1e4);
  workload.quantization.double_quant = true;  // the scales come first: unpacked, and moved by their mean
  EXPECT_EQ(KernelsAndBytes(workload).first - plain.first, 3 * 32 * 7 * 2);
}

}  // namespace
}  // namespace tunefit
