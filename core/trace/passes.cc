#include "core/trace/passes.h"

#include <utility>

#include "core/trace/optimizer.h"
#include "core/trace/task_step.h"

namespace tunefit {
namespace {

/// MEM-115  A forward pass and its loss over the evaluation's batch, beside what training holds between two steps.
Pass MakeEvaluation(const Workload& workload) {
  Pass pass;
  pass.moment = Moment::kEvaluate;
  pass.step = TraceEvaluation(workload);
  AddOptimizer(pass.step, workload);
  Batch batch = workload.batch;
  batch.per_device = workload.evaluation.per_device;
  pass.sequences = static_cast<double>(SequencesOf(workload.task, batch));
  const std::int64_t tokens = LayerTokens(workload, batch.sequence_length);
  pass.length = static_cast<double>(tokens);
  pass.data = static_cast<double>(batch.sequence_length);
  pass.kept = static_cast<double>(KeptTokens(workload, tokens));
  return pass;
}

}  // namespace

std::vector<Pass> TracePasses(const Workload& workload) {
  std::vector<Pass> passes;
  if (HasRollout(workload.task) && workload.rollout.engine == RolloutEngine::kTransformers) {
    passes.push_back(TraceRollout(workload));
  }
  if (workload.evaluation.per_device > 0) passes.push_back(MakeEvaluation(workload));
  return passes;
}

}  // namespace tunefit
