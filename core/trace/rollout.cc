#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/model/kv_cache.h"
#include "core/trace/companions.h"
#include "core/trace/loss.h"
#include "core/trace/passes.h"

namespace tunefit {
namespace {

/// Sequences that TRL's ppo generates and scores at a time (PPOConfig.local_rollout_forward_batch_size).
constexpr std::int64_t kScoredAtOnce = 64;

class RolloutTrace {
 public:
  RolloutTrace(Tracer& tracer, const Workload& workload)
      : tracer_(tracer), workload_(workload), policy_(MakeWrapped(tracer, workload, Unrolling::kFolded, units_)) {
    MakeCompanions(tracer, workload, Unrolling::kFolded, companions_);
    tracer_.scope = {"inputs", Term::kInputs, false};
    ids_ = tracer_.Input({1, Axis::kTokens}, Dtype::kInt64, "input_ids");
  }

  void Grpo();
  /// `per_sequence`: completions of the whole rollout for each one that is scored at a time.
  void Ppo(double per_sequence);
  void Handover();
  /// The policy's pass up to the choice of one more token for each sequence.
  void NextToken();
  /// The passes of reference, value and reward models over whole sequences.
  void ScoreAll();
  std::vector<StorageId> Shards() const { return companions_.Shards(units_.get()); }

 private:
  /// All models that one wrapper holds: ppo's policy and critic are one to it.
  std::vector<ShardedUnits*> Wrapped() const;
  void BeginGeneration();
  void EndGeneration();
  /// Keys and values of all layers for so many tokens of every sequence.
  Value Cache(std::int64_t tokens);
  /// One layer's keys while a token is appended to them: the old and the new ones exist together.
  Value GrownKeys(std::int64_t tokens);
  void Score(const TracedModel& model);
  Dtype KeyDtype() const;
  Dtype ValueDtype() const { return tracer_.autocast().value_or(DtypeAtWork(workload_)); }

  Tracer& tracer_;
  const Workload& workload_;
  std::unique_ptr<ShardedUnits> units_;
  TracedModel policy_;
  Companions companions_;
  Value ids_;
};

/// Under autocast the rotary tables are in the residual stream's dtype, and rotated keys take the wider one.
Dtype RolloutTrace::KeyDtype() const { return Promote(ValueDtype(), DtypeAtWork(workload_)); }

std::vector<ShardedUnits*> RolloutTrace::Wrapped() const {
  std::vector<ShardedUnits*> wrapped;
  for (ShardedUnits* units : {units_.get(), companions_.value.units.get()}) {
    if (units != nullptr) wrapped.push_back(units);
  }
  return wrapped;
}

void RolloutTrace::BeginGeneration() {
  const std::vector<ShardedUnits*> wrapped = Wrapped();
  if (wrapped.empty()) return;
  tracer_.BeginSection(Moment::kRollout, -1, 1, 1);
  for (ShardedUnits* units : wrapped) units->BeginGeneration();
}

void RolloutTrace::EndGeneration() {
  for (ShardedUnits* units : Wrapped()) units->EndGeneration();
}

Value RolloutTrace::Cache(std::int64_t tokens) {
  tracer_.scope = {"past_key_values", Term::kKvCache, false};
  const double keys = KvCacheBytes(workload_.architecture, KeyDtype(), tokens) / 2;
  const double values = KvCacheBytes(workload_.architecture, ValueDtype(), tokens) / 2;
  return tracer_.Empty({keys + values, Axis::kSequences}, Dtype::kUint8, "keys and values");
}

Value RolloutTrace::GrownKeys(std::int64_t tokens) {
  const auto layers = static_cast<double>(workload_.architecture.layers());
  const double keys = KvCacheBytes(workload_.architecture, KeyDtype(), tokens) / 2 / layers;
  return tracer_.Empty({keys, Axis::kSequences}, Dtype::kUint8, "keys of a layer before the last token");
}

/// transformers/generation/utils.py, _sample: the prompts in one pass, then token after token; the last token's logits
/// in fp32, the processed scores and the probabilities they are drawn from.
void RolloutTrace::Grpo() {
  const auto vocabulary = static_cast<double>(workload_.architecture.vocab_size);
  const Size last{vocabulary, Axis::kSequences};
  BeginGeneration();
  {
    const Value prompt_cache = Cache(workload_.rollout.prompt_length);
    LayerContext context;
    const Value hidden = RunModel(tracer_, policy_, ids_, context, Moment::kRollout);
    const Value out = LeaveModel(tracer_, policy_, hidden);
  }
  tracer_.EndAutocast();
  tracer_.BeginSection(Moment::kRollout, -1, 1, 1);
  const Value cache = Cache(workload_.batch.sequence_length);
  const Value keys = GrownKeys(workload_.batch.sequence_length);
  if (units_) units_->RunThrough();
  tracer_.scope = {"generate", Term::kLogitsAndLoss, false};
  const Value logits = tracer_.Empty(last, ValueDtype(), "logits of the last token");
  const Value upcast = tracer_.Empty(last, Dtype::kFp32, "logits in fp32");
  const Value scores = tracer_.Empty(last, Dtype::kFp32, "scores");
  const Value probabilities = tracer_.Empty(last, Dtype::kFp32, "probabilities");
  if (units_) units_->LeaveRoot();
  EndGeneration();
}

void RolloutTrace::Handover() {
  BeginGeneration();
  EndGeneration();
}

void RolloutTrace::NextToken() {
  const Architecture& architecture = workload_.architecture;
  LayerContext context;
  const Value hidden = RunModel(tracer_, policy_, ids_, context, Moment::kRollout);
  tracer_.scope = {policy_.head.path, Term::kLogitsAndLoss, false};
  const Size last{static_cast<double>(architecture.hidden_size), Axis::kSequences};
  const Value states = tracer_.Copy(tracer_.Narrow(hidden, last), "states of the last token");
  Value logits = TraceLogits(tracer_, workload_, policy_.head, states);
  logits = LeaveModel(tracer_, policy_, ReturnedLogits(tracer_, workload_, std::move(logits)));
  const Value probabilities = tracer_.Softmax(tracer_.Cast(std::move(logits), Dtype::kFp32));
}

/// trl/experimental/ppo/ppo_trainer.py, forward and get_reward: with every layer's states, outside autocast.
void RolloutTrace::Score(const TracedModel& model) {
  const Architecture& architecture = model.workload->architecture;
  const RunsModel run(tracer_, model);
  LayerContext context;
  const Value hidden = RunModel(tracer_, model, ids_, context, Moment::kRollout);
  tracer_.scope = {"hidden_states", Term::kWorkspace, false};
  const auto states = static_cast<double>((architecture.layers() + 1) * architecture.hidden_size);
  const Value all = tracer_.Empty({states, Axis::kTokens}, tracer_.DtypeOf(hidden), "hidden states");
  tracer_.scope = {model.head.path, Term::kLogitsAndLoss, false};
  if (architecture.labels > 0) {
    const Value scores = LeaveModel(tracer_, model, Forward(tracer_, model.head, hidden));
    return;
  }
  const Value logits = LeaveModel(tracer_, model, TraceLogits(tracer_, *model.workload, model.head, hidden));
  const auto vocabulary = static_cast<double>(architecture.vocab_size);
  const Value response = tracer_.Narrow(logits, {vocabulary, Axis::kKept});
  const Value log_probabilities = tracer_.LogProbabilities(response, vocabulary);
}

/// The scores of all tokens are a list of steps, stacked, and then padded into one more tensor of that size.
void RolloutTrace::Ppo(double per_sequence) {
  const Size scores{static_cast<double>(workload_.architecture.vocab_size) * per_sequence, Axis::kKept};
  tracer_.SetAutocast(std::nullopt);
  BeginGeneration();
  tracer_.BeginSection(Moment::kRollout, -1, 1, 1);
  Value stacked;
  {
    const Value cache = Cache(workload_.batch.sequence_length);
    tracer_.scope = {"generate", Term::kLogitsAndLoss, false};
    const Value steps = tracer_.Empty(scores, Dtype::kFp32, "scores of every step");
    stacked = tracer_.Empty(scores, Dtype::kFp32, "stacked scores");
  }
  tracer_.scope = {"generate", Term::kLogitsAndLoss, false};
  const Value padded = tracer_.Empty(scores, Dtype::kFp32, "padded scores");
  stacked.Drop();
  EndGeneration();
  ScoreAll();
}

void RolloutTrace::ScoreAll() {
  if (workload_.reference == Reference::kCopy) Score(*companions_.reference.model);
  if (workload_.reference == Reference::kAdapterOff) {
    const WithoutGradients scope(tracer_, true);
    Score(policy_);
  }
  Score(*companions_.value.model);
  Score(*companions_.reward.model);
}

}  // namespace

bool GathersForEngine(const Workload& workload) {
  return workload.parallel.strategy == Strategy::kZero3 && AdaptsModules(workload.method.kind);
}

Pass TraceHandover(const Workload& workload) {
  Pass handover;
  handover.sequences = 1;
  handover.length = 1;
  handover.kept = 1;
  Tracer tracer(AutocastOf(workload), false);
  RolloutTrace trace(tracer, workload);
  trace.Handover();
  handover.step = tracer.Finish();
  AddLasting(handover.step, workload, trace.Shards());
  return handover;
}

std::int64_t CompletionsAtOnce(const Workload& workload) {
  const std::int64_t completions = workload.batch.per_device * workload.batch.gradient_accumulation;
  return workload.task == Task::kPpo ? std::min(completions, kScoredAtOnce) : completions;
}

Step TraceNextToken(const Workload& workload) {
  Tracer tracer(workload.task == Task::kPpo ? std::nullopt : AutocastOf(workload), false);
  RolloutTrace trace(tracer, workload);
  const WithoutGradients scope(tracer);
  trace.NextToken();
  return tracer.Finish();
}

Step TraceScores(const Workload& workload) {
  Tracer tracer(std::nullopt, false);
  RolloutTrace trace(tracer, workload);
  const WithoutGradients scope(tracer);
  trace.ScoreAll();
  return tracer.Finish();
}

Pass TraceRollout(const Workload& workload) {
  const Batch& batch = workload.batch;
  const std::int64_t completions = batch.per_device * batch.gradient_accumulation;
  const bool ppo = workload.task == Task::kPpo;
  const std::int64_t at_once = CompletionsAtOnce(workload);
  const std::int64_t prompt = workload.rollout.prompt_length;
  Pass rollout;
  rollout.sequences = static_cast<double>(at_once);
  rollout.length = static_cast<double>(ppo ? batch.sequence_length : prompt);
  rollout.kept = static_cast<double>(ppo ? batch.sequence_length - prompt : batch.sequence_length);

  Tracer tracer(AutocastOf(workload), false);
  RolloutTrace trace(tracer, workload);
  {
    const WithoutGradients scope(tracer);
    if (ppo) {
      trace.Ppo(static_cast<double>(completions) / static_cast<double>(at_once));
    } else {
      trace.Grpo();
    }
  }
  rollout.step = tracer.Finish();
  AddLasting(rollout.step, workload, trace.Shards());
  return rollout;
}

}  // namespace tunefit
