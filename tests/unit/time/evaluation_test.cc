#include "core/time/evaluation.h"

#include <gtest/gtest.h>

#include "core/time/run.h"
#include "tests/support/architectures.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

using test::Ideal, test::RoundCard;

/// Of a layer 64 wide with an MLP of 128: q, k, v and o, and gate, up and down; and its head of 100 tokens.
constexpr double kLayer = 4 * 64 * 64 + 3 * 64 * 128;
constexpr double kHead = 64 * 100;

/// 1e12 flops a second, and bytes that take no time.
Gpu OnlyFlops() {
  Gpu gpu = RoundCard();
  gpu.memory_bytes_per_second = 1e30;
  return gpu;
}

/// Four examples of 30 tokens at a time, of 100 in all.
Workload Evaluates() {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  workload.batch = {.per_device = 2, .gradient_accumulation = 4, .sequence_length = 30};
  workload.evaluation = {.per_device = 4, .kept_batches = 0, .examples = 100};
  return workload;
}

double SecondsOf(const Workload& workload) {
  const Gpu gpu = OnlyFlops();
  return EvaluationSeconds(workload, TraceJob(workload), gpu, FabricOf(gpu, workload.parallel, {}, 1e6), Ideal());
}

TEST(EvaluationSeconds, AreForwardPassesOverTheExamples) {
  const double products = 2 * 4 * 30 * (2 * kLayer + kHead);
  const double attention = 4 * 2 * (2 * 2 * 64) * (30 * 31 / 2.0);  // causal: each token meets those up to itself
  EXPECT_NEAR(SecondsOf(Evaluates()), 25 * (products + attention) / 1e12, 1e-9 * products / 1e12);
}

TEST(EvaluationSeconds, AllGpusShareTheExamples) {
  Workload workload = Evaluates();
  workload.evaluation.examples = 101;
  const double of_one = SecondsOf(workload);  // the 26th batch holds one
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kDdp;
  EXPECT_NEAR(SecondsOf(workload), of_one / 2, 1e-9 * of_one);
}

TEST(EvaluationSeconds, CardsOfADeviceMapAreOneProcess) {
  Workload workload = Evaluates();
  const double of_one = SecondsOf(workload);
  workload.parallel.gpus = 2;
  workload.parallel.strategy = Strategy::kDeviceMap;
  EXPECT_NEAR(SecondsOf(workload), of_one, 1e-9 * of_one);
}

TEST(EvaluationSeconds, WriteTheCompletionsOfPrompts) {
  Workload workload = Evaluates();
  workload.task = Task::kGrpo;
  workload.rollout.generations = 4;
  workload.rollout.prompt_length = 10;
  workload.rollout.completion_length = 20;
  workload.evaluation.examples = 10;  // 40 completions, four at a time
  const double scored = 10 * 2 * 4 * (30 * 2 * kLayer + 21 * kHead) / 1e12;
  const double written = 10 * 2 * 4 * ((10 + 19) * 2 * kLayer + 20 * kHead) / 1e12;
  EXPECT_NEAR(SecondsOf(workload), scored + written, 0.06 * (scored + written)) << "attention adds to both";
  EXPECT_GT(SecondsOf(workload), scored + written);
}

TEST(EvaluationSeconds, AreNoneWithoutExamples) {
  Workload workload = Evaluates();
  workload.evaluation.examples = 0;
  EXPECT_EQ(SecondsOf(workload), 0);
}

TEST(AddOutsideSteps, EvaluatesAtTheEndOfEveryEpoch) {
  const Workload workload = Evaluates();
  Dataset dataset;
  dataset.examples = 1000;
  dataset.mean_tokens = 30;
  dataset.epochs = 2.5;
  const Gpu gpu = OnlyFlops();
  TimeEstimate estimate = EstimateTime(workload, TraceJob(workload), gpu, {}, Ideal(), dataset);
  const double steps = estimate.total_seconds->expected;
  AddOutsideSteps(estimate, workload, dataset, 0, {{1, 1, 1}, {1e30, 1e30, 1e30}, {0, 0, 0}});
  EXPECT_NEAR(estimate.outside->evaluation.expected, 3 * SecondsOf(workload), 1e-15);
  EXPECT_DOUBLE_EQ(estimate.total_seconds->expected, steps + estimate.outside->total().expected);
}

}  // namespace
}  // namespace tunefit
