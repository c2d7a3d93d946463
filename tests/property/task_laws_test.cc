// Laws of tasks with several forward passes, over seeded random models and recipes. A failure prints the seed.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/memory/estimate.h"
#include "core/memory/moments.h"
#include "core/memory/replay.h"
#include "core/model/parameters.h"
#include "core/time/step_time.h"
#include "core/trace/training_step.h"
#include "tests/property/random_workload.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

/// Several tasks each, and several models in most of them.
constexpr unsigned kCases = test::kLawCases / 10;

Workload WithTask(Workload workload, Task task) {
  const bool adapted = workload.method.kind == MethodKind::kLora;
  workload.task = task;
  workload.loss = Loss::kStandard;
  const bool compares = task == Task::kDpo || task == Task::kKto || HasRollout(task);
  if (compares) workload.reference = adapted ? Reference::kAdapterOff : Reference::kCopy;
  if (IsClassification(task)) {
    workload.architecture.labels = task == Task::kReward ? 1 : 2;
    workload.architecture.tied_head = false;
  }
  workload.rollout.prompt_length = workload.batch.sequence_length;
  workload.rollout.completion_length = workload.batch.sequence_length;
  if (HasRollout(task)) workload.batch.sequence_length *= 2;
  if (HasError(Validate(workload))) workload.parallel.strategy = Strategy::kZero3;  // no ppo where FSDP shards
  return workload;
}

bool ShardsModels(const Workload& workload) { return GathersParameters(workload.parallel); }

class TaskLaws : public testing::Test {
 protected:
  /// Calls `check` with random workloads of whole models and sequences on a GPU, each of its own seed, under each of
  /// the tasks.
  template <typename Check>
  void ForEachWorkload(std::initializer_list<Task> tasks, Check check) {
    for (unsigned seed = 1; seed <= kCases; ++seed) {
      std::mt19937 random(seed);
      Workload workload = test::RandomWorkload(random);
      // Only ranks of data parallelism have these tasks.
      workload.parallel.gpus = workload.parallel.Shards();
      workload.parallel.tensor = workload.parallel.pipeline = 1;
      workload.parallel.sequence_parallel = false;
      workload.compile = false;  // not modelled together
      for (const Task task : tasks) {
        if (workload.architecture.streams && (IsClassification(task) || task == Task::kPpo)) continue;  // no classifier
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", task " << static_cast<int>(task) << ": "
                                        << test::Describe(workload));
        const Workload with_task = WithTask(workload, task);
        ASSERT_FALSE(HasError(Validate(with_task)));
        check(with_task);
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
};

MemoryEstimate Estimate(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kFull);
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).phases;
}

TEST_F(TaskLaws, TermsSumToThePeakAndNoneIsNegative) {
  ForEachWorkload(
      {Task::kSequenceClassification, Task::kReward, Task::kDpo, Task::kOrpo, Task::kKto, Task::kGrpo, Task::kPpo},
      [](const Workload& workload) {
        const MemoryEstimate estimate = Estimate(workload);
        double sum = 0;
        for (const TermBytes& term : estimate.terms) {
          EXPECT_GT(term.bytes, 0) << TermName(term.term);
          sum += term.bytes;
        }
        EXPECT_EQ(sum, estimate.phases.peak_step);
      });
}

TEST_F(TaskLaws, FoldedLayersAreTheUnrolledOnes) {
  ForEachWorkload({Task::kReward, Task::kDpo, Task::kKto, Task::kGrpo, Task::kPpo}, [](const Workload& workload) {
    const Step folded = TraceTrainingStep(workload, Unrolling::kFolded);
    const Step unrolled = TraceTrainingStep(workload, Unrolling::kAll);
    const Replay a = ReplayStep(folded, AxesOf(folded, workload, workload.batch));
    const Replay b = ReplayStep(unrolled, AxesOf(unrolled, workload, workload.batch));
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.optimizer_states, b.optimizer_states);
    EXPECT_EQ(a.after_forward, b.after_forward);
    EXPECT_EQ(a.peak_forward.bytes, b.peak_forward.bytes);
    EXPECT_EQ(a.after_backward, b.after_backward);
    EXPECT_EQ(a.peak_backward.bytes, b.peak_backward.bytes);
  });
}

TEST_F(TaskLaws, NothingOfAReferenceStaysButItsWeights) {
  ForEachWorkload({Task::kDpo, Task::kKto, Task::kGrpo}, [](Workload workload) {
    workload.reference = Reference::kNone;
    const MemoryEstimate without = Estimate(workload);
    workload.reference = Reference::kCopy;
    const MemoryEstimate with = Estimate(workload);
    const double copy = with.phases.static_bytes - without.phases.static_bytes;
    EXPECT_GT(copy, 0);
    EXPECT_EQ(with.phases.between_steps - without.phases.between_steps, copy);
    EXPECT_EQ(with.phases.after_backward - without.phases.after_backward, copy);
    EXPECT_EQ(with.phases.after_forward - without.phases.after_forward, copy);
    EXPECT_EQ(with.phases.peak_backward - without.phases.peak_backward, copy);
    // The copy has no adapter: as many bytes as a model without one, where nothing else stays.
    workload.reference = Reference::kNone;
    workload.method = {};
    const bool buffered = !TraceTrainingStep(workload).gradient_buffers.empty();
    const bool plain = workload.quantization.kind == QuantizationKind::kNone && !buffered;
    if (plain && !ShardsModels(workload)) {
      EXPECT_EQ(copy, PhasesOf(workload).static_bytes);
    }
  });
}

TEST_F(TaskLaws, APrecomputedReferenceIsNoModel) {
  ForEachWorkload({Task::kDpo, Task::kKto}, [](Workload workload) {
    workload.reference = Reference::kPrecomputed;
    const Phases precomputed = PhasesOf(workload);
    workload.task = Task::kOrpo;
    workload.reference = Reference::kNone;
    EXPECT_EQ(precomputed.static_bytes, PhasesOf(workload).static_bytes);
    workload.task = Task::kDpo;
    workload.reference = Reference::kCopy;
    EXPECT_LT(precomputed.peak_step, PhasesOf(workload).peak_step);
  });
}

TEST_F(TaskLaws, OrpoAndKtoNeedNoMoreModelsThanDpo) {
  ForEachWorkload({Task::kDpo}, [](Workload workload) {
    const Phases dpo = PhasesOf(workload);
    workload.task = Task::kKto;
    const Phases kto = PhasesOf(workload);
    EXPECT_EQ(kto.static_bytes, dpo.static_bytes);
    EXPECT_LE(kto.after_forward, dpo.after_forward);  // its examples are single sequences
    workload.task = Task::kOrpo;
    workload.reference = Reference::kNone;
    EXPECT_LE(PhasesOf(workload).static_bytes, dpo.static_bytes);
  });
}

TEST_F(TaskLaws, AShorterCompletionOfTheSameSequenceNeedsLess) {
  ForEachWorkload({Task::kGrpo}, [](Workload workload) {
    const Phases whole = PhasesOf(workload);
    const std::int64_t moved = workload.rollout.completion_length / 2;
    workload.rollout.completion_length -= moved;
    workload.rollout.prompt_length += moved;
    const Phases half = PhasesOf(workload);
    EXPECT_LE(half.after_forward, whole.after_forward);
    EXPECT_LE(half.peak_forward, whole.peak_forward);
    EXPECT_LE(half.peak_backward, whole.peak_backward);
    EXPECT_EQ(half.static_bytes, whole.static_bytes);
  });
}

/// The time of a step on a card of round numbers.
StepTime TimeOf(const Workload& workload) {
  const Gpu gpu = test::RoundCard();
  return TimeStep(CountStep(workload, {TraceRank(workload)}), workload, gpu, FabricOf(gpu, workload.parallel, {}, 1e6),
                  test::Ideal());
}

TEST_F(TaskLaws, LongerCompletionsAreWrittenLonger) {
  ForEachWorkload({Task::kGrpo, Task::kPpo}, [](Workload workload) {
    if (workload.task == Task::kGrpo) {
      workload.rollout.engine =
          workload.batch.per_device % 2 == 0 ? RolloutEngine::kVllm : RolloutEngine::kTransformers;
    }
    const StepTime once = TimeOf(workload);
    EXPECT_GT(once[TimeTerm::kGeneration], 0);
    EXPECT_LE(once.generation.busy_seconds + once.generation.launch_seconds, once[TimeTerm::kGeneration] * (1 + 1e-12));
    EXPECT_NEAR(std::accumulate(once.terms.begin(), once.terms.end(), 0.0), once.seconds, 1e-12 * once.seconds);
    Workload longer = workload;
    longer.batch.sequence_length += workload.rollout.completion_length;
    longer.rollout.completion_length *= 2;
    EXPECT_GT(TimeOf(longer)[TimeTerm::kGeneration], once[TimeTerm::kGeneration]);
    workload.rollout.iterations = 2;
    EXPECT_LT(TimeOf(workload)[TimeTerm::kGeneration], once[TimeTerm::kGeneration]);
  });
}

/// What a rank holds of all models and of the states of those that train.
double HeldByRank(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, AxesOf(step, workload, workload.batch));
  return replay.weights + replay.optimizer_states;
}

TEST_F(TaskLaws, EachStageOfZeroHoldsNoMoreAndTogetherNoLess) {
  ForEachWorkload({Task::kReward, Task::kDpo, Task::kGrpo, Task::kPpo}, [](Workload workload) {
    workload.optimizer = Optimizer::kAdamwForeach;  // others have states that do not shrink with the shard
    workload.parallel = {};
    workload.parallel.gpus = 4;
    workload.parallel.strategy = Strategy::kDdp;
    const double copies = HeldByRank(workload);
    double earlier = copies;
    for (const Strategy stage : {Strategy::kZero1, Strategy::kZero2, Strategy::kZero3}) {
      workload.parallel.strategy = stage;
      workload.habits.fsdp_upcasts_trainable = false;
      const double held = HeldByRank(workload);
      EXPECT_LE(held, earlier) << static_cast<int>(stage);
      EXPECT_GE(4 * held, copies) << static_cast<int>(stage);
      earlier = held;
    }
  });
}

TEST_F(TaskLaws, AStrategyThatDividesNothingIsNone) {
  ForEachWorkload({Task::kSequenceClassification, Task::kDpo, Task::kGrpo}, [](Workload workload) {
    workload.parallel = {};
    workload.evaluation.per_device = 2;
    const Phases none = PhasesOf(workload);
    for (const Strategy strategy : {Strategy::kDdp, Strategy::kFsdp, Strategy::kFsdp2}) {
      workload.parallel.strategy = strategy;
      const Phases one = PhasesOf(workload);
      EXPECT_EQ(one.between_steps, none.between_steps);
      EXPECT_EQ(one.peak_forward, none.peak_forward);
      EXPECT_EQ(one.peak_step, none.peak_step);
      EXPECT_EQ(one.rollout, none.rollout);
      EXPECT_EQ(one.evaluate, none.evaluate);
    }
  });
}

TEST_F(TaskLaws, WhatStageThreeGeneratesWithIsWhole) {
  ForEachWorkload({Task::kGrpo}, [](Workload workload) {
    if (workload.quantization.kind != QuantizationKind::kNone) return;
    workload.parallel = {};
    workload.parallel.gpus = 4;
    workload.parallel.strategy = Strategy::kZero3;
    workload.parallel.zero.param_persistence_threshold = 0;  // small ones would be whole between steps, too
    const Phases phases = PhasesOf(workload);
    const auto parameters = static_cast<double>(CountParameters(workload.architecture).total());
    EXPECT_GE(phases.rollout - phases.between_steps, BytesPerElement(workload.precision.compute) * parameters);
  });
}

TEST_F(TaskLaws, MoreExamplesNeverNeedLess) {
  ForEachWorkload({Task::kReward, Task::kDpo, Task::kOrpo, Task::kKto, Task::kGrpo, Task::kPpo}, [](Workload workload) {
    const Phases few = PhasesOf(workload);
    workload.batch.per_device += 1;
    const Phases more = PhasesOf(workload);
    EXPECT_GE(more.peak_step, few.peak_step);
    EXPECT_GE(more.rollout, few.rollout);
  });
}

TEST_F(TaskLaws, MomentsAreNoSmallerThanWhatTheyHold) {
  ForEachWorkload({Task::kSft, Task::kDpo, Task::kPpo}, [](Workload workload) {
    workload.evaluation.per_device = 2;
    const MemoryEstimate estimate = Estimate(workload);
    const Phases& phases = estimate.phases;
    // Buffers for gradients come with the optimizer, copies in FP8 with the first step: after the model was read.
    const Step step = TraceTrainingStep(workload);
    if (step.gradient_buffers.empty() && step.weight_copies.empty()) {
      EXPECT_GE(phases.load, phases.static_bytes);
    }
    EXPECT_GT(phases.evaluate, phases.between_steps);
    EXPECT_GE(phases.peak_step, phases.evaluate);
    EXPECT_GE(phases.peak_step, phases.rollout);
    EXPECT_GT(estimate.disk_bytes, 0);
    workload.evaluation.kept_batches = 100;
    EXPECT_GE(PhasesOf(workload).evaluate, phases.evaluate);
  });
}

}  // namespace
}  // namespace tunefit
