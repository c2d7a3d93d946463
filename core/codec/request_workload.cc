#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/hf_family.h"
#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

Dtype ReadDtype(Word word) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16, Dtype::kFp16}) {
    if (word == DtypeName(dtype)) return dtype;
  }
  return Dtype::kFp8;
}

Checkpointing ReadCheckpointingKind(Word word) {
  if (word == "none") return Checkpointing::kNone;
  if (word == "selective") return Checkpointing::kSelective;
  return word == "offload" ? Checkpointing::kOffload : Checkpointing::kFull;
}

AttentionKernel ReadAttention(Word word) {
  if (word == "eager") return AttentionKernel::kEager;
  if (word == "xformers") return AttentionKernel::kXformers;
  return word == "sdpa" ? AttentionKernel::kSdpa : AttentionKernel::kFlash;  // flex keeps what flash does
}

Loss ReadLoss(Word word) {
  if (word == "chunked") return Loss::kChunked;
  if (word == "fused_ce") return Loss::kFusedCe;
  return word == "fused_linear_ce" ? Loss::kFusedLinearCe : Loss::kStandard;
}

FusedKernels ReadFusedKernels(const std::vector<Word>& kernels) {
  const auto has = [&kernels](Word kernel) {
    return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
  };
  return {.rms_norm = has("rms_norm"), .rope = has("rope"), .swiglu = has("swiglu"), .lora = has("lora")};
}

Packing ReadPacking(Word word) {
  if (word == "packed") return Packing::kPacked;
  return word == "padding_free" ? Packing::kPaddingFree : Packing::kNone;
}

Quantization ReadQuantization(const QuantizationFields& fields) {
  Quantization quantization;
  if (!fields.kind) return quantization;
  quantization.kind = ReadQuantizationKind(*fields.kind);
  quantization.double_quant = fields.double_quant.value_or(false);
  quantization.prepare = *fields.prepare_kbit == "peft"  ? PrepareKbit::kPeft
                         : *fields.prepare_kbit == "trl" ? PrepareKbit::kTrl
                                                         : PrepareKbit::kNone;
  quantization.bits = fields.bits.value_or(quantization.bits);
  quantization.group_size = fields.group_size.value_or(quantization.group_size);
  return quantization;
}

bool EndsIn(std::string_view path, std::string_view end) {
  return path.size() > end.size() && path[path.size() - end.size() - 1] == '.' &&
         path.substr(path.size() - end.size()) == end;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The embeddings and the output head by the names that libraries give them.
constexpr std::string_view kEmbeddingNames[] = {"embed_tokens", "embed", "wte", "tok_embeddings", "embed_in"};
constexpr std::string_view kHeadNames[] = {"lm_head", "output", "embed_out"};
constexpr std::string_view kPositionNames[] = {"wpe"};

bool IsPattern(std::string_view target) { return target.find_first_of("*+?()[]{}|^$\\") != target.npos; }

/// One part of the path is the number of a layer.
bool ChoosesLayers(std::string_view target) {
  while (!target.empty()) {
    const std::string_view part = target.substr(0, target.find('.'));
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) return true;
    target.remove_prefix(std::min(part.size() + 1, target.size()));
  }
  return false;
}

void UnknownTarget(Issues& issues, std::size_t index, std::string_view target, std::span<const std::string_view> names,
                   Severity severity) {
  const std::string shown = Shortened(target);
  const std::string known = Alternatives(names);
  AddIssue(issues, "unknown_target_module", "method.target_modules." + std::to_string(index),
           Join({"This model has no linear module named \"", shown, "\"; it has ", known, "."}),
           {{"value", shown}, {"known", known}}, severity);
}

/// Targets that PEFT accepts and that would come out wrong here: they choose some of the layers, or a module outside
/// them. True when there was one.
bool RefuseTargets(Issues& issues, std::span<const Word> targets) {
  bool refused = false;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const std::string_view name = LastPart(targets[i]);
    const char* why = nullptr;
    if (IsAmong(name, kEmbeddingNames) || IsAmong(name, kHeadNames) || IsAmong(name, kPositionNames)) {
      why = "\" is not modelled yet: only the matrices of the layers are, and modules_to_save.";
    } else if (IsPattern(targets[i])) {
      why = "\" is not modelled yet: it looks like a pattern; name the modules.";
    } else if (ChoosesLayers(targets[i])) {
      why = "\" is not modelled yet: it chooses some of the layers.";
    }
    if (why == nullptr) continue;
    refused = true;
    const std::string shown = Shortened(targets[i]);
    AddIssue(issues, "not_modelled", "method.target_modules." + std::to_string(i),
             Join({"An adapter on \"", shown, why}), {{"value", shown}});
  }
  return refused;
}

/// Targets that the model lacks are passed over by PEFT as long as one is found.
void ResolveTargets(RequestReading& reading) {
  Method& method = reading.workload.method;
  const Targets& targets = *reading.completed.method.target_modules;
  method.all_linear = targets.all_linear;
  if (targets.all_linear) return;
  if (RefuseTargets(reading.issues, targets.modules)) return;
  std::vector<bool> found(targets.modules.size(), false);
  std::vector<std::string_view> names;
  for (const AdaptableModule& module : AdaptableModules(reading.workload.architecture)) {
    bool chosen = false;
    for (std::size_t i = 0; i < targets.modules.size(); ++i) {
      if (!Selects(targets.modules[i], module)) continue;
      found[i] = true;
      chosen = true;
    }
    if (chosen) method.target_modules.emplace_back(module.name);
    names.push_back(module.name);
  }
  const Severity severity = method.target_modules.empty() ? Severity::kError : Severity::kWarning;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i]) UnknownTarget(reading.issues, i, targets.modules[i], names, severity);
  }
}

void ReadSavedModules(RequestReading& reading) {
  Method& method = reading.workload.method;
  const std::vector<Word>& saved = *reading.completed.method.modules_to_save;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::string_view name = LastPart(saved[i]);
    if (IsAmong(name, kEmbeddingNames)) {
      method.saves_embedding = true;
    } else if (IsAmong(name, kHeadNames)) {
      method.saves_head = true;
    } else {
      const std::string shown = Shortened(saved[i]);
      AddIssue(reading.issues, "not_modelled", "method.modules_to_save." + std::to_string(i),
               Join({"Training a copy of \"", shown, "\" is not modelled yet."}), {{"value", shown}});
    }
  }
}

void CheckLength(RequestReading& reading) {
  const Batch& batch = reading.workload.batch;
  if (batch.per_device * batch.sequence_length > words::kTokensHigh) {
    const std::string value = std::to_string(batch.per_device * batch.sequence_length);
    const std::string high = std::to_string(words::kTokensHigh);
    AddIssue(reading.issues, "too_many_tokens", "batch.per_device",
             Join({"A micro-batch of ", value, " tokens is over the most, ", high, "."}),
             {{"value", value}, {"high", high}});
  }
  const Architecture& model = reading.workload.architecture;
  const bool learned = model.position_rows > 0;  // an error of the core's own
  if (learned || model.context_tokens == 0 || batch.sequence_length <= model.context_tokens) return;
  const std::string value = std::to_string(batch.sequence_length);
  const std::string high = std::to_string(model.context_tokens);
  AddIssue(reading.issues, "length_over_context", "batch.sequence_length",
           Join({"A length of ", value, " tokens is over the ", high, " that the model was made for."}),
           {{"value", value}, {"high", high}}, Severity::kWarning);
}

/// The stack's habits for this class: some classes never upcast their logits, nor did their own losses.
Habits HabitsOf(const StackVersion& stack, const Architecture& architecture) {
  Habits habits = stack.habits;
  const bool upcast_in_class = habits.logits_upcast == LogitsUpcast::kModel;
  if (architecture.plain_logits && (upcast_in_class || habits.plain_classes_skip_upcast)) {
    habits.logits_upcast = LogitsUpcast::kNone;
  }
  return habits;
}

}  // namespace

bool Selects(std::string_view target, const AdaptableModule& module) {
  return target == module.path || EndsIn(module.path, target);
}

std::vector<AdaptableModule> AdaptableModules(const Architecture& architecture) {
  std::vector<AdaptableModule> modules;
  const bool is_part = !architecture.text_type.empty();  // of a class for text and images
  const Family* family = FindFamily(is_part ? architecture.text_type : architecture.model_type);
  if (family == nullptr) return modules;
  const auto add = [&](const LinearShape& linear, std::string_view parent) {
    const std::string_view name = linear.name;
    const auto same = [name](const AdaptableModule& module) { return module.name == name; };
    if (name.empty() || std::any_of(modules.begin(), modules.end(), same)) return;
    const bool whole = name.find('.') != name.npos;
    modules.push_back({name, whole ? std::string(name) : Join({parent, ".", name})});
  };
  const auto add_all = [&add](const auto& part, std::string_view parent) {
    ForEachMatrix(part, [&](const LinearShape& matrix) { add(matrix, parent); });
  };
  ForEachBlock(architecture, [&](const Block& block, std::int64_t /*repeats*/) {
    std::visit([&](const auto& part) { add_all(part, family->attention_path); }, block.mixer);
    if (block.cross) add_all(*block.cross, family->attention_path);
    std::visit([&](const auto& part) { add_all(part, family->mlp_path); }, block.feed_forward);
  });
  if (architecture.vision) {  // its names are whole paths
    ForEachMatrix(*architecture.vision, [&](const LinearShape& matrix) { add(matrix, ""); });
  }
  return modules;
}

Strategy ReadStrategy(Word word) {
  return static_cast<Strategy>(std::find(words::kStrategy.begin(), words::kStrategy.end(), word) -
                               words::kStrategy.begin());  // the words are in the order of Strategy
}

OffloadDevice ReadOffload(const Field<Word>& word) {
  if (word == Word("nvme")) return OffloadDevice::kNvme;
  return word == Word("cpu") ? OffloadDevice::kCpu : OffloadDevice::kNone;
}

ZeroSettings ReadZero(const ZeroFields& fields) {
  ZeroSettings zero;
  zero.reduce_bucket_size = fields.reduce_bucket_size.value_or(zero.reduce_bucket_size);
  zero.overlap_comm = fields.overlap_comm.value_or(zero.overlap_comm);
  zero.contiguous_gradients = fields.contiguous_gradients.value_or(zero.contiguous_gradients);
  zero.prefetch_bucket_size = fields.stage3_prefetch_bucket_size.value_or(zero.prefetch_bucket_size);
  zero.param_persistence_threshold =
      fields.stage3_param_persistence_threshold.value_or(zero.param_persistence_threshold);
  zero.max_live_parameters = fields.stage3_max_live_parameters.value_or(zero.max_live_parameters);
  zero.max_reuse_distance = fields.stage3_max_reuse_distance.value_or(zero.max_reuse_distance);
  zero.sub_group_size = fields.sub_group_size.value_or(zero.sub_group_size);
  zero.hpz_partition_size = fields.zero_hpz_partition_size.value_or(zero.hpz_partition_size);
  return zero;
}

Parallel ReadParallel(const ParallelFields& fields) {
  Parallel parallel;
  parallel.strategy = ReadStrategy(*fields.strategy);
  parallel.gpus = *fields.gpus;
  parallel.gpus_per_node = fields.gpus_per_node.value_or(parallel.gpus_per_node);
  parallel.tensor = fields.tensor.value_or(1);
  parallel.sequence_parallel = fields.sequence_parallel.value_or(false);
  parallel.pipeline = fields.pipeline.value_or(1);
  parallel.context = fields.context.value_or(1);
  parallel.reshard_after_forward = fields.reshard_after_forward.value_or(true);
  parallel.reduce_dtype = ReadDtype(fields.reduce_dtype.value_or("fp32"));
  parallel.shard = fields.shard.value_or(0);
  parallel.gradient_as_bucket_view = fields.gradient_as_bucket_view.value_or(false);
  parallel.zero = ReadZero(fields.zero);
  parallel.parameter_device = ReadOffload(fields.offload_parameters);
  parallel.optimizer_device = ReadOffload(fields.offload_optimizer);
  // FSDP's CPUOffload moves all of it, whichever is asked for.
  const bool fsdp = parallel.strategy == Strategy::kFsdp || parallel.strategy == Strategy::kFsdp2;
  if (fsdp && parallel.offloads_parameters()) parallel.optimizer_device = OffloadDevice::kCpu;
  return parallel;
}

void FillWorkload(RequestReading& reading) {
  const RequestFields& request = reading.completed;
  Workload& workload = reading.workload;
  if (!reading.stack->habits.stacked_experts) UnstackExperts(workload.architecture);
  workload.method.kind = *request.method.kind == "lora"     ? MethodKind::kLora
                         : *request.method.kind == "freeze" ? MethodKind::kFreeze
                                                            : MethodKind::kFull;
  workload.method.trainable_layers = request.method.trainable_layers.value_or(workload.method.trainable_layers);
  workload.method.trains_vision_tower = request.method.vision_tower == "trained";
  if (workload.method.kind == MethodKind::kLora) {
    workload.method.rank = *request.method.rank;
    workload.method.dropout = *request.method.dropout;
    workload.method.adapter_dtype = ReadDtype(*request.method.adapter_dtype);
    if (request.method.modules_to_save_dtype) {
      workload.method.saved_dtype = ReadDtype(*request.method.modules_to_save_dtype);
    }
    workload.method.dora = *request.method.dora;
    ResolveTargets(reading);
    ReadSavedModules(reading);
  }
  workload.quantization = ReadQuantization(request.quantization);
  FillTask(reading);
  const bool fp8 = *request.precision.compute == "fp8";
  workload.precision = {.weights = ReadDtype(*request.precision.weights),
                        .compute = fp8 ? Dtype::kBf16 : ReadDtype(*request.precision.compute),
                        .autocast = *request.precision.autocast,
                        .master_weights = *request.precision.master_weights,
                        .optimizer_states = {},
                        .fp8_products = fp8};
  if (request.precision.optimizer_states) {
    workload.precision.optimizer_states = ReadDtype(*request.precision.optimizer_states);
  }
  const OptimizerWord optimizer = ReadOptimizer(*request.optimizer);
  workload.optimizer = optimizer.optimizer;
  workload.optimizer_rank = request.optimizer_rank.value_or(workload.optimizer_rank);
  workload.optimizer_in_backward = *request.optimizer_in_backward || optimizer.layerwise;
  workload.batch = {.per_device = *request.batch.per_device,
                    .gradient_accumulation = *request.batch.gradient_accumulation,
                    .sequence_length = *request.batch.sequence_length,
                    .packing = ReadPacking(*request.batch.packing),
                    .length_varies = *request.batch.length_varies};
  workload.checkpointing = ReadCheckpointingKind(request.checkpointing.kind.value_or("full"));
  workload.checkpoint_every = request.checkpointing.every.value_or(1);
  workload.attention = ReadAttention(*request.attention);
  workload.loss = ReadLoss(*request.loss);
  workload.compile = *request.compile;
  workload.fused = ReadFusedKernels(*request.fused_kernels);
  workload.habits = HabitsOf(*reading.stack, workload.architecture);
  workload.parallel = ReadParallel(request.parallel);
  reading.full_detail = request.detail.value_or("full") == "full";
  for (const Word part : request.include.value_or(std::vector<Word>())) {
    reading.includes_limits = reading.includes_limits || part == "limits";
    reading.includes_timeline = reading.includes_timeline || part == "timeline";
  }
  CheckLength(reading);
}

}  // namespace tunefit
