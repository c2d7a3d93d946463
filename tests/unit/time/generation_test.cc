// The time of a rollout by hand, on a card of round numbers: 1e12 flops and 1e9 bytes a second.
#include "core/time/generation.h"

#include <gtest/gtest.h>

#include <numeric>

#include "core/model/parameters.h"
#include "core/time/run.h"
#include "tests/support/architectures.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

using test::Ideal, test::RoundCard;

/// Of a layer 64 wide with an MLP of 128: q, k, v and o, and gate, up and down.
constexpr double kLayer = 4 * 64 * 64 + 3 * 64 * 128;
constexpr double kHead = 64 * 100;
/// Keys and values of a token in two layers, in 16 bits.
constexpr double kCacheOfToken = 2 * 2 * 64 * 2;

/// Prompts of 10 tokens, completions of 20: two in a micro-batch, four micro-batches, groups of four.
Workload Generates(Task task = Task::kGrpo, RolloutEngine engine = RolloutEngine::kTransformers) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.task = task;
  workload.batch = {.per_device = 2, .gradient_accumulation = 4, .sequence_length = 30};
  workload.rollout.generations = 4;
  workload.rollout.prompt_length = 10;
  workload.rollout.completion_length = 20;
  workload.rollout.engine = engine;
  if (task == Task::kPpo) workload.reference = Reference::kCopy;
  return workload;
}

TEST(CountRollout, PromptsInOnePassThenATokenOfEachAtATime) {
  const RolloutCounts counts = CountRollout(Generates());
  EXPECT_NEAR(counts.prompts.matmul.forward, 2 * 8 * (10 * 2 * kLayer + kHead), 1);
  EXPECT_NEAR(counts.token.matmul.forward, 2 * 8 * (2 * kLayer + kHead), 1);
  EXPECT_EQ(counts.prompts.matmul.backward, 0);
  EXPECT_EQ(counts.tokens, 19) << "the prompts' pass chose the first";
  EXPECT_EQ(counts.times, 1);
  EXPECT_DOUBLE_EQ(counts.cache_bytes, 3 * 8 * kCacheOfToken * (10 + 20 / 2)) << "read and copied, then read";
  EXPECT_EQ(counts.handed_bytes, 0);
  EXPECT_EQ(counts.scored_times, 0);
}

TEST(CountRollout, AnEngineReadsTheirPromptOnceForAGroup) {
  const RolloutCounts counts = CountRollout(Generates(Task::kGrpo, RolloutEngine::kVllm));
  EXPECT_NEAR(counts.prompts.matmul.forward, 2 * 2 * (10 * 2 * kLayer + kHead), 1);
  EXPECT_NEAR(counts.token.matmul.forward, 2 * 8 * (2 * kLayer + kHead), 1);
  EXPECT_EQ(counts.token.kernels, 0) << "CUDA graphs";
  EXPECT_DOUBLE_EQ(counts.cache_bytes, 8 * kCacheOfToken * 20);
  EXPECT_DOUBLE_EQ(counts.handed_bytes,
                   2 * static_cast<double>(CountParameters(test::MakeLlama(test::SmallSizes())).total()));
}

TEST(CountRollout, AnEngineWritesAsManyTogetherAsItsMemoryHolds) {
  Workload workload = Generates(Task::kGrpo, RolloutEngine::kVllm);
  const double weights = CountRollout(workload).handed_bytes;
  workload.rollout.engine_bytes = weights + 2.5 * 30 * kCacheOfToken;
  EXPECT_EQ(CountRollout(workload).times, 4) << "two of eight at a time";
  workload.rollout.engine_bytes = weights / 2;
  EXPECT_EQ(CountRollout(workload).times, 8) << "less room is never faster";
}

TEST(CountRollout, AnEngineApartWritesTheCompletionsOfAllGpus) {
  Workload workload = Generates(Task::kGrpo, RolloutEngine::kVllm);
  workload.parallel.gpus = 4;
  workload.parallel.strategy = Strategy::kDdp;
  EXPECT_NEAR(CountRollout(workload).token.matmul.forward, 2 * 8 * (2 * kLayer + kHead), 1);
  workload.rollout.colocated = false;
  EXPECT_NEAR(CountRollout(workload).token.matmul.forward, 4 * 2 * 8 * (2 * kLayer + kHead), 1);
}

TEST(CountRollout, PpoScoresWithThreeModels) {
  Workload workload = Generates(Task::kPpo);
  workload.batch.gradient_accumulation = 40;
  const RolloutCounts counts = CountRollout(workload);
  EXPECT_EQ(counts.times, 2) << "80 completions, 64 at a time";
  EXPECT_EQ(counts.scored_times, 2);
  // The reference's head on all tokens, one score for each from value and reward model.
  EXPECT_NEAR(counts.scores.matmul.forward, 2 * 64 * 30 * (3 * 2 * kLayer + kHead + 2 * 64), 10);
}

TEST(CountRollout, Stage3GathersEveryWeightOnce) {
  Workload workload = Generates();
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kZero3;
  workload.parallel.zero.param_persistence_threshold = 0;
  const auto parameters = static_cast<double>(CountParameters(workload.architecture).total());
  const RolloutCounts counts = CountRollout(workload);
  EXPECT_DOUBLE_EQ(counts.gathered_bytes, 2 * parameters);
  EXPECT_EQ(counts.token.gathered_bytes, 0);
  workload.parallel.strategy = Strategy::kFsdp2;
  const RolloutCounts again = CountRollout(workload);
  EXPECT_EQ(again.gathered_bytes, 0);
  EXPECT_DOUBLE_EQ(again.token.gathered_bytes, 2 * parameters) << "for every token";
  workload.rollout.engine = RolloutEngine::kVllm;
  const RolloutCounts handed = CountRollout(workload);
  EXPECT_DOUBLE_EQ(handed.gathered_bytes, 2 * parameters);
  EXPECT_EQ(handed.token.gathered_bytes, 0);
}

RolloutCounts ByHand() {
  RolloutCounts counts;
  counts.prompts.matmul.forward = 1e12;
  counts.token.matmul.forward = 1e9;  // a millisecond
  counts.token.operand_bytes = 2e6;   // two
  counts.token.bytes = 1e6;           // one
  counts.cache_bytes = 4e6;           // four
  counts.token.kernels = 10;
  counts.tokens = 100;
  counts.times = 2;
  return counts;
}

GenerationTime TimeOf(const RolloutCounts& counts, const Workload& workload, const Efficiencies& efficiencies) {
  const Gpu gpu = RoundCard();
  return TimeGeneration(counts, workload, gpu, FabricOf(gpu, workload.parallel, {}, 1e6), efficiencies);
}

TEST(TimeGeneration, AddsPromptsAndTokens) {
  const GenerationTime time = TimeOf(ByHand(), Generates(), Ideal());
  EXPECT_DOUBLE_EQ(time.seconds, 2 * (1 + 100 * 0.007));
  EXPECT_DOUBLE_EQ(time.busy_seconds, time.seconds);
  EXPECT_EQ(time.launch_seconds, 0);
}

TEST(TimeGeneration, ManyRowsWaitForTheirProducts) {
  RolloutCounts counts = ByHand();
  counts.token.matmul.forward = 5e9;
  EXPECT_DOUBLE_EQ(TimeOf(counts, Generates(), Ideal()).seconds, 2 * (1 + 100 * 0.010));
}

TEST(TimeGeneration, ATokenTakesNoLessThanItsLaunches) {
  Efficiencies efficiencies = Ideal();
  efficiencies.constants[static_cast<std::size_t>(Constant::kKernelSeconds)] = 0.001;
  const GenerationTime time = TimeOf(ByHand(), Generates(), efficiencies);
  EXPECT_DOUBLE_EQ(time.seconds, 2 * (1 + 100 * 0.010));
  EXPECT_DOUBLE_EQ(time.launch_seconds, 2 * 100 * (0.010 - 0.007));
  EXPECT_DOUBLE_EQ(time.busy_seconds, 2 * (1 + 100 * 0.007));
}

TEST(TimeGeneration, IsSharedByAllStepsThatTrainOnIt) {
  Workload workload = Generates();
  workload.rollout.iterations = 4;
  EXPECT_DOUBLE_EQ(TimeOf(ByHand(), workload, Ideal()).seconds, 2 * (1 + 100 * 0.007) / 4);
}

TEST(TimeGeneration, WeightsAreCopiedToAColocatedEngineAndSentToOneApart) {
  Workload workload = Generates(Task::kGrpo, RolloutEngine::kVllm);
  RolloutCounts counts = ByHand();
  counts.handed_bytes = 5e8;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, Ideal()).seconds, 3.4 + 1) << "read and written at 1e9";
  workload.rollout.colocated = false;
  workload.rollout.engine_gpus = 2;
  workload.parallel.gpus = 4;
  workload.parallel.strategy = Strategy::kDdp;
  const GenerationTime beside = TimeOf(counts, workload, Ideal());
  EXPECT_DOUBLE_EQ(beside.seconds, 3.4 / 2 + 5) << "in the same machine, by its link of 1e8";
  EXPECT_EQ(beside.busy_seconds, 0);
  workload.parallel.gpus = 8;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, Ideal()).seconds, 3.4 / 2 + 500) << "by a network of 1e6";
}

TEST(TimeGeneration, AGatherWaitsForItsHooks) {
  Workload workload = Generates();
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kZero3;
  RolloutCounts counts = ByHand();
  counts.gathered_bytes = 4e8;
  counts.gathers = 10;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, Ideal()).seconds, 3.4 + 2) << "half of it comes, at 1e8";
  Efficiencies efficiencies = Ideal();
  efficiencies.constants[static_cast<std::size_t>(Constant::kGatherSeconds)] = 0.3;
  EXPECT_DOUBLE_EQ(TimeOf(counts, workload, efficiencies).seconds, 3.4 + 3);
}

TEST(EstimateTime, CompletionsAreATermOfTheStep) {
  for (const Task task : {Task::kGrpo, Task::kPpo}) {
    const Workload workload = Generates(task);
    const TimeEstimate time = EstimateTime(workload, TraceJob(workload), RoundCard(), {}, Ideal(), {});
    EXPECT_GT(time.step[TimeTerm::kGeneration], 0);
    EXPECT_DOUBLE_EQ(std::accumulate(time.step.terms.begin(), time.step.terms.end(), 0.0), time.step.seconds);
    EXPECT_LE(BusyShare(time.step), 1);
  }
}

// The reference scores a completion once, and so does the policy: two steps have one of these passes each.
TEST(CountStep, CompletionsAreScoredOnceHoweverManyStepsTrainOnThem) {
  Workload workload = Generates(Task::kGrpo, RolloutEngine::kVllm);
  workload.reference = Reference::kCopy;
  const auto forward = [](const Workload& one) {
    return CountStep(one, TraceJob(one)).ranks.front().work.matmul.forward;
  };
  const double three_passes = forward(workload);
  workload.rollout.iterations = 2;
  EXPECT_NEAR(forward(workload), three_passes * 2 / 3, 1e-9 * three_passes);
}

Dataset Prompts(double examples, double epochs = 1) {
  return {.examples = examples, .mean_tokens = {}, .tokens = {}, .epochs = epochs};
}

// 2 x 4 completions on each of 4 GPUs are 8 groups of 4.
TEST(RunLength, GrpoDropsPromptsThatDoNotFillAStep) {
  Workload workload = Generates();
  workload.parallel.gpus = 4;
  workload.parallel.strategy = Strategy::kDdp;
  const auto run = LengthOf(Prompts(807), workload);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->steps, 100);
  EXPECT_EQ(run->row_tokens, 30);
  EXPECT_EQ(run->computed_tokens, 100 * 32 * 30);
  EXPECT_EQ(LengthOf(Prompts(807, 2.5), workload)->steps, 250);
  workload.rollout.iterations = 3;
  EXPECT_EQ(LengthOf(Prompts(807), workload)->steps, 300);
  EXPECT_EQ(LengthOf({.examples = {}, .mean_tokens = {}, .tokens = 8000, .epochs = 1}, workload)->steps, 300)
      << "800 prompts of 10 tokens";
}

TEST(RunLength, PpoCountsEpisodesOverAllEpochs) {
  Workload workload = Generates(Task::kPpo);
  workload.rollout.iterations = 4;
  EXPECT_EQ(LengthOf(Prompts(100, 1.5), workload)->steps, 4 * 19) << "150 episodes, 8 in a rollout";
}

}  // namespace
}  // namespace tunefit
