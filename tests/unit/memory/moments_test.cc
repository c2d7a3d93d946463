// Hand-worked cases of the moments outside the step: load, save, merge, rollout, evaluation, and what goes to disk.
#include "core/memory/moments.h"

#include <gtest/gtest.h>

#include "core/memory/estimate.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

/// Llama 2 7B: 6,738,415,616 parameters, no vector of them needs rounding; 291 tensors.
constexpr double kParameters = 6'738'415'616;
constexpr double kTensors = 291;
/// Rank 8 on the seven matrices of 32 layers: 32 x 8 x (4 x 8,192 + 3 x 15,104) = 19,988,480 in 448 tensors.
constexpr double kAdapter = 19'988'480;
constexpr double kAdapterTensors = 448;
/// Its largest matrix: 11,008 x 4,096.
constexpr double kLargest = 45'088'768;

Workload Llama7b() { return test::MakeWorkload({4096, 11008, 32, 32, 32, 128, 32000, false}); }

Workload Lora7b(QuantizationKind kind = QuantizationKind::kNone, PrepareKbit prepare = PrepareKbit::kNone) {
  Workload workload = Llama7b();
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 8;
  workload.quantization = {.kind = kind, .double_quant = true, .prepare = prepare};
  return workload;
}

MemoryEstimate Estimated(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary);
}

Phases PhasesOf(const Workload& workload) { return Estimated(workload).phases; }

TEST(Load, WeightsIntoTheirPlace) { EXPECT_EQ(PhasesOf(Llama7b()).load, 2 * kParameters); }

TEST(Load, TheCheckpointBesideTheModel) {
  Workload workload = Llama7b();
  workload.habits.load_holds_checkpoint = true;
  const double load = PhasesOf(workload).load;
  EXPECT_EQ(load, 4 * kParameters);
  // torchtune before it mapped its checkpoints (pull request 389, early 2024): 13.51 GB after loading, 27.83 GB within.
  EXPECT_NEAR(load / 27.83e9, 1, 0.04);
}

TEST(Load, AFourBitBaseIsPackedMatrixByMatrix) {
  const Phases phases = PhasesOf(Lora7b(QuantizationKind::kNf4));
  // The last matrix whole in bf16 beside the packed ones, before there are adapters: 2 x 45,088,768 - 4 x 19,988,480.
  EXPECT_EQ(phases.load - phases.static_bytes, 2 * kLargest - 4 * kAdapter);
  EXPECT_EQ(phases.load - phases.static_bytes, 10'223'616);
}

TEST(Load, PreparingHoldsTheHeadTwice) {
  const Phases phases = PhasesOf(Lora7b(QuantizationKind::kNf4, PrepareKbit::kPeft));
  // The head in bf16 while its fp32 copy is made: 32,000 x 4,096 x 2 = 262,144,000, less the adapters that come later.
  EXPECT_EQ(phases.load - phases.static_bytes, 262'144'000 - 4 * kAdapter);
}

TEST(Load, AnInt8BaseToo) {
  const Phases phases = PhasesOf(Lora7b(QuantizationKind::kInt8));
  EXPECT_EQ(phases.load - phases.static_bytes, 2 * kLargest - 4 * kAdapter);
}

TEST(Load, AdaptersOutweighTheMatrixAtHand) {
  Workload workload = Lora7b(QuantizationKind::kNf4);
  workload.method.rank = 64;  // 8 x 19,988,480 x 4 = 639,631,360 over 90,177,536
  const Phases phases = PhasesOf(workload);
  EXPECT_EQ(phases.load, phases.static_bytes);
}

TEST(Save, FullInBf16) {
  // Weights and two moments in bf16, a step counter of 512 bytes a tensor; gradients are gone.
  EXPECT_EQ(PhasesOf(Llama7b()).save, 6 * kParameters + 512 * kTensors);
}

TEST(Save, FullUnderAutocast) {
  Workload workload = Llama7b();
  workload.precision = {Dtype::kFp32, Dtype::kBf16, true};
  EXPECT_EQ(PhasesOf(workload).save, 12 * kParameters + 512 * kTensors);
}

TEST(Save, ForeachKeepsItsCountersOnTheHost) {
  Workload workload = Llama7b();
  workload.optimizer = Optimizer::kAdamwForeach;
  EXPECT_EQ(PhasesOf(workload).save, 6 * kParameters);
}

TEST(Save, Adapter) { EXPECT_EQ(PhasesOf(Lora7b()).save, 2 * kParameters + 12 * kAdapter + 512 * kAdapterTensors); }

TEST(Save, AdapterInBf16) {
  Workload workload = Lora7b();
  workload.method.adapter_dtype = Dtype::kBf16;
  EXPECT_EQ(PhasesOf(workload).save, 2 * kParameters + 6 * kAdapter + 512 * kAdapterTensors);
}

TEST(Disk, WeightsAndMoments) {
  EXPECT_EQ(Estimated(Llama7b()).disk_bytes, 6 * kParameters + 4 * kTensors);  // counters are four bytes in a file
  EXPECT_EQ(Estimated(Lora7b()).disk_bytes, 12 * kAdapter + 4 * kAdapterTensors);
}

TEST(Disk, TheSharesOfAllRanksAreTheWhole) {
  Workload workload = Llama7b();
  workload.parallel.strategy = Strategy::kFsdp2;
  workload.parallel.gpus = 4;
  // Every parameter of this model divides by four: only step counters, one a rank and tensor, are written more often.
  EXPECT_EQ(Estimated(workload).disk_bytes, 6 * kParameters + 4 * 4 * kTensors);
  EXPECT_EQ(PhasesOf(workload).merge, 0);
}

TEST(Merge, TheUpdateAndItsScaledCopy) {
  const Phases phases = PhasesOf(Lora7b());
  // Two fp32 tensors of 11,008 x 4,096: 360,710,144 bytes.
  EXPECT_EQ(phases.merge - phases.static_bytes, 360'710'144);
  EXPECT_EQ(phases.merge - phases.static_bytes, 8 * kLargest);
}

TEST(Merge, AnAdapterInBf16) {
  Workload workload = Lora7b();
  workload.method.adapter_dtype = Dtype::kBf16;
  const Phases phases = PhasesOf(workload);
  EXPECT_EQ(phases.merge - phases.static_bytes, 4 * kLargest);
}

TEST(Merge, QueryAndValueOnly) {
  Workload workload = Lora7b();
  workload.method.all_linear = false;
  workload.method.target_modules = {"q_proj", "v_proj"};
  const Phases phases = PhasesOf(workload);
  EXPECT_EQ(phases.merge - phases.static_bytes, 8 * 4096.0 * 4096);
}

TEST(Merge, OverAFourBitBase) {
  const Phases phases = PhasesOf(Lora7b(QuantizationKind::kNf4));
  // bf16 dequantized 2, update 4, sum 4, the sum on its way back 4, packed again 0.5: 14.5 x 45,088,768.
  EXPECT_EQ(phases.merge - phases.static_bytes, 653'787'136);
}

TEST(Merge, OverAnInt8Base) {
  const Phases phases = PhasesOf(Lora7b(QuantizationKind::kInt8));
  // fp32 dequantized 4, update 4, sum 4, fp16 on its way back 2, packed again 1: 15 x 45,088,768.
  EXPECT_EQ(phases.merge - phases.static_bytes, 676'331'520);
}

TEST(Merge, TheLargestMatrixWhateverItsRank) {
  Workload workload = Lora7b();
  workload.method.rank_pattern = {{"down_proj", 64}, {"up_proj", 1}};
  const Phases phases = PhasesOf(workload);
  EXPECT_EQ(phases.merge - phases.static_bytes, 2 * 4 * kLargest);
}

TEST(Merge, AnAdapterOnTheHeadOfAPackedModel) {
  Workload workload = Lora7b(QuantizationKind::kNf4);
  workload.method.adapts_head = true;
  const Phases phases = PhasesOf(workload);
  // The head is plain: the update in fp32, twice, is 8 x 32,000 x 4,096 = 1,048,576,000, above the 14.5 x 45,088,768 of
  // the largest packed matrix.
  EXPECT_EQ(phases.merge - phases.static_bytes, 1'048'576'000);
}

Workload Ia37b(QuantizationKind kind = QuantizationKind::kNone) {
  Workload workload = Lora7b(kind);
  workload.precision.autocast = true;
  workload.method = {
      .kind = MethodKind::kIa3, .all_linear = false, .target_modules = {"k_proj", "v_proj", "down_proj"}};
  workload.method.feedforward_modules = {"down_proj"};
  return workload;
}

TEST(Merge, AVectorIntoItsMatrix) {
  const Phases phases = PhasesOf(Ia37b());
  // The product with an fp32 vector is fp32, then bf16 again: (4 + 2) x 45,088,768.
  EXPECT_EQ(phases.merge - phases.static_bytes, 270'532'608);
  // PEFT refuses it over bitsandbytes' matrices.
  EXPECT_EQ(PhasesOf(Ia37b(QuantizationKind::kNf4)).merge, 0);
}

Workload Prompted7b() {
  Workload workload = Llama7b();
  workload.method.kind = MethodKind::kPromptTuning;
  workload.method.virtual_tokens = 20;
  return workload;
}

TEST(Merge, VirtualTokensStayApart) { EXPECT_EQ(PhasesOf(Prompted7b()).merge, 0); }

TEST(Disk, AdaptersTheirStatesAndTheTablesTheySitOn) {
  // Fused AdamW: 12 bytes a number with both moments, and a counter of 4 bytes a tensor.
  EXPECT_EQ(Estimated(Ia37b()).disk_bytes, 12.0 * 614'400 + 96 * 4);
  EXPECT_EQ(Estimated(Prompted7b()).disk_bytes, 12.0 * 81'920 + 4);
  // PEFT writes a table that has an adapter along: 2 x 32,000 x 4,096, once more for the head.
  Workload tables = Lora7b();
  tables.method.all_linear = false;
  tables.method.adapts_embedding = true;
  EXPECT_EQ(Estimated(tables).disk_bytes, 12.0 * 8 * (32'000 + 4'096) + 2 * 4 + 262'144'000);
  tables.method.adapts_head = true;
  EXPECT_EQ(Estimated(tables).disk_bytes, 2 * (12.0 * 8 * (32'000 + 4'096) + 2 * 4 + 262'144'000));
}

TEST(Merge, NothingWithoutAnAdapter) { EXPECT_EQ(PhasesOf(Llama7b()).merge, 0); }

Workload Grpo8b(std::int64_t completions, std::int64_t prompt, std::int64_t completion) {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  workload.task = Task::kGrpo;
  workload.batch.per_device = completions;
  workload.rollout.prompt_length = prompt;
  workload.rollout.completion_length = completion;
  workload.batch.sequence_length = prompt + completion;
  return workload;
}

TEST(Rollout, TheCacheAtItsLongest) {
  const Phases phases = PhasesOf(Grpo8b(16, 64, 1984));
  // Llama 3.1 8B caches 2 x 8 x 128 x 32 x 2 = 131,072 bytes a token; 16 x 2,048 tokens: 4 GiB. One layer's keys twice:
  // 1,024 x 2 x 32,768 = 67,108,864. The last token's logits in bf16, and three times in fp32: 16 x 128,256 x 14.
  EXPECT_EQ(phases.rollout - phases.between_steps, 4'294'967'296 + 67'108'864 + 28'729'344 + 16 * 64 * 8);
}

TEST(Rollout, AllMicroBatchesOfAStepTogether) {
  Workload workload = Grpo8b(4, 1024, 1024);
  workload.batch.gradient_accumulation = 4;
  EXPECT_EQ(PhasesOf(workload).rollout, PhasesOf(Grpo8b(16, 1024, 1024)).rollout);
}

TEST(Rollout, AnEngineOfItsOwnLeavesNone) {
  Workload workload = Grpo8b(16, 1024, 1024);
  workload.rollout.engine = RolloutEngine::kVllm;
  EXPECT_EQ(PhasesOf(workload).rollout, 0);
}

TEST(Rollout, LongAnswersReachThePeak) {
  const MemoryEstimate estimate = EstimateMemory(Grpo8b(1, 16, 131'072), nullptr, Overheads(), Detail::kFull);
  EXPECT_EQ(estimate.phases.peak_step, std::max({estimate.phases.rollout, estimate.phases.peak_forward,
                                                 estimate.phases.peak_backward, estimate.phases.peak_optimizer}));
  double sum = 0;
  for (const TermBytes& term : estimate.terms) sum += term.bytes;
  EXPECT_EQ(sum, estimate.phases.peak_step);
}

TEST(Rollout, PpoKeepsTheScoresOfEveryToken) {
  Workload workload = test::MakeWorkload({64, 128, 2, 4, 2, 16, 32000, true});
  workload.task = Task::kPpo;
  workload.reference = Reference::kCopy;
  workload.batch.per_device = 4;
  workload.rollout.prompt_length = 256;
  workload.rollout.completion_length = 256;
  workload.batch.sequence_length = 512;
  const Phases phases = PhasesOf(workload);
  // Scores 4 x 256 x 32,000 x 4 = 131,072,000; the reference's logits 4 x 512 x 32,000 x 2 = 131,072,000; two rows of
  // log-probabilities 2 x 256 x 32,000 x 2 = 32,768,000.
  EXPECT_NEAR(phases.rollout - phases.between_steps, 131'072'000.0 + 131'072'000 + 32'768'000, 3e6);
}

Workload Evaluated(std::int64_t examples, std::int64_t kept_batches) {
  Workload workload = test::MakeWorkload({64, 128, 2, 4, 2, 16, 32000, true});
  workload.precision = {Dtype::kFp32, Dtype::kBf16, true};
  workload.batch.sequence_length = 512;
  workload.evaluation = {examples, kept_batches};
  return workload;
}

TEST(Evaluate, LogitsWithoutGradients) {
  const Phases phases = PhasesOf(Evaluated(8, 0));
  // 8 x 512 x 32,000 logits in bf16, in fp32 for the loss, and their log-softmax: 10 bytes each.
  EXPECT_NEAR(phases.evaluate - phases.between_steps, 10 * 8 * 512 * 32000.0, 2e7);
}

TEST(Evaluate, AMetricKeepsLogits) {
  const Phases phases = PhasesOf(Evaluated(8, 4));
  // Four batches of 8 x 512 x 32,000 x 4 = 524,288,000, twice while the last is joined to the others.
  EXPECT_NEAR(phases.evaluate - phases.between_steps, 8 * 524'288'000.0, 2e7);
}

TEST(Evaluate, ItsOwnBatch) {
  const Phases one = PhasesOf(Evaluated(1, 0));
  const Phases eight = PhasesOf(Evaluated(8, 0));
  EXPECT_NEAR((eight.evaluate - eight.between_steps) / (one.evaluate - one.between_steps), 8, 0.3);
  EXPECT_EQ(one.peak_backward, eight.peak_backward);
}

TEST(Evaluate, NotAskedFor) { EXPECT_EQ(PhasesOf(Evaluated(0, 0)).evaluate, 0); }

TEST(Evaluate, RaisesThePeakOfARunThatTrainsLess) {
  const Phases phases = PhasesOf(Evaluated(64, 0));
  EXPECT_EQ(phases.peak_step, phases.evaluate);
}

}  // namespace
}  // namespace tunefit
