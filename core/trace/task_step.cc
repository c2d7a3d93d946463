#include "core/trace/task_step.h"

#include <memory>
#include <utility>
#include <vector>

#include "core/trace/companions.h"
#include "core/trace/loss.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};
constexpr Size kOnePerSequence{1, Axis::kSequences};

/// Tokens that trl's entropy_from_logits works on at a time.
constexpr double kEntropyTokens = 128;

/// The parts of a step that the tasks share.
class TaskTrace {
 public:
  TaskTrace(Tracer& tracer, const Workload& workload, Unrolling unrolling)
      : tracer_(tracer),
        workload_(workload),
        policy_(MakeWrapped(tracer, workload, unrolling, units_)),
        vocabulary_(static_cast<double>(workload.architecture.vocab_size)) {
    MakeCompanions(tracer, workload, unrolling, companions_);
    tracer_.scope = {"inputs", Term::kInputs, false};
    ids_ = tracer_.Input(kOnePerToken, Dtype::kInt64, "input_ids");
    mask_ = tracer_.Input(kOnePerToken, Dtype::kInt64, "completion_mask");
  }

  Value Loss();
  void EndContext() {
    context_ = {};
    critic_context_ = {};
  }
  std::vector<StorageId> Shards() const { return companions_.Shards(units_.get()); }

 private:
  Value Dpo();
  Value Orpo();
  Value Kto();
  Value Grpo();
  Value Ppo();
  Value Classification();

  bool has_reference() const {
    return workload_.reference == Reference::kCopy || workload_.reference == Reference::kAdapterOff;
  }
  Value PolicyLogits();
  Value ReferenceLogits();
  Value LogitsWithoutGradients(const TracedModel& model, bool disables_adapters);
  /// log p of the labels, of all tokens but the last or of the completion's.
  Value LogProbabilities(const Value& logits);
  Value ReferenceLogProbabilities();
  void LogEntropy(const Value& logits);
  /// The loss out of numbers one a sequence or token: small beside logits.
  Value Reduce(const Value& log_probabilities);

  Tracer& tracer_;
  const Workload& workload_;
  std::unique_ptr<ShardedUnits> units_;
  TracedModel policy_;
  Companions companions_;
  LayerContext context_, critic_context_;  ///< recomputations read them in backward
  Value ids_, mask_;
  double vocabulary_;
};

Value TaskTrace::PolicyLogits() {
  const Value hidden = RunModel(tracer_, policy_, ids_, context_, Moment::kForward);
  tracer_.BeginSection(Moment::kLoss, -1, 1, 1);
  return ReturnedLogits(tracer_, policy_, hidden);
}

Value TaskTrace::LogitsWithoutGradients(const TracedModel& model, bool disables_adapters) {
  const WithoutGradients scope(tracer_, disables_adapters);
  const RunsModel run(tracer_, model);
  LayerContext context;
  const Value hidden = RunModel(tracer_, model, ids_, context, Moment::kReference);
  return ReturnedLogits(tracer_, model, hidden);
}

Value TaskTrace::ReferenceLogits() {
  if (workload_.reference == Reference::kAdapterOff) return LogitsWithoutGradients(policy_, true);
  return LogitsWithoutGradients(*companions_.reference.model, false);
}

Value TaskTrace::LogProbabilities(const Value& logits) {
  tracer_.scope = {"log_probabilities", Term::kLogitsAndLoss, false};
  if (workload_.habits.selective_log_softmax) {
    return tracer_.LogProbabilities(tracer_.Narrow(logits, tracer_.SizeOf(logits)), vocabulary_);
  }
  const Value all = tracer_.Softmax(tracer_.Narrow(logits, tracer_.SizeOf(logits)));
  return tracer_.Copy(tracer_.Narrow(all, {1, Axis::kKept}), "log-probabilities");
}

Value TaskTrace::ReferenceLogProbabilities() {
  const Value logits = ReferenceLogits();
  const WithoutGradients scope(tracer_);
  return LogProbabilities(logits);
}

/// Entropy for the log: the slice's rows are not contiguous and copied where the batch has more than one, then worked
/// on a block at a time.
void TaskTrace::LogEntropy(const Value& logits) {
  tracer_.scope = {"metrics", Term::kLogitsAndLoss, false};
  const Dtype dtype = tracer_.DtypeOf(logits);
  const Value flat = tracer_.Empty({vocabulary_, Axis::kKeptIfBatched}, dtype, "logits in rows");
  const Size block{vocabulary_ * kEntropyTokens, Axis::kOnce};
  const Value log_probabilities = tracer_.Empty(block, dtype, "log_softmax of a block");
  const Value probabilities = tracer_.Empty(block, dtype, "probabilities of a block");
  const Value products = tracer_.Empty(block, dtype, "products of a block");
}

Value TaskTrace::Reduce(const Value& log_probabilities) {
  tracer_.scope = {"loss", Term::kLogitsAndLoss, false};
  return tracer_.Mean(log_probabilities, {1, Axis::kOnce});
}

/// trl/trainer/dpo_trainer.py, _compute_loss: the policy's pass, then the reference's while the policy's logits are
/// held.
Value TaskTrace::Dpo() {
  Value logits = PolicyLogits();
  const Value log_probabilities = LogProbabilities(logits);
  if (!workload_.habits.preference_logs_logits) logits.Drop();
  Value reference_logits;
  if (has_reference()) {
    reference_logits = ReferenceLogits();
    const WithoutGradients scope(tracer_);
    const Value reference = LogProbabilities(reference_logits);
    if (!workload_.habits.preference_logs_logits) reference_logits.Drop();
  }
  tracer_.BeginSection(Moment::kLoss, -1, 1, 1);
  Value loss = Reduce(log_probabilities);
  if (workload_.habits.preference_logs_logits) LogEntropy(logits);
  return loss;
}

/// trl/experimental/orpo/orpo_trainer.py, concatenated_forward: cross entropy over the chosen half, copied contiguous,
/// beside the log-probabilities of both.
Value TaskTrace::Orpo() {
  const Value logits = PolicyLogits();
  Value likelihood;
  {
    const Size half = tracer_.SizeOf(logits) * 0.5;
    Value chosen = tracer_.Narrow(logits, half);
    chosen = tracer_.Copy(tracer_.Narrow(chosen, half), "chosen logits");
    const Value labels = tracer_.Empty(tracer_.SizeOf(ids_) * 0.5, Dtype::kInt64, "chosen labels");
    likelihood = tracer_.NegativeLogLikelihood(tracer_.Softmax(chosen), labels);
  }
  Value odds = Reduce(LogProbabilities(logits));
  return tracer_.Add(std::move(likelihood), std::move(odds));
}

/// trl/trainer/kto_trainer.py, _compute_loss: a batch of mismatched completions goes through the policy and the
/// reference for the KL estimate, before each one's own batch.
Value TaskTrace::Kto() {
  const auto kl_pass = [this](const Value& logits) {
    const WithoutGradients scope(tracer_);
    return LogProbabilities(logits);
  };
  const Value kl = kl_pass(LogitsWithoutGradients(policy_, false));
  Value logits = PolicyLogits();
  const Value log_probabilities = LogProbabilities(logits);
  if (!workload_.habits.preference_logs_logits) logits.Drop();
  Value reference_kl;
  Value reference_logits;
  if (has_reference()) {
    reference_kl = kl_pass(ReferenceLogits());
    reference_logits = ReferenceLogits();
    const WithoutGradients scope(tracer_);
    const Value reference = LogProbabilities(reference_logits);
    if (!workload_.habits.preference_logs_logits) reference_logits.Drop();
  }
  tracer_.BeginSection(Moment::kLoss, -1, 1, 1);
  Value loss = Reduce(log_probabilities);
  if (workload_.habits.preference_logs_logits) {
    LogEntropy(logits);
    // Mean logits of the desirable and the undesirable examples: each half is copied out.
    const Value halves = tracer_.Empty(tracer_.SizeOf(logits), tracer_.DtypeOf(logits), "logits by desirability");
  }
  return loss;
}

/// trl/trainer/grpo_trainer.py: the completions are scored by the reference, and by the policy as it generated them
/// where another engine did or more than one step trains on them, before the step; logits of the completion only,
/// divided by the temperature in place.
Value TaskTrace::Grpo() {
  Value old_log_probabilities;
  Value reference;
  if (workload_.rollout.has_engine() || workload_.rollout.iterations > 1) {
    const Value logits = LogitsWithoutGradients(policy_, false);
    const WithoutGradients scope(tracer_);
    old_log_probabilities = LogProbabilities(logits);
  }
  if (has_reference()) reference = ReferenceLogProbabilities();
  const Value logits = tracer_.ScaleThroughView(PolicyLogits());
  const Value log_probabilities = LogProbabilities(logits);
  LogEntropy(logits);
  return Reduce(log_probabilities);
}

/// trl/experimental/ppo/ppo_trainer.py, train: critic and policy in one forward pass, whose outputs, hidden states
/// included, the loop still holds in backward.
Value TaskTrace::Ppo() {
  const TracedModel& critic = *companions_.value.model;
  Value values;
  {
    const RunsModel run(tracer_, critic);
    const Value hidden = RunModel(tracer_, critic, ids_, critic_context_, Moment::kForward);
    tracer_.scope = {critic.head.path, Term::kLogitsAndLoss, false};
    values = LeaveModel(tracer_, critic, Forward(tracer_, critic.head, hidden));
  }
  const Value hidden = RunModel(tracer_, policy_, ids_, context_, Moment::kForward);
  tracer_.BeginSection(Moment::kLoss, -1, 1, 1);
  const Value logits = ReturnedLogits(tracer_, policy_, hidden);
  const Architecture& architecture = workload_.architecture;
  const bool upcast = workload_.precision.autocast && workload_.habits.outputs_upcast;
  if (upcast || workload_.checkpointing == Checkpointing::kNone) {
    // The outputs hold every layer's states, in fp32 as accelerate returns them; else as they are, which checkpoints
    // are.
    tracer_.scope = {"hidden_states", Term::kCheckpoints, false};
    const auto states = static_cast<double>((architecture.layers() + 1) * architecture.hidden_size);
    const Dtype dtype = upcast ? Dtype::kFp32 : tracer_.DtypeOf(hidden);
    tracer_.Hold(tracer_.Empty({states, Axis::kTokens}, dtype, "hidden states"));
  }
  tracer_.Hold(logits);
  const Value scaled = tracer_.ScaleThroughView(logits);
  tracer_.scope = {"log_probabilities", Term::kLogitsAndLoss, false};
  const Value response = tracer_.Narrow(scaled, {vocabulary_, Axis::kKept});
  Value loss = Reduce(tracer_.LogProbabilities(response, vocabulary_));
  Value value_loss = tracer_.Mean(values, {1, Axis::kOnce});
  return tracer_.Add(std::move(loss), std::move(value_loss));
}

/// transformers' ForSequenceClassification: the head on every token, one token's output of each sequence to the loss.
Value TaskTrace::Classification() {
  const Value hidden = RunModel(tracer_, policy_, ids_, context_, Moment::kForward);
  tracer_.BeginSection(Moment::kLoss, -1, 1, 1);
  tracer_.scope = {policy_.head.path, Term::kLogitsAndLoss, false};
  const auto labels = static_cast<double>(workload_.architecture.labels);
  Value logits = Forward(tracer_, policy_.head, hidden);
  logits = tracer_.Copy(tracer_.Narrow(logits, kOnePerSequence * labels), "pooled logits");
  tracer_.EndAutocast();
  if (workload_.precision.autocast) logits = tracer_.Cast(std::move(logits), Dtype::kFp32);
  logits = LeaveModel(tracer_, policy_, logits);
  const Value classes = tracer_.Empty(kOnePerSequence, Dtype::kInt64, "classes");
  return tracer_.NegativeLogLikelihood(tracer_.Softmax(std::move(logits)), classes);
}

Value TaskTrace::Loss() {
  switch (workload_.task) {
    case Task::kOrpo:
      return Orpo();
    case Task::kKto:
      return Kto();
    case Task::kGrpo:
      return Grpo();
    case Task::kPpo:
      return Ppo();
    case Task::kSequenceClassification:
    case Task::kReward:
      return Classification();
    case Task::kDpo:
    case Task::kSft:
    case Task::kPretrain:
      break;
  }
  return Dpo();
}

}  // namespace

Step TraceTaskStep(const Workload& workload, Unrolling unrolling) {
  Tracer tracer(AutocastOf(workload), AddsToGradients(workload));
  DecideGradients(tracer, workload);
  TaskTrace trace(tracer, workload, unrolling);
  Value loss = trace.Loss();
  std::vector<Value> buckets = ReductionBuckets(tracer, workload);
  tracer.Backward(std::move(loss));
  buckets.clear();
  trace.EndContext();
  Step step = tracer.Finish();
  AddLasting(step, workload, trace.Shards());
  return step;
}

std::vector<StorageId> RunTask(Tracer& tracer, const Workload& workload) {
  TaskTrace trace(tracer, workload, Unrolling::kFolded);
  const Value loss = trace.Loss();
  return trace.Shards();
}

}  // namespace tunefit
