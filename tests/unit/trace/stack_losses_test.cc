// Losses of other stacks than transformers by hand: a Llama of two layers, hidden size 4096 (H), a vocabulary of 32,000
// (V), bf16, two sequences of 1,024 tokens (T = 2,048). All figures are bytes.

#include <gtest/gtest.h>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kTokens = 2048;
constexpr double kVocabulary = 32000;
constexpr double kLogits = kTokens * kVocabulary;  // elements

Workload WithLoss(Loss loss, const LossHabits& habits, LogitsUpcast upcast) {
  test::LlamaSizes sizes;
  sizes.layers = 2;
  sizes.vocabulary = 32000;
  Workload workload = test::MakeWorkload(sizes);
  workload.loss = loss;
  workload.habits.loss = habits;
  workload.habits.logits_upcast = upcast;
  return workload;
}

Replay Read(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  return ReplayStep(step, Axes::Of(2, 1024, step.chunk));
}

/// What the loss adds to the bytes before it, at its highest and at its end.
SectionBytes LossOf(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, Axes::Of(2, 1024, step.chunk));
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    if (step.sections[i].moment != Moment::kLoss) continue;
    const SectionBytes& bytes = replay.sections[i];
    return {0, bytes.peak - bytes.before, bytes.after - bytes.before};
  }
  return {};
}

TEST(ChunkRule, IsAPartOfEverySequence) {
  EXPECT_EQ(ChunkRule{.of_length = 128}.Tokens(4, 512), 4 * 128);
  EXPECT_EQ(ChunkRule{.of_length = 128}.Tokens(4, 100), 4 * 100);  // no longer than the sequence
  EXPECT_EQ(ChunkRule{.parts = 8}.Tokens(2, 1024), 2 * 128);
  EXPECT_EQ(ChunkRule{.parts = 8}.Tokens(1, 1025), 129);  // torch.chunk: the first chunks are the longer ones
}

TEST(LogitsInChunks, UpcastsAChunkAtATime) {
  // torchtune: the head's output in bf16 (2), log-probabilities in fp32 (4), one chunk of an eighth in fp32 (4 / 8).
  const LossHabits torchtune{.chunked = ChunkedLoss::kLogitsInChunks, .chunks = 8};
  const SectionBytes loss = LossOf(WithLoss(Loss::kChunked, torchtune, LogitsUpcast::kLoss));
  EXPECT_EQ(loss.peak, kLogits * (2 + 4 + 0.5));
  EXPECT_EQ(loss.after, kLogits * 4 + 512);  // the recipe deletes the logits; the loss itself
}

TEST(LogitsInChunks, TheLoopOfLitGptHoldsWhatTheModelReturned) {
  // Fabric returns fp32: 2 + 4 at once, beside the 4 of the step before; then log-probabilities, 4, without the bf16.
  const LossHabits litgpt{.chunked = ChunkedLoss::kLogitsInChunks, .chunk_length = 128, .loop_holds = true};
  const SectionBytes loss = LossOf(WithLoss(Loss::kChunked, litgpt, LogitsUpcast::kModel));
  EXPECT_EQ(loss.peak, kLogits * (2 + 4));                       // above the 4 that were there already
  EXPECT_EQ(loss.after, kLogits * (4 + 4) - kLogits * 4 + 512);  // new logits and log-probabilities, the old ones gone
  LossHabits free = litgpt;
  free.loop_holds = false;
  // Held: 4 + 6 when the model returns. Else the loss is highest, 4 + 4.
  EXPECT_EQ(Read(WithLoss(Loss::kChunked, litgpt, LogitsUpcast::kModel)).peak_forward.bytes -
                Read(WithLoss(Loss::kChunked, free, LogitsUpcast::kModel)).peak_forward.bytes,
            kLogits * 2 - 512);
}

TEST(LogitsInChunks, TheGradientTakesThePlaceOfWhatWasKept) {
  // Backward begins with two chunks of fp32 gradient beside the log-probabilities; the gradient of the logits, 2 bytes,
  // comes as they go. The standard loss holds log-probabilities and two fp32 gradients at once: 12.
  const LossHabits torchtune{.chunked = ChunkedLoss::kLogitsInChunks, .chunks = 8};
  const auto peak_of_loss = [](const Workload& workload) {
    const Step step = TraceTrainingStep(workload);
    const Replay replay = ReplayStep(step, Axes::Of(2, 1024, step.chunk));
    for (std::size_t i = 0; i < step.sections.size(); ++i) {
      if (step.sections[i].moment == Moment::kBackward) return replay.sections[i].peak - replay.sections[i].before;
    }
    return 0.0;
  };
  // Highest at the head: 4 of log-probabilities have become 2 of gradient, and there are the gradients of the head's
  // matrix, V x H x 2, and of the hidden states, T x H x 2.
  const double head = kVocabulary * 4096 * 2;
  const double hidden = kTokens * 4096 * 2;
  const double chunked = peak_of_loss(WithLoss(Loss::kChunked, torchtune, LogitsUpcast::kLoss));
  EXPECT_NEAR(chunked, head + hidden - kLogits * 2, 1e5);
  // Without a head that trains, two chunks of the fp32 gradients.
  Workload frozen = WithLoss(Loss::kChunked, torchtune, LogitsUpcast::kLoss);
  frozen.method.kind = MethodKind::kLora;
  EXPECT_NEAR(peak_of_loss(frozen), kLogits * 4 * 2 / 8, 1e5);
  const double standard = peak_of_loss(WithLoss(Loss::kStandard, {}, LogitsUpcast::kLoss));
  EXPECT_NEAR(standard, kLogits * 4 * 2, 1e5);
}

TEST(HeadInChunks, KeepsLogProbabilitiesOfEveryChunk) {
  // torchtune's linear loss: log-probabilities 4 in the end; while a chunk of an eighth is at work its logits in bf16
  // (2 / 8) and fp32 (4 / 8).
  const LossHabits torchtune{.chunked = ChunkedLoss::kHeadInChunks, .chunks = 8};
  const SectionBytes loss = LossOf(WithLoss(Loss::kChunked, torchtune, LogitsUpcast::kLoss));
  EXPECT_NEAR(loss.after, kLogits * 4, 1e5);
  EXPECT_NEAR(loss.peak, kLogits * (4 + 0.75), 1e5);
}

TEST(InPlaceLoss, MegatronsScoresBecomeTheirGradient) {
  // Logits 2 and their fp32 copy 4; the copy is the gradient, so backward adds the cast of it only: 2.
  const LossHabits megatron{.in_place = true};
  const SectionBytes loss = LossOf(WithLoss(Loss::kStandard, megatron, LogitsUpcast::kLoss));
  EXPECT_NEAR(loss.peak, kLogits * 6, 1e5);
  EXPECT_NEAR(loss.after, kLogits * 4, 1e5);
}

TEST(ClassesFirst, SoftmaxCopiesItsInput) {
  // torchtune before 0.3: logits in bf16 become fp32 (the bf16 are gone), are shifted into a copy (the full ones are
  // named by the model's output until then) and copied into order: 4 + 4 + 4, then log-probabilities.
  LossHabits first{.classes_first = true};
  Workload workload = WithLoss(Loss::kStandard, first, LogitsUpcast::kModel);
  workload.habits.loss_shifts_logits = true;
  Workload plain = workload;
  plain.habits.loss.classes_first = false;
  // Of what was shifted: a token a sequence fewer.
  EXPECT_NEAR(LossOf(workload).peak - LossOf(plain).peak, kLogits * 4, kLogits * 4 / 500);
  EXPECT_EQ(LossOf(workload).after, LossOf(plain).after);  // nothing of it is kept
}

}  // namespace
}  // namespace tunefit
