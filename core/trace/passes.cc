#include "core/trace/passes.h"

#include <utility>

#include "core/trace/task_step.h"

namespace tunefit {

Pass TraceEvaluationPass(const Workload& workload) {
  Pass pass;
  pass.moment = Moment::kEvaluate;
  pass.step = TraceEvaluation(workload);
  Batch batch = workload.batch;
  batch.per_device = workload.evaluation.per_device;
  pass.sequences = static_cast<double>(SequencesOf(workload.task, batch));
  const Parallel& parallel = workload.parallel;
  const std::int64_t tokens = LayerTokens(workload, batch.sequence_length);
  pass.length = static_cast<double>(parallel.PartOfSequence(tokens));
  pass.data = static_cast<double>(parallel.PartOfSequence(batch.sequence_length));
  pass.kept = static_cast<double>(parallel.PartOfSequence(KeptTokens(workload, tokens)));
  return pass;
}

std::vector<Pass> TracePasses(const Workload& workload) {
  std::vector<Pass> passes;
  if (HasRollout(workload.task)) {
    if (!workload.rollout.has_engine()) {
      passes.push_back(TraceRollout(workload));
    } else if (GathersForEngine(workload)) {
      passes.push_back(TraceHandover(workload));
    }
  }
  if (workload.evaluation.per_device > 0) passes.push_back(TraceEvaluationPass(workload));
  return passes;
}

}  // namespace tunefit
