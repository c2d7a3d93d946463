#include "core/time/evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/time/clock.h"
#include "core/time/generation.h"
#include "core/trace/passes.h"

namespace tunefit {
namespace {

/// The completions of one evaluation batch are written before they are scored (trl/trainer/grpo_trainer.py,
/// prediction_step; ppo_trainer.py, generate_completions).
double WritingSeconds(Workload workload, const Gpu& gpu, const Fabric& fabric, const Efficiencies& efficiencies) {
  workload.batch.per_device = workload.evaluation.per_device;
  workload.batch.gradient_accumulation = 1;
  workload.rollout.iterations = 1;
  return TimeGeneration(CountRollout(workload), workload, gpu, fabric, efficiencies).seconds;
}

}  // namespace

double EvaluationSeconds(const Workload& workload, const std::vector<TracedRank>& job, const Gpu& gpu,
                         const Fabric& fabric, const Efficiencies& efficiencies) {
  const Evaluation& evaluation = workload.evaluation;
  if (evaluation.per_device == 0 || evaluation.examples == 0) return 0;
  const Parallel& parallel = workload.parallel;
  const Clock clock(workload, gpu, fabric, efficiencies);
  double of_batch = 0;
  double examples = static_cast<double>(evaluation.examples);
  for (const TracedRank& rank : job) {
    Workload evaluated = rank.workload;
    evaluated.batch.sequence_length = workload.batch.sequence_length;
    const Pass pass = TraceEvaluationPass(evaluated);
    const MicroBatchWork work = WorkOf(pass.step, AxesOf(pass), static_cast<double>(parallel.context));
    StepTime time;
    clock.AddMicroBatch(work, time);
    const double seconds = clock.WithGathers(work, time);
    of_batch = IsPlaced(parallel) ? of_batch + seconds : std::max(of_batch, seconds);
  }
  if (HasRollout(workload.task)) {
    of_batch += WritingSeconds(workload, gpu, fabric, efficiencies);
    examples *= static_cast<double>(workload.rollout.generations);
  }
  const std::int64_t at_once = evaluation.per_device * parallel.RowRanks();
  return std::ceil(examples / static_cast<double>(at_once)) * of_batch;
}

}  // namespace tunefit
