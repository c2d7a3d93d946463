#include "core/trace/companions.h"

#include <initializer_list>
#include <utility>

#include "core/trace/loss.h"

namespace tunefit {
namespace {

/// The same model, frozen: as loaded, without the task's adapters. Under DeepSpeed's stages 0 to 2 and DDP it is whole
/// on every rank, else in shards of its own (trl/models/utils.py, prepare_deepspeed and prepare_fsdp). FSDP alone casts
/// the parameters of such a model; accelerate, which would put its forward pass under autocast and its outputs in fp32,
/// never sees it.
Workload Frozen(const Workload& workload) {
  Workload frozen = workload;
  frozen.method = {};
  frozen.method.kind = MethodKind::kFrozen;
  frozen.checkpointing = Checkpointing::kNone;
  const Strategy strategy = workload.parallel.strategy;
  const bool fsdp = strategy == Strategy::kFsdp || strategy == Strategy::kFsdp2;
  if (fsdp && GathersParameters(workload.parallel)) frozen.precision.autocast = false;
  return frozen;
}

Workload WithScore(Workload workload) {
  workload.architecture.labels = 1;
  workload.architecture.tied_head = false;
  return workload;
}

void Make(Tracer& tracer, Companion& companion, Term term, Unrolling unrolling) {
  tracer.weight_term = term;
  // from_pretrained leaves requires_grad on, and nobody takes it back (TRL's create_model_from_path).
  tracer.untrained_leaves = companion.workload.method.kind == MethodKind::kFrozen;
  companion.model = MakeWrapped(tracer, companion.workload, unrolling, companion.units);
  tracer.weight_term.reset();
  tracer.untrained_leaves = false;
}

}  // namespace

void MakeCompanions(Tracer& tracer, const Workload& workload, Unrolling unrolling, Companions& companions) {
  ShardedUnits* const trained = tracer.units();
  if (workload.reference == Reference::kCopy) {
    companions.reference.workload = Frozen(workload);
    Make(tracer, companions.reference, Term::kReferenceModel, unrolling);
  }
  if (workload.task == Task::kPpo) {
    companions.reward.workload = WithScore(Frozen(workload));
    Make(tracer, companions.reward, Term::kRewardModel, unrolling);
    // TRL wraps the policy alone in an adapter, and a quantized model cannot be trained in full.
    companions.value.workload = WithScore(workload);
    companions.value.workload.method = {};
    companions.value.workload.quantization = {};
    Make(tracer, companions.value, Term::kValueModel, unrolling);
  }
  if (HasRollout(workload.task) && workload.rollout.engine_bytes > 0) {
    tracer.ShardWith(nullptr);  // every rank has an engine of its own
    tracer.scope = {"engine", Term::kRolloutEngine, false};
    tracer.Weight({workload.rollout.engine_bytes, 1}, Dtype::kUint8, Term::kRolloutEngine, "share", false, 1);
  }
  tracer.ShardWith(trained);
}

std::vector<StorageId> Companions::Shards(const ShardedUnits* trained) const {
  std::vector<StorageId> shards;
  const std::initializer_list<const ShardedUnits*> all = {trained, reference.units.get(), reward.units.get(),
                                                          value.units.get()};
  for (const ShardedUnits* units : all) {
    if (units != nullptr) shards.insert(shards.end(), units->shards().begin(), units->shards().end());
  }
  return shards;
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
  logits = ReturnedLogits(tracer, workload, std::move(logits));
  return LeaveModel(tracer, model, logits);
}

}  // namespace tunefit
