#include "core/codec/request_fields.h"

#include <algorithm>
#include <span>
#include <string>

#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

/// What a member is called in its object: the last part of its path.
std::string_view KeyOf(std::string_view path) { return path.substr(path.rfind('.') + 1); }

Field<Targets> ReadTargets(const ObjectReader& method) {
  const JsonValue* value = method.Find("target_modules");
  if (value == nullptr) return {};
  if (value->kind == JsonKind::kText) {
    if (!ReadWord(method, words::WordsAt("method.target_modules"))) return {};
    return Targets{.all_linear = true, .modules = {}};
  }
  if (value->kind != JsonKind::kList) {
    method.WrongType("target_modules", *value, "\"all-linear\" or a list of module names");
    return {};
  }
  auto texts = method.Texts("target_modules");
  if (!texts) return {};
  if (texts->empty()) {
    method.Fault("empty_list", "target_modules", "must name at least one module", {});
    return {};
  }
  return Targets{.all_linear = false, .modules = std::move(*texts)};
}

/// Null where there is none, or a rank is wrong.
const JsonValue* ReadRankPattern(const ObjectReader& method) {
  const JsonValue* written = method.Object("rank_pattern");
  if (written == nullptr) return nullptr;
  const ObjectReader pattern(method, "rank_pattern");
  bool whole = true;
  for (const JsonMember& member : written->members) {
    whole = pattern.Count(member.key, words::kRank.low, words::kRank.high).has_value() && whole;
  }
  return whole ? written : nullptr;
}

MethodFields ReadMethod(const ObjectReader& request) {
  static constexpr Known kKnown = {
      "kind",           "trainable_layers",      "virtual_tokens",  "rank_pattern", "rank",
      "target_modules", "feedforward_modules",   "modules_to_save", "dropout",      "adapter_dtype",
      "dora",           "modules_to_save_dtype", "vision_tower"};
  const ObjectReader method(request, "method");
  method.RefuseUnknown(kKnown);
  method.Require("kind");
  MethodFields fields;
  fields.kind = ReadWord(method, words::WordsAt("method.kind"));
  fields.trainable_layers = ReadCount(method, words::NumberAt("method.trainable_layers"));
  fields.virtual_tokens = ReadCount(method, words::NumberAt("method.virtual_tokens"));
  fields.rank = ReadCount(method, words::NumberAt("method.rank"));
  fields.rank_pattern = ReadRankPattern(method);
  fields.target_modules = ReadTargets(method);
  fields.feedforward_modules = method.Texts("feedforward_modules");
  fields.modules_to_save = method.Texts("modules_to_save");
  fields.dropout = ReadNumber(method, words::NumberAt("method.dropout"));
  fields.adapter_dtype = ReadWord(method, words::WordsAt("method.adapter_dtype"));
  fields.modules_to_save_dtype = ReadWord(method, words::WordsAt("method.modules_to_save_dtype"));
  fields.dora = method.Flag("dora");
  fields.vision_tower = ReadWord(method, words::WordsAt("method.vision_tower"));
  return fields;
}

QuantizationFields ReadQuantization(const ObjectReader& request, bool needs_kind) {
  static constexpr Known kKnown = {"kind", "bits", "group_size", "double_quant", "prepare_kbit"};
  QuantizationFields fields;
  fields.given = request.Find("quantization") != nullptr;
  if (!fields.given || request.IsNull("quantization")) return fields;
  const ObjectReader quantization(request, "quantization");
  quantization.RefuseUnknown(kKnown);
  if (needs_kind) quantization.Require("kind");
  fields.kind = ReadWord(quantization, words::WordsAt("quantization.kind"));
  fields.bits = ReadCount(quantization, words::NumberAt("quantization.bits"));
  fields.group_size = ReadCount(quantization, words::NumberAt("quantization.group_size"));
  fields.double_quant = quantization.Flag("double_quant");
  fields.prepare_kbit = ReadWord(quantization, words::WordsAt("quantization.prepare_kbit"));
  return fields;
}

PrecisionFields ReadPrecision(const ObjectReader& request) {
  static constexpr Known kKnown = {"weights", "compute", "autocast", "master_weights", "optimizer_states"};
  const ObjectReader precision(request, "precision");
  precision.RefuseUnknown(kKnown);
  PrecisionFields fields;
  fields.weights = ReadWord(precision, words::WordsAt("precision.weights"));
  fields.compute = ReadWord(precision, words::WordsAt("precision.compute"));
  fields.autocast = precision.Flag("autocast");
  fields.master_weights = precision.Flag("master_weights");
  fields.optimizer_states = ReadWord(precision, words::WordsAt("precision.optimizer_states"));
  return fields;
}

BatchFields ReadBatch(const ObjectReader& request) {
  static constexpr Known kKnown = {"per_device", "gradient_accumulation", "sequence_length", "packing",
                                   "length_varies"};
  const ObjectReader batch(request, "batch");
  batch.RefuseUnknown(kKnown);
  BatchFields fields;
  fields.per_device = ReadCount(batch, words::NumberAt("batch.per_device"));
  fields.gradient_accumulation = ReadCount(batch, words::NumberAt("batch.gradient_accumulation"));
  fields.sequence_length = ReadCount(batch, words::NumberAt("batch.sequence_length"));
  fields.packing = ReadWord(batch, words::WordsAt("batch.packing"));
  fields.length_varies = batch.Flag("length_varies");
  return fields;
}

RolloutFields ReadRollout(const ObjectReader& request) {
  static constexpr Known kKnown = {"generations", "prompt_length", "completion_length", "colocated",
                                   "engine",      "memory_share",  "iterations",        "engine_gpus"};
  const ObjectReader rollout(request, "rollout");
  rollout.RefuseUnknown(kKnown);
  RolloutFields fields;
  fields.given = rollout.present();
  fields.generations = ReadCount(rollout, words::NumberAt("rollout.generations"));
  fields.prompt_length = ReadCount(rollout, words::NumberAt("rollout.prompt_length"));
  fields.completion_length = ReadCount(rollout, words::NumberAt("rollout.completion_length"));
  fields.iterations = ReadCount(rollout, words::NumberAt("rollout.iterations"));
  fields.engine_gpus = ReadCount(rollout, words::NumberAt("rollout.engine_gpus"));
  fields.colocated = rollout.Flag("colocated");
  fields.engine = ReadWord(rollout, words::WordsAt("rollout.engine"));
  fields.memory_share = ReadNumber(rollout, words::NumberAt("rollout.memory_share"));
  return fields;
}

EvaluationFields ReadEvaluation(const ObjectReader& request) {
  static constexpr Known kKnown = {"per_device", "examples", "accumulation_steps", "keeps_logits"};
  const ObjectReader evaluation(request, "evaluation");
  evaluation.RefuseUnknown(kKnown);
  EvaluationFields fields;
  fields.given = evaluation.present();
  fields.per_device = ReadCount(evaluation, words::NumberAt("evaluation.per_device"));
  fields.examples = ReadCount(evaluation, words::NumberAt("evaluation.examples"));
  fields.accumulation_steps = ReadCount(evaluation, words::NumberAt("evaluation.accumulation_steps"));
  fields.keeps_logits = evaluation.Flag("keeps_logits");
  return fields;
}

CheckpointingFields ReadCheckpointing(const ObjectReader& request) {
  static constexpr Known kKnown = {"every"};
  CheckpointingFields fields;
  const JsonValue* value = request.Find("gradient_checkpointing");
  if (value == nullptr) return fields;
  if (value->kind == JsonKind::kObject) {
    const ObjectReader checkpointing(request, "gradient_checkpointing");
    checkpointing.RefuseUnknown(kKnown);
    checkpointing.Require("every");
    fields.every = ReadCount(checkpointing, words::NumberAt("gradient_checkpointing.every"));
  } else if (value->kind == JsonKind::kText) {
    fields.kind = ReadWord(request, words::WordsAt("gradient_checkpointing"));
  } else {
    request.WrongType("gradient_checkpointing", *value, "a text or {\"every\": n}");
  }
  return fields;
}

ZeroFields ReadZero(const ObjectReader& parallel) {
  static constexpr Known kKnown = {"reduce_bucket_size",
                                   "overlap_comm",
                                   "contiguous_gradients",
                                   "stage3_prefetch_bucket_size",
                                   "stage3_param_persistence_threshold",
                                   "stage3_max_live_parameters",
                                   "stage3_max_reuse_distance",
                                   "sub_group_size",
                                   "zero_hpz_partition_size"};
  const ObjectReader zero(parallel, "zero");
  zero.RefuseUnknown(kKnown);
  ZeroFields fields;
  fields.given = zero.present();
  fields.reduce_bucket_size = ReadCount(zero, words::NumberAt("parallel.zero.reduce_bucket_size"));
  fields.overlap_comm = zero.Flag("overlap_comm");
  fields.contiguous_gradients = zero.Flag("contiguous_gradients");
  fields.stage3_prefetch_bucket_size = ReadCount(zero, words::NumberAt("parallel.zero.stage3_prefetch_bucket_size"));
  fields.stage3_param_persistence_threshold =
      ReadCount(zero, words::NumberAt("parallel.zero.stage3_param_persistence_threshold"));
  fields.stage3_max_live_parameters = ReadCount(zero, words::NumberAt("parallel.zero.stage3_max_live_parameters"));
  fields.stage3_max_reuse_distance = ReadCount(zero, words::NumberAt("parallel.zero.stage3_max_reuse_distance"));
  fields.sub_group_size = ReadCount(zero, words::NumberAt("parallel.zero.sub_group_size"));
  fields.zero_hpz_partition_size = ReadCount(zero, words::NumberAt("parallel.zero.zero_hpz_partition_size"));
  return fields;
}

ParallelFields ReadParallel(const ObjectReader& request) {
  static constexpr Known kKnown = {"gpus",
                                   "gpus_per_node",
                                   "strategy",
                                   "reshard_after_forward",
                                   "reduce_dtype",
                                   "tensor",
                                   "sequence_parallel",
                                   "pipeline",
                                   "interleave",
                                   "context",
                                   "expert",
                                   "expert_tensor",
                                   "shard",
                                   "gradient_as_bucket_view",
                                   "zero",
                                   "offload"};
  static constexpr Known kOffloadKnown = {"optimizer", "parameters"};
  const ObjectReader parallel(request, "parallel");
  parallel.RefuseUnknown(kKnown);
  ParallelFields fields;
  fields.gpus = ReadCount(parallel, words::NumberAt("parallel.gpus"));
  fields.gpus_per_node = ReadCount(parallel, words::NumberAt("parallel.gpus_per_node"));
  fields.strategy = ReadWord(parallel, words::WordsAt("parallel.strategy"));
  fields.reshard_after_forward = parallel.Flag("reshard_after_forward");
  fields.reduce_dtype = ReadWord(parallel, words::WordsAt("parallel.reduce_dtype"));
  fields.tensor = ReadCount(parallel, words::NumberAt("parallel.tensor"));
  fields.sequence_parallel = parallel.Flag("sequence_parallel");
  fields.pipeline = ReadCount(parallel, words::NumberAt("parallel.pipeline"));
  fields.interleave = ReadCount(parallel, words::NumberAt("parallel.interleave"));
  fields.context = ReadCount(parallel, words::NumberAt("parallel.context"));
  fields.expert = ReadCount(parallel, words::NumberAt("parallel.expert"));
  fields.expert_tensor = ReadCount(parallel, words::NumberAt("parallel.expert_tensor"));
  fields.shard = ReadCount(parallel, words::NumberAt("parallel.shard"));
  fields.gradient_as_bucket_view = parallel.Flag("gradient_as_bucket_view");
  fields.zero = ReadZero(parallel);
  const ObjectReader offload(parallel, "offload");
  offload.RefuseUnknown(kOffloadKnown);
  fields.offload = offload.present();
  fields.offload_optimizer = ReadWord(offload, words::WordsAt("parallel.offload.optimizer"));
  fields.offload_parameters = ReadWord(offload, words::WordsAt("parallel.offload.parameters"));
  return fields;
}

/// A name as it was pasted, without the white space around it.
Field<Word> ReadName(const ObjectReader& object, std::string_view key) {
  Field<Word> name = object.Text(key);
  if (!name) return name;
  const std::size_t first = std::min(name->find_first_not_of(" \t\r\n"), name->size());
  const std::size_t last = name->find_last_not_of(" \t\r\n");
  return name->substr(first, last == name->npos ? 0 : last + 1 - first);
}

void ReadModel(const ObjectReader& request, RequestFields& fields) {
  static constexpr Known kKnown = {"config", "name", "parameters"};
  request.Require("model");
  const JsonValue* value = request.Find("model");
  if (value == nullptr) return;
  if (value->kind == JsonKind::kText) {
    fields.model = ReadName(request, "model");
    return;
  }
  if (value->kind != JsonKind::kObject) {
    request.WrongType("model", *value, "a model's name or {\"config\": ...}");
    return;
  }
  const ObjectReader model(request, "model");
  model.RefuseUnknown(kKnown);
  model.Require("config");
  fields.model_config = model.Object("config");
  fields.model_name = model.Text("name");
  fields.model_parameters = ReadCount(model, words::NumberAt("model.parameters"));
}

void ReadHardware(const ObjectReader& request, RequestFields& fields) {
  static constexpr Known kKnown = {"gpu", "server", "interconnect"};
  const ObjectReader hardware(request, "hardware");
  hardware.RefuseUnknown(kKnown);
  hardware.Require("gpu");
  fields.gpu = ReadName(hardware, "gpu");
  fields.server = ReadName(hardware, "server");
  fields.interconnect = ReadName(hardware, "interconnect");
}

/// The fields that requests and stack defaults share.
void ReadTraining(const ObjectReader& request, RequestFields& fields) {
  fields.precision = ReadPrecision(request);
  fields.optimizer = ReadWord(request, words::WordsAt("optimizer"));
  fields.optimizer_rank = ReadCount(request, words::NumberAt("optimizer_rank"));
  fields.optimizer_in_backward = request.Flag("optimizer_in_backward");
  fields.batch = ReadBatch(request);
  fields.checkpointing = ReadCheckpointing(request);
  fields.attention = ReadWord(request, words::WordsAt("attention"));
  fields.loss = ReadWord(request, words::WordsAt("loss"));
  fields.compile = request.Flag("compile");
  fields.fused_kernels = ReadWords(request, words::WordsAt("fused_kernels"));
}

void ReadStack(const ObjectReader& request, RequestFields& fields) {
  fields.stack = request.Text("stack", 64);
  fields.stack_version = request.Text("stack_version");
  if (!fields.stack_version || IsMonth(*fields.stack_version) || IsYear(*fields.stack_version)) return;
  const std::string shown = Shortened(*fields.stack_version);
  request.Fault("malformed", "stack_version", Join({"must be a month such as 2025-06, not \"", shown, "\""}),
                {{"value", shown}});
  fields.stack_version.reset();
}

}  // namespace

Field<Word> ReadWord(const ObjectReader& object, const words::WordField& field) {
  const auto index = object.Choice(KeyOf(field.path), field.known);
  return index ? Field<Word>(field.known[*index]) : Field<Word>();
}

Field<std::int64_t> ReadCount(const ObjectReader& object, const words::NumberField& field) {
  return object.Count(KeyOf(field.path), field.limits.low, field.limits.high);
}

Field<double> ReadNumber(const ObjectReader& object, const words::NumberField& field) {
  return object.Number(KeyOf(field.path), static_cast<double>(field.limits.low),
                       static_cast<double>(field.limits.high));
}

Field<std::vector<Word>> ReadWords(const ObjectReader& object, const words::WordField& field) {
  const std::string_view key = KeyOf(field.path);
  auto texts = object.Texts(key);
  if (!texts) return {};
  for (std::size_t i = 0; i < texts->size(); ++i) {
    bool found = false;
    for (const std::string_view word : field.known) found = found || word == (*texts)[i];
    if (!found) object.UnknownValue(Join({key, ".", std::to_string(i)}), (*texts)[i], field.known);
  }
  return texts;
}

bool IsYear(std::string_view text) { return IsMonth(Join({text, "-01"})); }

bool IsMonth(std::string_view text) {
  if (text.size() != 7 || text[4] != '-') return false;
  for (const std::size_t i : {0, 1, 2, 3, 5, 6}) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  const int month = (text[5] - '0') * 10 + (text[6] - '0');
  return month >= 1 && month <= 12;
}

RequestFields ReadRequestFields(const ObjectReader& request) {
  static constexpr Known kKnown = {"version",
                                   "model",
                                   "task",
                                   "method",
                                   "quantization",
                                   "precision",
                                   "optimizer",
                                   "batch",
                                   "fused_kernels",
                                   "stack",
                                   "compile",
                                   "attention",
                                   "stack_version",
                                   "optimizer_in_backward",
                                   "loss",
                                   "parallel",
                                   "detail",
                                   "rollout",
                                   "include",
                                   "hardware",
                                   "gradient_checkpointing",
                                   "dataset",
                                   "plan",
                                   "pricing",
                                   "optimizer_rank",
                                   "reference",
                                   "evaluation"};
  RequestFields fields;
  request.RefuseUnknown(kKnown);
  request.Require("version");
  ReadCount(request, words::NumberAt("version"));
  ReadModel(request, fields);
  fields.task = ReadWord(request, words::WordsAt("task"));
  fields.reference = ReadWord(request, words::WordsAt("reference"));
  fields.rollout = ReadRollout(request);
  fields.evaluation = ReadEvaluation(request);
  fields.method = ReadMethod(request);
  fields.quantization = ReadQuantization(request, true);
  ReadTraining(request, fields);
  ReadStack(request, fields);
  fields.parallel = ReadParallel(request);
  fields.include = ReadWords(request, words::WordsAt("include"));
  fields.detail = ReadWord(request, words::WordsAt("detail"));
  if (request.Find("hardware") != nullptr) ReadHardware(request, fields);
  fields.dataset = ReadDataset(request);
  ReadPricing(request, fields);
  ReadPlan(request, fields);
  return fields;
}

RequestFields ReadStackDefaults(const ObjectReader& defaults) {
  static constexpr Known kKnown = {"precision",
                                   "optimizer",
                                   "optimizer_in_backward",
                                   "attention",
                                   "gradient_checkpointing",
                                   "loss",
                                   "compile",
                                   "batch",
                                   "method",
                                   "quantization",
                                   "fused_kernels",
                                   "optimizer_rank",
                                   "parallel"};
  static constexpr Known kParallelKnown = {"sequence_parallel"};
  static constexpr Known kMethodKnown = {"rank", "dropout", "adapter_dtype", "dora", "target_modules"};
  RequestFields fields;
  defaults.RefuseUnknown(kKnown);
  fields.quantization = ReadQuantization(defaults, false);
  ReadTraining(defaults, fields);
  const ObjectReader method(defaults, "method");
  method.RefuseUnknown(kMethodKnown);
  fields.method.rank = ReadCount(method, words::NumberAt("method.rank"));
  fields.method.dropout = ReadNumber(method, words::NumberAt("method.dropout"));
  fields.method.adapter_dtype = ReadWord(method, words::WordsAt("method.adapter_dtype"));
  fields.method.dora = method.Flag("dora");
  const ObjectReader parallel(defaults, "parallel");
  parallel.RefuseUnknown(kParallelKnown);
  fields.parallel.sequence_parallel = parallel.Flag("sequence_parallel");
  return fields;
}

}  // namespace tunefit
