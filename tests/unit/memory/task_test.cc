// Hand-worked cases of every task: five each, with their arithmetic. The model is so narrow beside its vocabulary that
// what a task does with logits, and which models it keeps, decides; L below is a batch's logits.
#include <gtest/gtest.h>

#include "core/memory/estimate.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

/// Two layers, 64 wide, 32,000 words, tied. Parameters: the table 32,000 x 64 = 2,048,000; a layer q 64 x 64, k and v
/// 32 x 64, o 64 x 64, three of 64 x 128 and two norms of 64: 4,096 + 2 x 2,048 + 4,096 + 24,576 + 128 = 36,992; the
/// last norm 64. 2,048,000 + 2 x 36,992 + 64 = 2,122,048.
constexpr double kVocabulary = 32000;
constexpr double kParameters = 2'122'048;
/// Norm vectors take whole blocks of 512 bytes: 64 x 4 bytes rounds up by 256, 64 x 2 by 384, five of them.
constexpr double kRoundedFp32 = 5 * 256;
constexpr double kRoundedBf16 = 5 * 384;
/// Entropies are worked out for 128 tokens at a time: log-probabilities, probabilities and their product.
constexpr double kEntropyElements = 3 * 128 * kVocabulary;
/// What is a number a token or a sequence, and the residual stream of so narrow a model.
constexpr double kSmall = 40e6;

Workload TaskOf(Task task, std::int64_t examples, std::int64_t length) {
  Workload workload = test::MakeWorkload({64, 128, 2, 4, 2, 16, 32000, true});
  workload.task = task;
  workload.batch.per_device = examples;
  workload.batch.sequence_length = length;
  workload.batch.packing = Packing::kPaddingFree;
  return workload;
}

/// fp32 weights under bf16 autocast: accelerate returns fp32 logits.
Workload Autocast(Workload workload) {
  workload.precision = {Dtype::kFp32, Dtype::kBf16, true};
  return workload;
}

Workload Lora(Workload workload) {
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 8;
  return workload;
}

Workload Against(Workload workload, Reference reference) {
  workload.reference = reference;
  return workload;
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary).phases;
}

// --- dpo: after the policy's pass its logits are alive; then come the reference's, and a copy for the entropies
// --------

TEST(Dpo, CopyUnderAutocast) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kDpo, 1, 1024)), Reference::kCopy));
  // Two models: 2 x (2,122,048 x 4 + 1,280) = 16,978,944.
  EXPECT_EQ(phases.static_bytes, 16'978'944);
  EXPECT_EQ(phases.static_bytes, 2 * (kParameters * 4 + kRoundedFp32));
  // L = 2 sequences x 1,024 x 32,000 x 4 = 262,144,000. The reference's and the copy: 2 L; entropies 3 x 128 x 32,000 x
  // 4 = 49,152,000; one number a token: 2 x 1,024 x 4 = 8,192.
  EXPECT_EQ(phases.peak_forward - phases.after_forward, 2 * 262'144'000.0 + 49'152'000 + 8'192);
}

TEST(Dpo, CopyInPureBf16) {
  const Phases phases = PhasesOf(Against(TaskOf(Task::kDpo, 2, 512), Reference::kCopy));
  EXPECT_EQ(phases.static_bytes, 2 * (kParameters * 2 + kRoundedBf16));
  // L = 4 x 512 x 32,000 x 2 = 131,072,000. bf16 logits give way to their log-softmax, but the loss still holds them:
  // with the reference's and the copy 3 L; entropies 3 x 128 x 32,000 x 2; a number a token 4 x 512 x 2.
  EXPECT_EQ(phases.peak_forward - phases.after_forward, 3 * 131'072'000.0 + 24'576'000 + 4'096);
}

TEST(Dpo, AdapterSwitchedOff) {
  const Phases phases = PhasesOf(Against(Lora(Autocast(TaskOf(Task::kDpo, 1, 1024))), Reference::kAdapterOff));
  // No second model: what supervised fine-tuning of the same adapter has.
  EXPECT_EQ(phases.static_bytes, PhasesOf(Lora(Autocast(TaskOf(Task::kSft, 1, 1024)))).static_bytes);
  EXPECT_EQ(phases.peak_forward - phases.after_forward, 2 * 262'144'000.0 + 49'152'000 + 8'192);
}

TEST(Dpo, Precomputed) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kDpo, 1, 1024)), Reference::kPrecomputed));
  EXPECT_EQ(phases.static_bytes, kParameters * 4 + kRoundedFp32);
  // The copy for the entropies alone: L + 49,152,000 + 8,192.
  EXPECT_EQ(phases.peak_forward - phases.after_forward, 262'144'000.0 + 49'152'000 + 8'192);
}

TEST(Dpo, BackwardHoldsThreeTimesTheLogits) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kDpo, 4, 512)), Reference::kPrecomputed));
  // L = 8 x 512 x 32,000 x 4 = 524,288,000, alive after forward; the rows' gradients and their stack beside it.
  EXPECT_NEAR(phases.peak_backward - phases.after_forward, 2 * 524'288'000.0, kSmall);
}

TEST(Dpo, BeforeLogitsWereLogged) {
  Workload workload = Against(Autocast(TaskOf(Task::kDpo, 1, 1024)), Reference::kCopy);
  workload.habits.selective_log_softmax = false;
  workload.habits.preference_logs_logits = false;
  const Phases phases = PhasesOf(workload);
  // After the policy's pass only its log-softmax is left; the reference's logits and their log-softmax: 2 L.
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 2 * 262'144'000.0, 1e6);
}

// --- orpo: cross entropy over a contiguous copy of the chosen half, then the log-probabilities of both
// ------------------

TEST(Orpo, Autocast) {
  const Phases phases = PhasesOf(Autocast(TaskOf(Task::kOrpo, 1, 1024)));
  EXPECT_EQ(phases.static_bytes, kParameters * 4 + kRoundedFp32);
  // L = 262,144,000 and the chosen half's log-softmax stay; above them the chosen half's copy, L / 2.
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 131'072'000.0, 1e5);
}

TEST(Orpo, FourPairs) {
  const Phases phases = PhasesOf(Autocast(TaskOf(Task::kOrpo, 4, 512)));
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 524'288'000.0 / 2, 1e5);  // L = 8 x 512 x 32,000 x 4
}

TEST(Orpo, PureBf16) {
  const Phases phases = PhasesOf(TaskOf(Task::kOrpo, 2, 512));
  // L = 4 x 512 x 32,000 x 2 = 131,072,000. At the end the log-softmax of all and that of the chosen half; before, the
  // logits beside them.
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 131'072'000.0, 1e5);
}

TEST(Orpo, BackwardIsOverLogitsAndTheChosenHalf) {
  const Phases phases = PhasesOf(Autocast(TaskOf(Task::kOrpo, 4, 512)));
  // Alive after forward: L and L / 2; then twice L more for the gradients of the rows and their stack.
  EXPECT_NEAR(phases.after_forward - phases.between_steps, 1.5 * 524'288'000, kSmall);
  EXPECT_NEAR(phases.peak_backward - phases.between_steps, 3.5 * 524'288'000, kSmall);
}

TEST(Orpo, NeverHasAReference) {
  const Phases orpo = PhasesOf(Autocast(TaskOf(Task::kOrpo, 1, 1024)));
  const Phases dpo = PhasesOf(Against(Autocast(TaskOf(Task::kDpo, 1, 1024)), Reference::kCopy));
  EXPECT_EQ(dpo.static_bytes - orpo.static_bytes, kParameters * 4 + kRoundedFp32);
  EXPECT_EQ(dpo.between_steps - orpo.between_steps, kParameters * 4 + kRoundedFp32);
}

// --- kto: single sequences; the KL estimate's passes leave a number each
// ----------------------------------------------

TEST(Kto, CopyUnderAutocast) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kKto, 2, 1024)), Reference::kCopy));
  EXPECT_EQ(phases.static_bytes, 2 * (kParameters * 4 + kRoundedFp32));
  // L = 2 x 1,024 x 32,000 x 4 = 262,144,000: reference and copy, entropies, and three numbers a token (the policy's
  // and both KL passes').
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 2 * 262'144'000.0 + 49'152'000, 1e5);
}

TEST(Kto, OneSequenceIsNotCopiedForEntropies) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kKto, 1, 1024)), Reference::kCopy));
  // L = 131,072,000. Rows of one sequence lie in place, but the halves by desirability are copied: 2 L again, without
  // the entropies' blocks.
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 2 * 131'072'000.0, 1e5);
}

TEST(Kto, AdapterSwitchedOff) {
  const Phases phases = PhasesOf(Against(Lora(Autocast(TaskOf(Task::kKto, 2, 1024))), Reference::kAdapterOff));
  EXPECT_EQ(phases.static_bytes, PhasesOf(Lora(Autocast(TaskOf(Task::kSft, 2, 1024)))).static_bytes);
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 2 * 262'144'000.0 + 49'152'000, 1e5);
}

TEST(Kto, Precomputed) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kKto, 2, 1024)), Reference::kPrecomputed));
  EXPECT_EQ(phases.static_bytes, kParameters * 4 + kRoundedFp32);
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 262'144'000.0 + 49'152'000, 1e5);
}

TEST(Kto, BackwardHoldsThreeTimesTheLogits) {
  const Phases phases = PhasesOf(Against(Autocast(TaskOf(Task::kKto, 8, 512)), Reference::kPrecomputed));
  EXPECT_NEAR(phases.peak_backward - phases.between_steps, 3 * 524'288'000.0, kSmall);  // L = 8 x 512 x 32,000 x 4
}

// --- grpo: logits of the completion and the token before it
// -----------------------------------------------------------

Workload Generated(Workload workload, std::int64_t prompt, std::int64_t completion) {
  workload.rollout.prompt_length = prompt;
  workload.rollout.completion_length = completion;
  workload.batch.sequence_length = prompt + completion;
  return workload;
}

TEST(Grpo, LogitsOfTheCompletionOnly) {
  Workload workload = Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 769, 255);
  workload.checkpointing = Checkpointing::kFull;
  const Phases phases = PhasesOf(workload);
  EXPECT_EQ(phases.static_bytes, kParameters * 4 + kRoundedFp32);
  // L = 8 x (255 + 1) x 32,000 x 4 = 262,144,000 after forward; then a copy and the blocks for entropies.
  EXPECT_NEAR(phases.after_forward - phases.between_steps, 262'144'000.0, kSmall);
  EXPECT_NEAR(phases.peak_forward - phases.after_forward, 262'144'000.0 + 49'152'000, 1e5);
}

TEST(Grpo, BackwardThroughTheTemperature) {
  Workload workload = Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 769, 255);
  workload.checkpointing = Checkpointing::kFull;
  const Phases phases = PhasesOf(workload);
  // Dividing in place through a view costs three gradients of the logits' size beside the incoming one: 4 L.
  EXPECT_NEAR(phases.peak_backward - phases.between_steps, 4 * 262'144'000.0, kSmall);
}

TEST(Grpo, ACompletionHalfAsLongHasHalfTheLogits) {
  const Phases whole = PhasesOf(Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 513, 511));
  const Phases half = PhasesOf(Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 769, 255));
  // The sequence is as long; 8 x 256 x 32,000 x 4 bytes of logits less, four times of them at the peak.
  EXPECT_NEAR(whole.after_forward - half.after_forward, 262'144'000.0, 3e6);
  EXPECT_NEAR(whole.peak_backward - half.peak_backward, 4 * 262'144'000.0, 3e6);
}

TEST(Grpo, ReferenceCopy) {
  const Workload workload = Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 769, 255);
  const Phases without = PhasesOf(workload);
  const Phases with = PhasesOf(Against(workload, Reference::kCopy));
  EXPECT_EQ(with.static_bytes - without.static_bytes, kParameters * 4 + kRoundedFp32);
  // Scored before the policy's pass, it leaves a number a token: nothing is added to the peak but its weights.
  EXPECT_NEAR(with.peak_step - without.peak_step, kParameters * 4 + kRoundedFp32, 1e5);
}

TEST(Grpo, ColocatedEngine) {
  Workload workload = Generated(Autocast(TaskOf(Task::kGrpo, 8, 0)), 769, 255);
  workload.rollout.engine = RolloutEngine::kVllm;
  const Phases apart = PhasesOf(workload);
  workload.rollout.engine_bytes = 24e9;  // 0.3 of a card of 80e9
  const Phases beside = PhasesOf(workload);
  EXPECT_EQ(beside.peak_step - apart.peak_step, 24e9);
  EXPECT_EQ(beside.between_steps - apart.between_steps, 24e9);
}

// --- reward and seqcls: no logits of the vocabulary
// ---------------------------------------------------------------------

Workload Classifier(Workload workload, std::int64_t labels) {
  workload.architecture.labels = labels;
  workload.architecture.tied_head = false;
  return workload;
}

TEST(Reward, AHeadOfOneScore) {
  const Phases phases = PhasesOf(Classifier(TaskOf(Task::kReward, 2, 512), 1));
  // 64 weights of the head: 128 bytes, a block of 512.
  EXPECT_EQ(phases.static_bytes, kParameters * 2 + kRoundedBf16 + 512);
}

TEST(Reward, StatesOfTheHeadToo) {
  const Phases phases = PhasesOf(Classifier(Autocast(TaskOf(Task::kReward, 1, 512)), 1));
  // Weights and two moments in fp32, each norm and the head in blocks; 21 step counters of 512: table, 2 x 9, norm,
  // head.
  EXPECT_EQ(phases.between_steps, 3 * (kParameters * 4 + kRoundedFp32 + 512) + 21 * 512);
}

TEST(Reward, NothingOfTheVocabularyAtThePeak) {
  const Phases reward = PhasesOf(Classifier(TaskOf(Task::kReward, 2, 512), 1));
  // Four sequences of 512: the logits that dpo has would be 131,072,000 bytes.
  EXPECT_LT(reward.peak_step - reward.between_steps, 40e6);
}

TEST(Reward, APairIsTwoSequences) {
  const Phases pair = PhasesOf(Classifier(TaskOf(Task::kReward, 2, 512), 1));
  const Phases single = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 4, 512), 1));
  EXPECT_EQ(pair.peak_step, single.peak_step);
  EXPECT_EQ(pair.after_forward, single.after_forward);
}

TEST(Reward, AnAdapterTrainsACopyOfTheHead) {
  const Phases phases = PhasesOf(Classifier(Lora(TaskOf(Task::kReward, 1, 512)), 1));
  const Phases sft = PhasesOf(Lora(TaskOf(Task::kSft, 1, 512)));
  // The original in bf16 and its trained copy in fp32, a block each.
  EXPECT_EQ(phases.static_bytes - sft.static_bytes, 512 + 512);
}

TEST(SequenceClassification, TwoLabels) {
  const Phases phases = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 4, 512), 2));
  EXPECT_EQ(phases.static_bytes, kParameters * 2 + kRoundedBf16 + 512);  // 128 weights: 256 bytes
}

TEST(SequenceClassification, AHundredLabels) {
  const Phases phases = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 4, 512), 100));
  EXPECT_EQ(phases.static_bytes, kParameters * 2 + kRoundedBf16 + 12'800);  // 6,400 x 2
}

TEST(SequenceClassification, EveryTokenGetsLabels) {
  const Phases few = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 4, 512), 64));
  const Phases many = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 4, 512), 8256));
  // 8,192 more outputs for each of 2,048 tokens in bf16 while the loss runs: 33,554,432 bytes; their weights, 8,192 x
  // 64, with gradients and two moments stand under the states.
  EXPECT_NEAR(many.peak_forward - many.between_steps - (few.peak_forward - few.between_steps), 33'554'432.0, 2e6);
}

TEST(SequenceClassification, NoLogitsOfTheVocabulary) {
  const Phases phases = PhasesOf(Classifier(TaskOf(Task::kSequenceClassification, 8, 512), 2));
  const Phases sft = PhasesOf(TaskOf(Task::kSft, 8, 512));
  // sft has 8 x 512 x 32,000 logits in bf16 and their fp32 copies: at least 6 bytes each.
  EXPECT_GT(sft.peak_step - phases.peak_step, 6 * 8 * 512 * kVocabulary);
}

TEST(SequenceClassification, FrozenUnderAnAdapter) {
  const Workload workload = Classifier(Lora(TaskOf(Task::kSequenceClassification, 4, 512)), 2);
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary);
  // Rank 8 on q, k, v, o and three MLP matrices of two layers: 8 x (128 + 96 + 96 + 128 + 3 x 192) = 8,192 each, and
  // the head's copy of 128.
  EXPECT_EQ(estimate.parameters.trainable, 2 * 8192 + 128);
}

// --- ppo: policy, value, reward and reference models
// ----------------------------------------------------------------------

TEST(Ppo, FourModels) {
  const Phases phases = PhasesOf(Against(Generated(TaskOf(Task::kPpo, 2, 0), 256, 256), Reference::kCopy));
  // Policy and reference as they are; value and reward with a head of 64 weights each, a block of 512.
  EXPECT_EQ(phases.static_bytes, 4 * (kParameters * 2 + kRoundedBf16) + 2 * 512);
}

TEST(Ppo, TwoOfThemTrain) {
  const Workload workload = Against(Generated(TaskOf(Task::kPpo, 2, 0), 256, 256), Reference::kCopy);
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary);
  EXPECT_EQ(static_cast<double>(estimate.parameters.trainable), 2 * kParameters + 64);
}

TEST(Ppo, AnAdapterLeavesTheValueModelToTrainInFull) {
  const Workload workload = Against(Lora(Generated(TaskOf(Task::kPpo, 2, 0), 256, 256)), Reference::kAdapterOff);
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary);
  EXPECT_EQ(static_cast<double>(estimate.parameters.trainable), kParameters + 64 + 2 * 8192);
}

TEST(Ppo, LogitsAreHeldThroughBackward) {
  const Phases phases = PhasesOf(Against(Generated(Autocast(TaskOf(Task::kPpo, 4, 0)), 256, 256), Reference::kCopy));
  // Logits of every token, L = 4 x 512 x 32,000 x 4 = 262,144,000, and three layers' states in fp32; gradients of both
  // trained models: 2 x 4 bytes a parameter.
  const double held = 262'144'000.0 + 3 * 64 * 4 * 512 * 4.0;
  const double gradients = 2 * (kParameters * 4 + kRoundedFp32) + 512;
  EXPECT_NEAR(phases.after_backward - phases.between_steps, held + gradients, 1e5);
}

TEST(Ppo, NoReferenceCopyUnderAnAdapter) {
  const Workload workload = Lora(Generated(TaskOf(Task::kPpo, 2, 0), 256, 256));
  const double off = PhasesOf(Against(workload, Reference::kAdapterOff)).static_bytes;
  const double copy = PhasesOf(Against(workload, Reference::kCopy)).static_bytes;
  EXPECT_EQ(copy - off, kParameters * 2 + kRoundedBf16);
}

}  // namespace
}  // namespace tunefit
