// What belongs to a task: which fields make sense for it, and what the core gets of them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"
#include "core/model/kv_cache.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

/// Labels of a classifier whose config names none (transformers' configuration_utils.py, num_labels).
constexpr std::int64_t kUsualLabels = 2;

Task ReadTask(Word word) {
  for (std::size_t i = 0; i < words::kTask.size(); ++i) {
    if (words::kTask[i] == word) return static_cast<Task>(i);
  }
  return Task::kSft;
}

Reference ReadReference(Word word) {
  if (word == "copy") return Reference::kCopy;
  if (word == "adapter") return Reference::kAdapterOff;
  return word == "precomputed" ? Reference::kPrecomputed : Reference::kNone;
}

class TaskChecker {
 public:
  explicit TaskChecker(RequestReading& reading)
      : reading_(reading), request_(reading.completed), task_(TaskOf(reading.completed)) {}

  void CheckFields();
  void CheckReference();
  void CheckRollout();
  void CheckEvaluation();

 private:
  void NotForTask(const char* field, std::string_view value, std::string_view why) {
    AddIssue(reading_.issues, "not_for_task", field,
             Join({field, " \"", value, "\" makes no sense for the task ", *request_.task, ": ", why, "."}),
             {{"value", value}, {"task", *request_.task}});
  }
  void NotModelled(const char* field, std::string_view value, std::string_view why) {
    AddIssue(reading_.issues, "not_modelled", field, Join({field, " \"", value, "\" is not modelled yet ", why, "."}),
             {{"value", value}});
  }
  void CheckLengths();
  void CheckGenerations();

  RequestReading& reading_;
  const RequestFields& request_;
  Task task_;
};

void TaskChecker::CheckFields() {
  if (task_ == Task::kSft || task_ == Task::kPretrain) return;
  const auto& stacks = words::modelled::kTrlStacks;
  if (std::find(stacks.begin(), stacks.end(), *request_.stack) == stacks.end()) {
    NotModelled("task", *request_.task, "with this stack's own trainer, only as TRL runs it");
  }
  if (*request_.loss != "standard") NotModelled("loss", *request_.loss, "for this task");
  if (*request_.batch.packing == "packed") NotForTask("batch.packing", "packed", "sequences are compared one by one");
}

void TaskChecker::CheckReference() {
  if (!request_.reference) return;
  const Word reference = *request_.reference;
  if (reference == "none") return;
  const bool compares = task_ == Task::kDpo || task_ == Task::kKto || HasRollout(task_);
  if (!compares) {
    NotForTask("reference", reference, "nothing is compared with a reference");
  } else if (reference == "precomputed" && HasRollout(task_)) {
    NotForTask("reference", reference, "completions are written during training");
  } else if (reference == "adapter" && !AddsToFrozenModel(ReadMethodKind(*request_.method.kind))) {
    NotForTask("reference", reference, "there is no adapter to switch off");
  }
}

void TaskChecker::CheckLengths() {
  const RolloutFields& rollout = request_.rollout;
  const std::int64_t expected = *rollout.prompt_length + *rollout.completion_length;
  if (*request_.batch.sequence_length == expected) return;
  const std::string value = std::to_string(*request_.batch.sequence_length);
  const std::string sum = std::to_string(expected);
  AddIssue(reading_.issues, "lengths_differ", "batch.sequence_length",
           Join({"A sequence is a prompt and a completion, ", sum, " tokens, not ", value, "."}),
           {{"value", value}, {"expected", sum}});
}

void TaskChecker::CheckGenerations() {
  if (task_ != Task::kGrpo) return;
  const std::int64_t generations = *request_.rollout.generations;
  if (generations < 2) {
    NotForTask("rollout.generations", std::to_string(generations), "a completion is judged by its group");
    return;
  }
  const BatchFields& batch = request_.batch;
  const std::int64_t completions = *batch.per_device * *batch.gradient_accumulation * *request_.parallel.gpus;
  if (completions % generations == 0) return;
  const std::string value = std::to_string(generations);
  const std::string total = std::to_string(completions);
  AddIssue(reading_.issues, "generations_do_not_divide", "rollout.generations",
           Join({"A step's ", total, " completions (per_device x gradient_accumulation x gpus) are no whole groups of ",
                 value, ", which TRL refuses."}),
           {{"value", value}, {"total", total}});
}

void TaskChecker::CheckRollout() {
  const RolloutFields& rollout = request_.rollout;
  if (!HasRollout(task_)) {
    if (rollout.given) NotForTask("rollout", "{}", "nothing is generated");
    return;
  }
  CheckLengths();
  CheckGenerations();
  if (task_ == Task::kPpo && *rollout.engine == "vllm") NotModelled("rollout.engine", "vllm", "for ppo");
  if (*rollout.engine != "vllm" && !rollout.colocated.value_or(true)) {
    NotForTask("rollout.colocated", "false", "transformers generates in the training process");
  }
}

void TaskChecker::CheckEvaluation() {
  const EvaluationFields& evaluation = request_.evaluation;
  if (!evaluation.keeps_logits.value_or(false) || evaluation.examples || evaluation.accumulation_steps) return;
  AddIssue(reading_.issues, "missing_field", "evaluation.examples",
           "evaluation.examples is missing: how many logits are kept depends on it, or on accumulation_steps.", {});
}

/// What a colocated engine takes: its share of the card; where no card is named, what it cannot do without: its own
/// weights in 16 bits and the cache of one group of completions.
double EngineBytes(const RequestReading& reading) {
  const RolloutFields& fields = reading.completed.rollout;
  if (*fields.engine != "vllm" || !fields.colocated.value_or(true)) return 0;
  if (reading.gpu != nullptr) return reading.gpu->usable_bytes * *fields.memory_share;
  const Architecture& architecture = reading.workload.architecture;
  const std::int64_t tokens = *fields.prompt_length + *fields.completion_length;
  const double cache = static_cast<double>(*fields.generations) * KvCacheBytes(architecture, Dtype::kBf16, tokens);
  return ServedBytes(architecture) + cache;
}

constexpr double kShareOfServer = 0.9;

/// What an engine apart takes of cards like those that train (trl/scripts/vllm_serve.py, gpu_memory_utilization).
double ServerBytes(const RequestReading& reading) {
  const RolloutFields& fields = reading.completed.rollout;
  if (!fields.engine_gpus || reading.gpu == nullptr) return 0;
  return kShareOfServer * reading.gpu->usable_bytes * static_cast<double>(*fields.engine_gpus);
}

/// vLLM starts where the model and one completion have room. Time is told as if it wrote one after the other there.
void CheckEngine(RequestReading& reading) {
  const Rollout& rollout = reading.workload.rollout;
  if (reading.gpu == nullptr || !rollout.has_engine()) return;
  const Architecture& architecture = reading.workload.architecture;
  const std::int64_t tokens = rollout.prompt_length + rollout.completion_length;
  const double needed = ServedBytes(architecture) + KvCacheBytes(architecture, Dtype::kBf16, tokens);
  if (needed <= rollout.held_bytes()) return;
  const double cards = needed / reading.gpu->usable_bytes;
  const char* field = "rollout.engine_gpus";
  std::string value = std::to_string(rollout.engine_gpus);
  std::string least = NumberText(std::ceil(cards / kShareOfServer));
  if (rollout.colocated) {
    field = "rollout.memory_share";
    value = NumberText(*reading.completed.rollout.memory_share);
    least = NumberText(std::ceil(100 * cards) / 100);
  }
  AddIssue(reading.issues, "engine_without_room", field,
           Join({"vLLM needs ", least, " of these cards for the model and one completion, and has ", value, "."}),
           {{"value", value}, {"least", least}}, Severity::kWarning);
}

/// Batches whose logits are on the card together: all, or as many as are moved to the host at a time.
std::int64_t KeptBatches(const EvaluationFields& fields) {
  if (!fields.keeps_logits.value_or(false)) return 0;
  std::int64_t batches = fields.accumulation_steps.value_or(std::numeric_limits<std::int64_t>::max());
  if (fields.examples) batches = std::min(batches, (*fields.examples + *fields.per_device - 1) / *fields.per_device);
  return batches;
}

}  // namespace

Task TaskOf(const RequestFields& request) { return ReadTask(request.task.value_or("sft")); }

void CheckTask(RequestReading& reading) {
  TaskChecker checker(reading);
  checker.CheckFields();
  checker.CheckReference();
  checker.CheckRollout();
  checker.CheckEvaluation();
}

void FillTask(RequestReading& reading) {
  const RequestFields& request = reading.completed;
  Workload& workload = reading.workload;
  workload.task = TaskOf(request);
  if (request.reference) workload.reference = ReadReference(*request.reference);
  if (IsClassification(workload.task)) {
    workload.architecture.labels = workload.task == Task::kReward ? 1 : kUsualLabels;
    workload.architecture.tied_head = false;
  }
  if (HasError(reading.issues)) return;
  if (request.evaluation.given) {
    workload.evaluation = {.per_device = *request.evaluation.per_device,
                           .kept_batches = KeptBatches(request.evaluation),
                           .examples = request.evaluation.examples.value_or(0)};
  }
  if (!HasRollout(workload.task)) return;
  const RolloutFields& rollout = request.rollout;
  workload.rollout = {
      .generations = *rollout.generations,
      .prompt_length = *rollout.prompt_length,
      .completion_length = *rollout.completion_length,
      .engine = *rollout.engine == "vllm" ? RolloutEngine::kVllm : RolloutEngine::kTransformers,
      .colocated = rollout.colocated.value_or(true),
      .engine_gpus = rollout.engine_gpus.value_or(1),
      .iterations = *rollout.iterations,
      .engine_bytes = EngineBytes(reading),
      .server_bytes = ServerBytes(reading),
  };
  CheckEngine(reading);
}

}  // namespace tunefit
