// Tasks of several passes and frozen layers on two GPUs, worked out by hand on a model of 2 layers, 64 wide, 4 heads of
// 16, an MLP of 128, an untied head of 100 words unless a case has another vocabulary.
//
// Parameters of a layer: q, k, v, o 4 x 64 x 64 = 16,384; gate, up, down 3 x 64 x 128 = 24,576; norms 2 x 64 = 128;
// together 41,088. The root: table and head 6,400 each, norm 64; together 12,864. In all 95,040.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/trace/passes.h"
#include "core/trace/task_step.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr double kLayerElements = 41'088;
constexpr double kRootElements = 12'864;
constexpr double kMatrices = 2 * (16'384 + 24'576) + 2 * 6'400;  // 94,720
/// 64 numbers are 128 bytes in bf16 and 256 in fp32, halved or not: 512 as the allocator counts them.
constexpr double kNorms = 5 * 512;

/// fp32 weights; what is gathered comes in bf16.
Workload On(Strategy strategy, std::int64_t gpus, Task task, std::int64_t vocabulary = 100) {
  Workload workload = test::MakeWorkload(test::SmallSizes(2, vocabulary));
  workload.precision = {Dtype::kFp32, Dtype::kBf16, false};
  workload.optimizer = Optimizer::kAdamwForeach;
  workload.task = task;
  workload.batch.per_device = 2;
  workload.batch.sequence_length = 512;
  workload.parallel.strategy = strategy;
  workload.parallel.gpus = gpus;
  // Stage 3 keeps no small parameter whole and gathers nothing ahead; the last layer stays for backward, which is
  // 2 x 6,400 + 41,088 elements away, and the first one, 95,000 further, does not.
  workload.parallel.zero.reduce_bucket_size = 64 * 64;
  workload.parallel.zero.param_persistence_threshold = 0;
  workload.parallel.zero.prefetch_bucket_size = 0;
  workload.parallel.zero.max_reuse_distance = 100'000;
  return workload;
}

Workload Against(Workload workload, Reference reference) {
  workload.reference = reference;
  return workload;
}

Workload Lora(Workload workload) {
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 8;
  return workload;
}

Workload LastLayerTrains(Workload workload) {
  workload.method.kind = MethodKind::kFreeze;
  workload.method.trainable_layers = 1;
  return workload;
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary).phases;
}

/// The most elements of one kind that are alive at once in sections of a moment.
double Most(const Step& step, Moment moment, Term term, const char* role = nullptr) {
  double alive = 0;
  double most = 0;
  for (const Section& section : step.sections) {
    if (section.moment == moment) most = std::max(most, alive);
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      const Storage& storage = step.storages[static_cast<std::size_t>(event.storage)];
      if (storage.term != term || (role != nullptr && std::strcmp(storage.role, role) != 0)) continue;
      alive += event.change * storage.elements.coefficient;
      if (section.moment == moment) most = std::max(most, alive);
    }
  }
  return most;
}

double MostGathered(const Workload& workload, Moment moment) {
  return Most(TraceTrainingStep(workload), moment, Term::kGathered);
}

// --- dpo against a copy --------------------------------------------------------------------------------------------

TEST(DpoOnTwoGpus, DdpHasTheReferenceWholeAndBucketsForThePolicy) {
  const Phases one = PhasesOf(Against(On(Strategy::kNone, 1, Task::kDpo), Reference::kCopy));
  const Phases two = PhasesOf(Against(On(Strategy::kDdp, 2, Task::kDpo), Reference::kCopy));
  const double model = 4 * kMatrices + kNorms;
  EXPECT_EQ(one.static_bytes, 2 * model);
  EXPECT_EQ(two.static_bytes, 3 * model);  // a gradient in a bucket for each trained parameter
  EXPECT_EQ(two.peak_step - one.peak_step, model);
  EXPECT_EQ(two.between_steps - one.between_steps, model);
}

TEST(DpoOnTwoGpus, ZeroTwoDividesThePolicysStatesAndGradientsAndNoReference) {
  const Phases one = PhasesOf(Against(On(Strategy::kZero1, 2, Task::kDpo), Reference::kCopy));
  const Phases two = PhasesOf(Against(On(Strategy::kZero2, 2, Task::kDpo), Reference::kCopy));
  EXPECT_EQ(two.static_bytes, 2 * (4 * kMatrices + kNorms));
  // Two moments of which a rank has half.
  EXPECT_EQ(two.between_steps - two.static_bytes, 2 * (4 * kMatrices / 2 + kNorms));
  EXPECT_EQ(one.between_steps, two.between_steps);
  EXPECT_EQ(one.after_backward - two.after_backward, 4 * kMatrices / 2);
}

TEST(DpoOnTwoGpus, ZeroThreeDividesTheReferenceToo) {
  const Workload alone = On(Strategy::kZero3, 2, Task::kDpo);
  const Workload with = Against(alone, Reference::kCopy);
  const double half = 4 * kMatrices / 2 + kNorms;
  EXPECT_EQ(PhasesOf(with).static_bytes - PhasesOf(alone).static_bytes, half);
  EXPECT_EQ(PhasesOf(with).after_forward - PhasesOf(alone).after_forward, half);
  // While the reference runs: its root and a layer, beside the policy's root and last layer, with which backward will
  // begin. Nothing of the reference is left then.
  EXPECT_EQ(MostGathered(with, Moment::kReference), 2 * (kRootElements + kLayerElements));
  EXPECT_EQ(MostGathered(alone, Moment::kForward), kRootElements + kLayerElements);
  EXPECT_EQ(MostGathered(with, Moment::kBackward), kRootElements + kLayerElements);
}

TEST(DpoOnTwoGpus, FsdpLeavesTheReferencesRootGathered) {
  const Workload alone = On(Strategy::kFsdp, 2, Task::kDpo);
  const Workload with = Against(alone, Reference::kCopy);
  const double half = 4 * kMatrices / 2 + kNorms;
  // Table and head in bf16 and a norm, from the reference's first pass on.
  const double root = 2 * 6'400 * 2 + 512;
  EXPECT_EQ(PhasesOf(with).static_bytes - PhasesOf(alone).static_bytes, half + root);
  EXPECT_EQ(PhasesOf(with).after_backward - PhasesOf(alone).after_backward, half + root);
  // Beside the policy's root one layer of the reference at a time.
  EXPECT_EQ(MostGathered(with, Moment::kReference), kRootElements + kLayerElements);
}

TEST(DpoOnTwoGpus, FullyShardGathersTheReferenceAsAWhole) {
  const Workload alone = On(Strategy::kFsdp2, 2, Task::kDpo);
  const Workload with = Against(alone, Reference::kCopy);
  const double half = 4 * kMatrices / 2 + kNorms;
  EXPECT_EQ(PhasesOf(with).static_bytes - PhasesOf(alone).static_bytes, half);
  EXPECT_EQ(PhasesOf(with).after_forward - PhasesOf(alone).after_forward, half);
  // prepare_fsdp wraps none of its layers: all 95,040 parameters, and the buffer that they came in.
  const Step step = TraceTrainingStep(with);
  EXPECT_EQ(Most(step, Moment::kReference, Term::kGathered), 95'040);
  EXPECT_EQ(Most(step, Moment::kReference, Term::kCommunication, "all-gather"), 95'040);
  EXPECT_EQ(Most(step, Moment::kForward, Term::kGathered), kRootElements + kLayerElements);
}

TEST(DpoOnTwoGpus, ShardsThatStayGatheredDoSoOfTheReferenceForGood) {
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2}) {
    Workload alone = On(strategy, 2, Task::kDpo);
    alone.parallel.reshard_after_forward = false;  // SHARD_GRAD_OP
    const Workload with = Against(alone, Reference::kCopy);
    const double half = 4 * kMatrices / 2 + kNorms;
    EXPECT_EQ(PhasesOf(with).static_bytes - PhasesOf(alone).static_bytes, half + 2 * kMatrices + kNorms);
  }
}

TEST(DpoOnTwoGpus, OffloadTakesTheReferencesShardsToo) {
  Workload workload = Against(On(Strategy::kZero3, 2, Task::kDpo), Reference::kCopy);
  workload.parallel.optimizer_device = workload.parallel.parameter_device = OffloadDevice::kCpu;
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads(), Detail::kSummary);
  const double half = 4 * kMatrices / 2 + kNorms;
  EXPECT_EQ(estimate.host.parameters, 2 * (2 * half));        // two models, of both GPUs
  EXPECT_EQ(estimate.host.optimizer_states, 2 * (2 * half));  // two moments of one of them
  EXPECT_EQ(estimate.phases.between_steps, 2 * 64 * 64);      // the bucket of reductions, in bf16
}

// --- dpo against the model without its adapter ---------------------------------------------------------------------

TEST(DpoOnTwoGpus, TheSameShardsRunAgainWithoutTheirAdapter) {
  // Rank 8 on q, k, v, o: 4 x 8 x (64 + 64) = 4,096; gate, up, down: 3 x 8 x (64 + 128) = 4,608; a layer's adapters
  // have 8,704 parameters, which its unit gathers with the rest whether they run or not.
  const double layer = kLayerElements + 8'704;
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2, Strategy::kZero3}) {
    const Workload dpo = Against(Lora(On(strategy, 2, Task::kDpo)), Reference::kAdapterOff);
    EXPECT_EQ(PhasesOf(dpo).static_bytes, PhasesOf(Lora(On(strategy, 2, Task::kSft))).static_bytes);
    EXPECT_EQ(MostGathered(dpo, Moment::kReference),
              kRootElements + (strategy == Strategy::kZero3 ? 2 : 1) * layer);  // stage 3 kept the last one
    // FSDP gathers a layer ahead, fully_shard into a buffer until it is its turn.
    EXPECT_EQ(MostGathered(dpo, Moment::kBackward), kRootElements + (strategy == Strategy::kFsdp ? 2 : 1) * layer);
  }
}

// --- classification and frozen layers ------------------------------------------------------------------------------

TEST(ClassificationOnTwoGpus, ZeroThreeDividesTheHeadOfLabels) {
  Workload workload = On(Strategy::kZero3, 2, Task::kSequenceClassification);
  workload.architecture.labels = 2;
  workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
  workload.precision.master_weights = true;
  // Matrices 2 x 40,960 and the table's 6,400, no head of words: 88,320 parameters of 16 bytes, halved; the half of the
  // table, 6,400 bytes in bf16, is 6,656 as weight and as gradient. Five norms and the 64 of 128 weights of the head
  // are a block each as weight, gradient, master and two moments. The bucket is 64 x 64 in bf16.
  EXPECT_EQ(PhasesOf(workload).between_steps, 8 * 88'320 + 2 * 256 + 6 * 5 * 512 + 2 * 64 * 64);
}

TEST(FrozenLayersOnTwoGpus, DdpHasBucketsForWhatTrains) {
  const Phases one = PhasesOf(LastLayerTrains(On(Strategy::kNone, 1, Task::kSft)));
  const Phases two = PhasesOf(LastLayerTrains(On(Strategy::kDdp, 2, Task::kSft)));
  EXPECT_EQ(two.static_bytes - one.static_bytes, 4 * 40'960 + 2 * 512);
  EXPECT_EQ(two.between_steps - two.static_bytes, 2 * (4 * 40'960 + 2 * 512));
}

TEST(FrozenLayersOnTwoGpus, FsdpDividesAllAndHasStatesForWhatTrains) {
  for (const Strategy strategy : {Strategy::kFsdp, Strategy::kFsdp2}) {
    const Workload workload = LastLayerTrains(On(strategy, 2, Task::kSft));
    const Phases phases = PhasesOf(workload);
    EXPECT_EQ(phases.static_bytes, 4 * kMatrices / 2 + kNorms);
    EXPECT_EQ(phases.between_steps - phases.static_bytes, 2 * (4 * 40'960 / 2 + 2 * 512));
    // Gradients end at the last layer: that is gathered beside the root, and no other.
    EXPECT_EQ(MostGathered(workload, Moment::kBackward), kRootElements + kLayerElements);
  }
}

TEST(FrozenLayersOnTwoGpus, OnlyFullyShardGathersALayerThatBackwardNeverReaches) {
  const auto ahead = [](Strategy strategy, std::int64_t trained) {
    Workload workload = LastLayerTrains(On(strategy, 2, Task::kSft));
    workload.method.trainable_layers = trained;
    const Step step = TraceTrainingStep(workload);
    return Most(step, Moment::kBackward, Term::kCommunication, "all-gather");
  };
  // By the order of the forward pass, into a buffer that is let go at the end: 41,088 elements beside those that the
  // first layer at work comes in.
  EXPECT_EQ(ahead(Strategy::kFsdp2, 1), ahead(Strategy::kFsdp2, 2));
  EXPECT_GE(ahead(Strategy::kFsdp2, 1), kLayerElements);
  EXPECT_EQ(ahead(Strategy::kFsdp, 1), 0);
}

// --- evaluation and generation -------------------------------------------------------------------------------------

/// Above what lies there between steps.
double EvaluationAbove(Workload workload) {
  workload.evaluation.per_device = 4;
  const Phases phases = PhasesOf(workload);
  return phases.evaluate - phases.between_steps;
}

TEST(EvaluationOnTwoGpus, FullyShardGathersLayerAfterLayer) {
  // 32,000 words: the loss decides. With the root whole in bf16, two matrices of 32,000 x 64 and a norm, and the buffer
  // of the last layer, 41,088 x 2 = 82,176 bytes in blocks of 512.
  Workload one = On(Strategy::kNone, 1, Task::kSft, 32'000);
  one.precision = {Dtype::kBf16, Dtype::kBf16, false};
  const Workload two = On(Strategy::kFsdp2, 2, Task::kSft, 32'000);
  EXPECT_EQ(EvaluationAbove(two) - EvaluationAbove(one), 2 * 32'000 * 64 * 2 + 512 + 82'432);
}

TEST(EvaluationOnTwoGpus, NothingIsGatheredWhenItEnds) {
  for (const Strategy strategy : {Strategy::kFsdp2, Strategy::kZero3}) {
    Workload workload = On(strategy, 2, Task::kSft);
    workload.evaluation.per_device = 4;
    const Step step = TraceEvaluation(workload);
    EXPECT_EQ(Most(step, Moment::kEvaluate, Term::kGathered), kRootElements + kLayerElements);
    double left = 0;
    for (const Section& section : step.sections) {
      for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
        const Event event = step.events[static_cast<std::size_t>(e)];
        left += event.change * step.storages[static_cast<std::size_t>(event.storage)].elements.coefficient;
      }
    }
    EXPECT_EQ(left, 0);
  }
}

/// Above what lies there between steps.
double RolloutAbove(Workload workload) {
  workload.rollout.prompt_length = 256;
  workload.rollout.completion_length = 256;
  const Phases phases = PhasesOf(workload);
  return phases.rollout - phases.between_steps;
}

TEST(RolloutOnTwoGpus, ZeroThreeGathersAllForGeneration) {
  Workload one = On(Strategy::kNone, 1, Task::kGrpo);
  one.precision = {Dtype::kBf16, Dtype::kBf16, false};
  EXPECT_EQ(RolloutAbove(On(Strategy::kDdp, 2, Task::kGrpo)), RolloutAbove(On(Strategy::kNone, 1, Task::kGrpo)));
  EXPECT_EQ(RolloutAbove(On(Strategy::kZero3, 2, Task::kGrpo)) - RolloutAbove(one), 2 * kMatrices + kNorms);
}

TEST(RolloutOnTwoGpus, FsdpGathersTheRootInItsOwnDtype) {
  // 32,000 words: the last token's logits and what becomes of them, 2 x 32,000 x (2 + 4 + 4 + 4) bytes, weigh more than
  // a layer, which is gone by then. The root has 2 x 32,000 x 64 + 64 parameters of 4 bytes, in blocks of 512.
  Workload one = On(Strategy::kNone, 1, Task::kGrpo, 32'000);
  one.precision = {Dtype::kBf16, Dtype::kBf16, false};
  const Workload fsdp = On(Strategy::kFsdp, 2, Task::kGrpo, 32'000);
  EXPECT_EQ(RolloutAbove(fsdp) - RolloutAbove(one), 4 * 2 * 32'000 * 64 + 512);
  // fully_shard's hooks run in every forward pass, for every token. The most is there, before any logits are, when the
  // first layer is gathered: the root in bf16 and the buffer that it came in, which is let go after the next one is
  // copied out, the layer's own buffer of 41,088 x 2 bytes and this rank's half of it, cast.
  const Workload fsdp2 = On(Strategy::kFsdp2, 2, Task::kGrpo, 32'000);
  const double root = 2 * 2 * 32'000 * 64 + 512;
  EXPECT_EQ(RolloutAbove(fsdp2) - RolloutAbove(one), 2 * root + 82'432 + 41'472 - 2 * 32'000 * (2 + 4 + 4 + 4));
}

TEST(RolloutOnTwoGpus, AnAdapterIsMergedForAnotherEngineWithAllGathered) {
  Workload workload = Lora(On(Strategy::kZero3, 2, Task::kGrpo));
  workload.rollout.engine = RolloutEngine::kVllm;
  // The base and two layers' adapters in bf16, matrices of 8 x 64 and 8 x 128: whole blocks. And a block of inputs.
  EXPECT_EQ(RolloutAbove(workload), 2 * kMatrices + kNorms + 2 * 2 * 8'704 + 512);
  workload.parallel.strategy = Strategy::kZero2;
  EXPECT_EQ(PhasesOf(workload).rollout, 0);
}

TEST(RolloutOnTwoGpus, EveryRankHasAnEngineOfItsOwn) {
  Workload workload = On(Strategy::kZero3, 2, Task::kGrpo);
  workload.rollout.engine = RolloutEngine::kVllm;
  const double apart = PhasesOf(workload).between_steps;
  workload.rollout.engine_bytes = 24e9;
  EXPECT_EQ(PhasesOf(workload).between_steps - apart, 24e9);
}

TEST(PpoOnTwoGpus, ZeroThreeDividesAllFourModelsAndGathersTheTwoThatTrain) {
  const Workload workload = Against(On(Strategy::kZero3, 2, Task::kPpo), Reference::kCopy);
  Workload one = Against(On(Strategy::kZero3, 1, Task::kPpo), Reference::kCopy);
  const Phases halves = PhasesOf(workload);
  const Phases whole = PhasesOf(one);
  // The policy and its reference have 95,040 parameters; value and reward model have a head of 64 in place of one of
  // 6,400. Matrices: 4 x 81,920 + 4 x 6,400 tables + 2 x 6,400 heads = 366,080, of which fp32 halves go; of those that
  // train, 81,920 x 2 + 6,400 x 3 = 183,040, also bf16 gradients, but that half a table or head of those, 6,400 bytes,
  // is 6,656 as the allocator counts.
  EXPECT_EQ(whole.static_bytes - halves.static_bytes, 2 * 366'080 + 183'040 - 3 * 256);
  // While completions are written policy and value are whole, which one engine holds.
  EXPECT_EQ(Most(TraceRollout(workload).step, Moment::kRollout, Term::kGathered), 95'040 + 95'040 - 6'400 + 64);
}

// --- what a job's layout does not change ---------------------------------------------------------------------------

TEST(TasksOnOneGpu, AStrategyThatDividesNothingChangesNothing) {
  for (const Task task : {Task::kDpo, Task::kGrpo}) {
    const Phases none = PhasesOf(Against(On(Strategy::kNone, 1, task), Reference::kCopy));
    for (const Strategy strategy : {Strategy::kDdp, Strategy::kFsdp, Strategy::kFsdp2}) {
      const Phases one = PhasesOf(Against(On(strategy, 1, task), Reference::kCopy));
      EXPECT_EQ(one.static_bytes, none.static_bytes);
      EXPECT_EQ(one.peak_step, none.peak_step);
      EXPECT_EQ(one.rollout, none.rollout);
    }
  }
}

}  // namespace
}  // namespace tunefit
