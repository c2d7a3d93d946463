#include <algorithm>
#include <memory>
#include <vector>

#include "core/trace/loss.h"
#include "core/trace/plain_pass.h"
#include "core/trace/task_step.h"

namespace tunefit {
namespace {

/// Logits of so many evaluation batches as the model returns them, which a metric reads when all are there.
Value EvaluatedLogits(Tracer& tracer, const Workload& workload, std::int64_t batches) {
  if (batches < 1) return {};
  const Habits& habits = workload.habits;
  const bool upcast =
      habits.logits_upcast == LogitsUpcast::kModel || (workload.precision.autocast && habits.outputs_upcast);
  const Architecture& architecture = workload.architecture;
  const bool classifies = architecture.labels > 0;
  const auto width = static_cast<double>(batches * (classifies ? architecture.labels : architecture.vocab_size));
  tracer.scope = {"predictions", Term::kLogitsAndLoss, false};
  return tracer.Empty({width, classifies ? Axis::kSequences : Axis::kTokens},
                      upcast ? Dtype::kFp32 : DtypeAtWork(workload), "logits of the evaluation");
}

std::vector<StorageId> RunPlainly(Tracer& tracer, const Workload& workload) {
  std::unique_ptr<ShardedUnits> units;
  const TracedModel model = MakeWrapped(tracer, workload, Unrolling::kFolded, units);
  PlainPass pass(tracer, workload, model);
  const Value loss = pass.Loss(Moment::kEvaluate);
  return units ? units->shards() : std::vector<StorageId>();
}

/// transformers' EvalLoopContainer joins every batch to those before: the old, the new and the joined exist together.
Step JoinLogits(Tracer& tracer, const Workload& workload) {
  const std::int64_t batches = workload.evaluation.kept_batches;
  tracer.BeginSection(Moment::kEvaluate, -1, 1, 1);
  const Value last = EvaluatedLogits(tracer, workload, std::min<std::int64_t>(batches, 1));
  const Value joined = EvaluatedLogits(tracer, workload, batches);
  Step step = tracer.Finish();
  step.chunk = LossChunks(workload);
  return step;
}

}  // namespace

Step TraceEvaluation(const Workload& workload) {
  Tracer tracer(AutocastOf(workload), false);
  tracer.SetGradients(false);
  const Value earlier = EvaluatedLogits(tracer, workload, workload.evaluation.kept_batches - 1);
  const bool plain = HasPlainLoss(workload);
  const std::vector<StorageId> shards = plain ? RunPlainly(tracer, workload) : RunTask(tracer, workload);
  Step step = JoinLogits(tracer, workload);
  AddLasting(step, workload, shards);
  return step;
}

}  // namespace tunefit
