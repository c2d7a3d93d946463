#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "core/codec/json_writer.h"
#include "core/codec/peft_modules.h"
#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"
#include "core/trace/quantized.h"

namespace tunefit {
namespace {

/// Of PEFT's examples; its config wants the number to be said.
constexpr std::int64_t kUsualVirtualTokens = 20;

std::string JsonText(Word word) {
  std::string text;
  AppendJsonText(text, word);
  return text;
}
std::string JsonText(bool flag) { return flag ? "true" : "false"; }
std::string JsonText(std::int64_t count) { return std::to_string(count); }
std::string JsonText(double number) { return NumberText(number); }
std::string JsonText(const Targets& targets) {
  std::string text;
  AppendTargets(text, targets);
  return text;
}
std::string JsonText(const std::vector<Word>& words) {
  std::string text;
  AppendWords(text, words);
  return text;
}

class Completer {
 public:
  Completer(RequestReading& reading, const StackVersion& stack)
      : request_(reading.completed),
        stack_(stack.fields),
        architecture_(reading.workload.architecture),
        saved_as_loaded_(stack.habits.saved_modules_as_loaded),
        casts_in_step_(stack.habits.master_gradients == MasterGradients::kCastInStep),
        assumptions_(reading.assumptions) {}

  /// The value given, else the stack's, else the core's.
  template <typename T>
  void Take(Field<T>& value, const Field<T>& of_stack, std::type_identity_t<T> of_core, const char* field) {
    if (value) return;
    value = of_stack ? *of_stack : std::move(of_core);
    Assume(field, JsonText(*value), of_stack ? "stack_default" : "core_default");
  }
  template <typename T>
  void Take(Field<T>& value, std::type_identity_t<T> of_core, const char* field) {
    Take(value, Field<T>(), std::move(of_core), field);
  }
  void Assume(const char* field, std::string value, const char* reason) {
    assumptions_.push_back({.field = field, .value = std::move(value), .reason = reason});
  }

  void CompleteMethod(const StackVersion& stack, const Architecture& architecture);
  void CompleteLengths(Task task);
  void TakeIa3Modules(const Architecture& architecture);
  void TakeTargets(const StackVersion& stack, const Architecture& architecture);
  void TakeStoredQuantization(const Quantization& stored);
  void CompleteQuantization(const HfConfig& config);
  void CompletePrecision();
  void CompleteTask(const StackVersion& stack);
  void CompleteLength();
  void CompleteTarget();
  void CompleteSavedModules();
  void CompleteEvaluation();
  void CompleteTraining();
  void CompleteCheckpointing();
  void CompleteParallel();
  void CompleteZero();
  void CompleteDataset();

 private:
  RequestFields& request_;
  const RequestFields& stack_;
  const Architecture& architecture_;
  const bool saved_as_loaded_;
  const bool casts_in_step_;  ///< gradients, so that the strategies called ZeRO are DeepSpeed's stages
  Assumptions& assumptions_;
};

/// The stack's targets for this model type; every linear module where the model has none of them.
void Completer::TakeTargets(const StackVersion& stack, const Architecture& architecture) {
  auto found = stack.target_modules.find(architecture.model_type);
  if (found == stack.target_modules.end()) found = stack.target_modules.find("*");
  const std::vector<AdaptableModule> known = AdaptableModules(architecture);
  const auto has_any = [&](const Targets& targets) {
    return targets.all_linear || std::find_first_of(targets.modules.begin(), targets.modules.end(), known.begin(),
                                                    known.end(), Selects) != targets.modules.end();
  };
  const bool from_stack = found != stack.target_modules.end() && (known.empty() || has_any(found->second));
  Targets& targets = request_.method.target_modules.emplace();
  targets.all_linear = true;
  if (from_stack) targets = found->second;
  Assume("method.target_modules", JsonText(targets), from_stack ? "stack_default" : "core_default");
}

/// PEFT's own modules for this model type; a type that it does not know has none.
void Completer::TakeIa3Modules(const Architecture& architecture) {
  const Ia3Modules* known = FindIa3Modules(architecture.model_type);
  if (known == nullptr) return;
  MethodFields& method = request_.method;
  if (!method.target_modules) {
    Targets& targets = method.target_modules.emplace();
    targets.modules.assign(known->targets.begin(), known->targets.end());
    Assume("method.target_modules", JsonText(targets), "core_default");
  }
  if (method.feedforward_modules) return;
  std::vector<Word>& feedforward = method.feedforward_modules.emplace();
  const Targets& targets = *method.target_modules;
  if (targets.all_linear) feedforward.assign(known->feedforward.begin(), known->feedforward.end());
  // Of modules that are no targets PEFT's own list has no effect, and said it would be refused: those that are, as the
  // targets are written.
  const std::vector<AdaptableModule> modules = AdaptableModules(architecture);
  for (const Word target : targets.modules) {
    const bool is_one = std::any_of(modules.begin(), modules.end(), [&](const AdaptableModule& module) {
      const auto ends_it = [&module](Word name) { return IsFeedForward(name, module); };
      return Selects(target, module) && std::any_of(known->feedforward.begin(), known->feedforward.end(), ends_it);
    });
    if (is_one) feedforward.push_back(target);
  }
  Assume("method.feedforward_modules", JsonText(feedforward), "core_default");
}

void Completer::CompleteMethod(const StackVersion& stack, const Architecture& architecture) {
  MethodFields& method = request_.method;
  Take(method.kind, "full", "method.kind");
  if (*method.kind == "freeze") Take(method.trainable_layers, 2, "method.trainable_layers");
  if (*method.kind == "full" && architecture.vision) Take(method.vision_tower, "frozen", "method.vision_tower");
  if (*method.kind == "prompt_tuning") {
    Take(method.virtual_tokens, kUsualVirtualTokens, "method.virtual_tokens");
    Take(method.adapter_dtype, "fp32", "method.adapter_dtype");  // no option of PEFT's changes it
  }
  if (*method.kind == "ia3") {
    TakeIa3Modules(architecture);
    Take(method.modules_to_save, {}, "method.modules_to_save");
    Take(method.adapter_dtype, stack_.method.adapter_dtype, "fp32", "method.adapter_dtype");
  }
  if (*method.kind != "lora") return;
  Take(method.rank, stack_.method.rank, 16, "method.rank");
  if (!method.target_modules) TakeTargets(stack, architecture);
  Take(method.modules_to_save, {}, "method.modules_to_save");
  Take(method.dropout, stack_.method.dropout, 0, "method.dropout");
  Take(method.adapter_dtype, stack_.method.adapter_dtype, "fp32", "method.adapter_dtype");
  Take(method.dora, stack_.method.dora, false, "method.dora");
}

/// What the pasted config says of its checkpoint.
void Completer::TakeStoredQuantization(const Quantization& stored) {
  QuantizationFields& fields = request_.quantization;
  const auto take = [&](auto& field, auto value, const char* name) {
    field = value;
    Assume(name, JsonText(*field), "model_config");
  };
  take(fields.kind, Word(QuantizationWord(stored.kind)), "quantization.kind");
  if (stored.kind == QuantizationKind::kNf4 || stored.kind == QuantizationKind::kFp4) {
    take(fields.double_quant, stored.double_quant, "quantization.double_quant");
  }
  if (HasGroups(stored.kind)) {
    take(fields.bits, stored.bits, "quantization.bits");
    take(fields.group_size, stored.group_size, "quantization.group_size");
  }
}

void Completer::CompleteQuantization(const HfConfig& config) {
  QuantizationFields& fields = request_.quantization;
  if (!fields.given && config.quantization) {
    TakeStoredQuantization(*config.quantization);
  } else if (!fields.given) {
    Assume("quantization", "null", "core_default");
  }
  fields.given = true;
  if (!fields.kind) return;
  if (*fields.kind == "nf4" || *fields.kind == "fp4") {
    Take(fields.double_quant, stack_.quantization.double_quant, false, "quantization.double_quant");
  }
  const QuantizationKind kind = ReadQuantizationKind(*fields.kind);
  if (HasGroups(kind)) {
    Take(fields.bits, 4, "quantization.bits");
    Take(fields.group_size, UsualGroupSize(kind), "quantization.group_size");
  }
  Take(fields.prepare_kbit, stack_.quantization.prepare_kbit, "peft", "quantization.prepare_kbit");
}

void Completer::CompletePrecision() {
  PrecisionFields& fields = request_.precision;
  Take(fields.weights, stack_.precision.weights, "bf16", "precision.weights");
  Take(fields.compute, stack_.precision.compute, "bf16", "precision.compute");
  Take(fields.autocast, stack_.precision.autocast, true, "precision.autocast");
  Take(fields.master_weights, stack_.precision.master_weights, false, "precision.master_weights");
}

/// prepare_model_for_kbit_training switches checkpointing on (use_gradient_checkpointing=True), whatever the stack
/// says.
void Completer::CompleteCheckpointing() {
  CheckpointingFields& checkpointing = request_.checkpointing;
  if (checkpointing.every) return;
  if (!checkpointing.kind && request_.quantization.prepare_kbit.value_or("none") != "none") {
    checkpointing.kind = "full";
    Assume("gradient_checkpointing", JsonText(*checkpointing.kind), "prepare_kbit");
  }
  Take(checkpointing.kind, stack_.checkpointing.kind, "none", "gradient_checkpointing");
}

/// PEFT copies a module as it is, and from 0.12 on casts 16-bit copies to the adapter's dtype as it does adapters.
void Completer::CompleteSavedModules() {
  MethodFields& method = request_.method;
  if (!AdaptsModules(ReadMethodKind(*method.kind)) || method.modules_to_save->empty()) return;
  const QuantizationFields& quantization = request_.quantization;
  const bool upcast =
      quantization.prepare_kbit == Word("peft") && PreparesFloats(ReadQuantizationKind(quantization.kind.value_or("")));
  const Word copied = upcast ? Word("fp32") : *request_.precision.weights;
  Take(method.modules_to_save_dtype, saved_as_loaded_ ? copied : *method.adapter_dtype, "method.modules_to_save_dtype");
}

/// A sequence is a prompt and a completion: of the three lengths two say the third. Where less is said, TRL's:
/// GRPOConfig's 512 and 256 tokens, PPOConfig's 53.
void Completer::CompleteLengths(Task task) {
  constexpr std::int64_t kPrompt = 512;
  constexpr std::int64_t kGrpoCompletion = 256;
  constexpr std::int64_t kPpoCompletion = 53;
  RolloutFields& rollout = request_.rollout;
  Field<std::int64_t>& sequence = request_.batch.sequence_length;
  const auto rest = [&sequence](std::int64_t taken) { return std::max<std::int64_t>(1, *sequence - taken); };
  if (!rollout.completion_length) {
    std::int64_t usual = task == Task::kGrpo ? kGrpoCompletion : kPpoCompletion;
    if (sequence) usual = std::min(usual, std::max<std::int64_t>(1, *sequence / 2));
    const bool left = sequence && rollout.prompt_length;
    Take(rollout.completion_length, left ? rest(*rollout.prompt_length) : usual, "rollout.completion_length");
  }
  Take(rollout.prompt_length, sequence ? rest(*rollout.completion_length) : kPrompt, "rollout.prompt_length");
  if (sequence) return;
  sequence = *rollout.prompt_length + *rollout.completion_length;
  Assume("batch.sequence_length", JsonText(*sequence), "rollout");
}

/// What the policy is compared with and how its completions come about, as TRL's trainers have it.
void Completer::CompleteTask(const StackVersion& stack) {
  Take(request_.task, "sft", "task");
  const Task task = TaskOf(request_);
  const bool compares = task == Task::kDpo || task == Task::kKto || task == Task::kPpo ||
                        (task == Task::kGrpo && stack.habits.grpo_has_reference);
  if (compares) {
    const bool adapter = AddsToFrozenModel(ReadMethodKind(*request_.method.kind));
    Take(request_.reference, adapter ? "adapter" : "copy", "reference");
  } else if (task == Task::kGrpo) {
    Take(request_.reference, "none", "reference");
  }
  if (!HasRollout(task)) return;
  RolloutFields& rollout = request_.rollout;
  rollout.given = true;
  Take(rollout.generations, task == Task::kGrpo ? 8 : 1, "rollout.generations");
  Take(rollout.iterations, task == Task::kGrpo ? 1 : 4, "rollout.iterations");
  Take(rollout.engine, "transformers", "rollout.engine");
  if (*rollout.engine == "vllm") {
    Take(rollout.colocated, true, "rollout.colocated");
    if (*rollout.colocated) Take(rollout.memory_share, 0.3, "rollout.memory_share");
    if (!*rollout.colocated) Take(rollout.engine_gpus, 1, "rollout.engine_gpus");
  }
  CompleteLengths(task);
}

/// No length is taken that the model has no positions for (an encoder's 512).
void Completer::CompleteLength() {
  Field<std::int64_t>& length = request_.batch.sequence_length;
  if (length) return;
  Take(length, stack_.batch.sequence_length, 2048, "batch.sequence_length");
  const std::int64_t positions = architecture_.position_rows - architecture_.position_offset;
  if (architecture_.position_rows == 0 || *length <= positions) return;
  length = positions;
  assumptions_.pop_back();
  Assume("batch.sequence_length", JsonText(*length), "class_default");
}

/// An encoder-decoder's request has one length: the target is taken to be as long as the source.
void Completer::CompleteTarget() {
  if (!architecture_.encodes_source() || architecture_.hears()) return;
  const auto same = [](const Assumption& assumption) { return assumption.field == "batch.sequence_length"; };
  assumptions_.erase(std::remove_if(assumptions_.begin(), assumptions_.end(), same), assumptions_.end());
  Assume("batch.sequence_length", JsonText(*request_.batch.sequence_length), "source_and_target");
}

/// transformers' TrainingArguments: eight examples at a time, logits only where a metric is computed.
void Completer::CompleteEvaluation() {
  EvaluationFields& evaluation = request_.evaluation;
  if (!evaluation.given) return;
  Take(evaluation.per_device, 8, "evaluation.per_device");
  Take(evaluation.keeps_logits, false, "evaluation.keeps_logits");
}

void Completer::CompleteTraining() {
  Take(request_.optimizer, stack_.optimizer, "adamw_torch_fused", "optimizer");
  if (HasRank(ReadOptimizer(*request_.optimizer).optimizer)) Take(request_.optimizer_rank, 128, "optimizer_rank");
  Take(request_.optimizer_in_backward, stack_.optimizer_in_backward, false, "optimizer_in_backward");
  Take(request_.fused_kernels, stack_.fused_kernels, {}, "fused_kernels");
  BatchFields& batch = request_.batch;
  Take(batch.per_device, stack_.batch.per_device, 1, "batch.per_device");
  Take(batch.gradient_accumulation, stack_.batch.gradient_accumulation, 1, "batch.gradient_accumulation");
  CompleteLength();
  CompleteTarget();
  Take(batch.packing, stack_.batch.packing, "none", "batch.packing");
  Take(batch.length_varies, false, "batch.length_varies");
  CompleteCheckpointing();
  Take(request_.attention, stack_.attention, "sdpa", "attention");
  const Task task = TaskOf(request_);
  if (task == Task::kSft || task == Task::kPretrain) {
    Take(request_.loss, stack_.loss, "standard", "loss");
  } else {
    Take(request_.loss, "standard", "loss");  // the task's own
  }
  Take(request_.compile, stack_.compile, false, "compile");
}

/// DeepSpeed's own defaults (zero/config.py); stacks on transformers run the configurations that its documentation has,
/// whose "auto" of stage 3 goes by the hidden size (integrations/deepspeed.py, trainer_config_finalize).
void Completer::CompleteZero() {
  const Word strategy = *request_.parallel.strategy;
  const bool third = strategy == "zero3";
  if (!casts_in_step_ || (!third && strategy != "zero1" && strategy != "zero2")) return;
  ZeroFields& zero = request_.parallel.zero;
  zero.given = true;
  const bool own = *request_.stack == "deepspeed";
  const auto take = [&](auto& value, auto of_trainer, auto of_deepspeed, const char* field) {
    using Type = decltype(of_deepspeed);
    Take(value, own ? Field<Type>() : Field<Type>(of_trainer), of_deepspeed, field);
  };
  const ZeroSettings of_core;
  const std::int64_t hidden = architecture_.hidden_size;
  const std::int64_t bucket = third ? hidden * hidden : 200'000'000;
  take(zero.reduce_bucket_size, bucket, of_core.reduce_bucket_size, "parallel.zero.reduce_bucket_size");
  take(zero.overlap_comm, true, third, "parallel.zero.overlap_comm");
  Take(zero.contiguous_gradients, of_core.contiguous_gradients, "parallel.zero.contiguous_gradients");
  if (!third) return;
  take(zero.stage3_prefetch_bucket_size, hidden * hidden * 9 / 10, of_core.prefetch_bucket_size,
       "parallel.zero.stage3_prefetch_bucket_size");
  take(zero.stage3_param_persistence_threshold, 10 * hidden, of_core.param_persistence_threshold,
       "parallel.zero.stage3_param_persistence_threshold");
  Take(zero.stage3_max_live_parameters, of_core.max_live_parameters, "parallel.zero.stage3_max_live_parameters");
  Take(zero.stage3_max_reuse_distance, of_core.max_reuse_distance, "parallel.zero.stage3_max_reuse_distance");
  Take(zero.sub_group_size, of_core.sub_group_size, "parallel.zero.sub_group_size");
  Take(zero.zero_hpz_partition_size, of_core.hpz_partition_size, "parallel.zero.zero_hpz_partition_size");
}

void Completer::CompleteParallel() {
  ParallelFields& parallel = request_.parallel;
  if (!parallel.gpus) {
    parallel.gpus = 1;
    Assume("parallel.gpus", "1", "single_gpu");
  }
  if (*parallel.gpus > 1) Take(parallel.gpus_per_node, Parallel().gpus_per_node, "parallel.gpus_per_node");
  // More ranks than share a model hold copies of it, which is what data parallelism without a word about it is.
  const std::int64_t shared = parallel.tensor.value_or(1) * parallel.pipeline.value_or(1);
  const bool copies = *parallel.gpus > shared;
  Take(parallel.strategy, stack_.parallel.strategy, copies ? "ddp" : "none", "parallel.strategy");
  if (*parallel.strategy == "fsdp" || *parallel.strategy == "fsdp2") {
    Take(parallel.reshard_after_forward, stack_.parallel.reshard_after_forward, true, "parallel.reshard_after_forward");
    Take(parallel.reduce_dtype, stack_.parallel.reduce_dtype, "fp32", "parallel.reduce_dtype");
  }
  if (*parallel.strategy == "ddp") {
    Take(parallel.gradient_as_bucket_view, false, "parallel.gradient_as_bucket_view");
  }
  CompleteZero();
  const std::int64_t tensor = parallel.tensor.value_or(1);
  if (tensor == 1) return;
  const bool shares_experts = parallel.expert.value_or(1) > 1;
  const Field<bool> of_stack = architecture_.is_plain_decoder() ? stack_.parallel.sequence_parallel : Field<bool>();
  Take(parallel.sequence_parallel, of_stack, shares_experts, "parallel.sequence_parallel");
  if (!shares_experts) return;
  // Megatron-LM's default is the tensor size; without GPUs enough for both an expert's matrices are whole.
  const std::int64_t group = tensor * parallel.pipeline.value_or(1) * *parallel.expert;
  Take(parallel.expert_tensor, {}, *parallel.gpus % group == 0 ? tensor : 1, "parallel.expert_tensor");
}

/// One epoch; and of examples without a length, or tokens that are so many padded ones, that each fills a sequence, or
/// where completions are written a prompt.
void Completer::CompleteDataset() {
  DatasetFields& dataset = request_.dataset;
  if (!dataset.examples && !dataset.tokens) return;
  const bool written = HasRollout(TaskOf(request_));
  const bool padded = written || *request_.batch.packing == "none";
  const bool needs_length = dataset.examples ? !dataset.tokens : padded;
  if (needs_length) {
    const std::int64_t length = written ? *request_.rollout.prompt_length : *request_.batch.sequence_length;
    Take(dataset.mean_tokens, static_cast<double>(length), "dataset.mean_tokens");
  }
  Take(dataset.epochs, 1, "dataset.epochs");
}

/// Of a year, where that is all that is known, the middle.
std::string MonthOf(Word version) { return IsYear(version) ? Join({version, "-07"}) : std::string(version); }

}  // namespace

const StackVersion* FindStackVersion(RequestReading& reading, const Catalog& catalog) {
  RequestFields& request = reading.completed;
  const ObjectReader reader(reading.tree, "", NullRule::kRefused, reading.issues);
  const bool stack_given = request.stack.has_value();
  const std::string_view name = request.stack.value_or("transformers");
  const CatalogStack* stack = catalog.FindStack(name);
  if (stack == nullptr) {
    const std::string shown = Shortened(name);
    for (const std::string_view known : words::kStack) {
      if (known != name) continue;
      reader.Fault("not_modelled", "stack", Join({"is \"", shown, "\", which is not modelled yet"}),
                   {{"value", shown}});
      return nullptr;
    }
    reader.UnknownValue("stack", name, words::kStack);
    return nullptr;
  }
  if (!stack_given) {
    request.stack = stack->id;
    reading.assumptions.push_back({.field = "stack", .value = JsonText(Word(stack->id)), .reason = "core_default"});
  }
  if (!request.stack_version) {
    request.stack_version = stack->versions.back().since;
    reading.assumptions.push_back(
        {.field = "stack_version", .value = JsonText(*request.stack_version), .reason = "catalog"});
  }
  const std::string month = MonthOf(*request.stack_version);
  if (month < stack->versions.front().since) {
    const std::string& low = stack->versions.front().since;
    AddIssue(reading.issues, "version_before_catalog", "stack_version",
             Join({"The catalog describes this stack from ", low, " on; its oldest version is taken."}),
             {{"value", *request.stack_version}, {"low", low}}, Severity::kWarning);
  }
  return &stack->At(month);
}

void CompleteRequest(RequestReading& reading, const HfConfig& config) {
  const StackVersion& stack = *reading.stack;
  Completer completer(reading, stack);
  reading.assumptions.insert(reading.assumptions.end(), config.assumptions.begin(), config.assumptions.end());
  completer.CompleteMethod(stack, reading.workload.architecture);
  completer.CompleteQuantization(config);
  completer.CompletePrecision();
  completer.CompleteSavedModules();
  completer.CompleteTask(stack);
  completer.CompleteEvaluation();
  completer.CompleteTraining();
  completer.CompleteParallel();
  completer.CompleteDataset();
}

}  // namespace tunefit
