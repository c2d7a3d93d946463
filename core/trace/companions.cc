#include "core/trace/companions.h"

#include <utility>

#include "core/trace/loss.h"

namespace tunefit {
namespace {

/// The same model, frozen: as loaded, without the task's adapters.
Workload Frozen(const Workload& workload) {
  Workload frozen = workload;
  frozen.method = {};
  frozen.method.kind = MethodKind::kFrozen;
  frozen.checkpointing = Checkpointing::kNone;
  return frozen;
}

Workload WithScore(Workload workload) {
  workload.architecture.labels = 1;
  workload.architecture.tied_head = false;
  return workload;
}

TracedModel MakeFrozen(Tracer& tracer, const Workload& workload, Term term, Unrolling unrolling) {
  tracer.weight_term = term;
  // from_pretrained leaves requires_grad on, and nobody takes it back (TRL's create_model_from_path).
  tracer.untrained_leaves = true;
  TracedModel model = MakeModel(tracer, workload, unrolling);
  tracer.weight_term.reset();
  tracer.untrained_leaves = false;
  return model;
}

}  // namespace

void MakeCompanions(Tracer& tracer, const Workload& workload, Unrolling unrolling, Companions& companions) {
  if (workload.reference == Reference::kCopy) {
    companions.reference_workload = Frozen(workload);
    companions.reference = MakeFrozen(tracer, companions.reference_workload, Term::kReferenceModel, unrolling);
  }
  if (workload.task == Task::kPpo) {
    companions.reward_workload = WithScore(Frozen(workload));
    companions.reward = MakeFrozen(tracer, companions.reward_workload, Term::kRewardModel, unrolling);
    // TRL wraps the policy alone in an adapter, and a quantized model cannot be trained in full.
    companions.value_workload = WithScore(workload);
    companions.value_workload.method = {};
    companions.value_workload.quantization = {};
    tracer.weight_term = Term::kValueModel;
    companions.value = MakeModel(tracer, companions.value_workload, unrolling);
    tracer.weight_term.reset();
  }
  if (HasRollout(workload.task) && workload.rollout.engine_bytes > 0) {
    tracer.scope = {"engine", Term::kRolloutEngine, false};
    tracer.Weight({workload.rollout.engine_bytes, 1}, Dtype::kUint8, Term::kRolloutEngine, "share", false, 1);
  }
}

Value ReturnedLogits(Tracer& tracer, const TracedModel& model, const Value& hidden) {
  const Workload& workload = *model.workload;
  const Architecture& architecture = workload.architecture;
  tracer.scope = {model.head.path, Term::kLogitsAndLoss, false};
  Value rows = tracer.View(hidden);
  if (workload.task == Task::kGrpo) {
    // logits_to_keep: the last tokens' states are copied for the head, as a slice within a sequence is not contiguous.
    rows = tracer.Narrow(rows, {static_cast<double>(architecture.hidden_size), Axis::kKept});
    rows = tracer.Copy(std::move(rows), "states of the completion");
  }
  Value logits = TraceLogits(tracer, workload, model.head, rows);
  rows.Drop();
  return ReturnedLogits(tracer, workload, std::move(logits));
}

}  // namespace tunefit
