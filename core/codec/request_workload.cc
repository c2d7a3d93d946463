#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

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

void CheckLength(RequestReading& reading) {
  const Batch& batch = reading.workload.batch;
  const std::int64_t length = LayerTokens(reading.workload, batch.sequence_length);
  if (batch.per_device * length > words::kTokensHigh) {
    const std::string value = std::to_string(batch.per_device * length);
    const std::string high = std::to_string(words::kTokensHigh);
    AddIssue(reading.issues, "too_many_tokens", "batch.per_device",
             Join({"A micro-batch of ", value, " tokens is over the most, ", high, "."}),
             {{"value", value}, {"high", high}});
  }
  const Architecture& model = reading.workload.architecture;
  const bool learned = model.position_rows > 0;  // an error of the core's own
  if (learned || model.context_tokens == 0 || length <= model.context_tokens) return;
  const std::string value = std::to_string(length);
  const std::string high = std::to_string(model.context_tokens);
  AddIssue(reading.issues, "length_over_context", "batch.sequence_length",
           Join({"A length of ", value, " tokens is over the ", high, " that the model was made for."}),
           {{"value", value}, {"high", high}}, Severity::kWarning);
}

/// Only some Blackwells multiply FP8 matrices however they lie in memory: compute capability 10, 11, and from 13 on
/// (transformer_engine/pytorch/utils.py, is_non_tn_fp8_gemm_supported). Without a card the older ones are taken.
bool NeedsTransposes(const Gpu* gpu) {
  if (gpu == nullptr) return true;
  const int major = CapabilityMajor(*gpu);
  return gpu->vendor != "AMD" && (major < 10 || major == 12);
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
  parallel.interleave = fields.interleave.value_or(1);
  parallel.context = fields.context.value_or(1);
  parallel.expert = fields.expert.value_or(1);
  parallel.expert_tensor = fields.expert_tensor.value_or(0);
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
  if (reading.stack->habits.adapts_expert_stacks) AdaptExpertStacks(workload.architecture);
  FillMethod(reading);
  workload.quantization = ReadQuantization(request.quantization);
  FillTask(reading);
  const bool fp8 = *request.precision.compute == "fp8";
  const bool fp8_weights = *request.precision.weights == "fp8";
  workload.precision = {.weights = fp8_weights ? Dtype::kBf16 : ReadDtype(*request.precision.weights),
                        .compute = fp8 ? Dtype::kBf16 : ReadDtype(*request.precision.compute),
                        .autocast = *request.precision.autocast,
                        .master_weights = *request.precision.master_weights,
                        .optimizer_states = {},
                        .fp8_products = fp8,
                        .fp8_transposes = NeedsTransposes(reading.gpu),
                        .fp8_weights = fp8_weights};
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
  if (request.attention == "flash_attention_3") workload.habits.attention_by_generation = true;
  LossHabits& loss = workload.habits.loss;
  loss.loop_holds = loss.loop_holds && !(loss.longest_first && workload.batch.Varies());
  workload.parallel = ReadParallel(request.parallel);
  workload.parallel.fsdp2_gathers_alone =
      workload.habits.fsdp2_gathers_alone && workload.parallel.strategy == Strategy::kFsdp2;
  reading.full_detail = request.detail.value_or("full") == "full";
  for (const Word part : request.include.value_or(std::vector<Word>())) {
    reading.includes_limits = reading.includes_limits || part == "limits";
    reading.includes_timeline = reading.includes_timeline || part == "timeline";
    reading.includes_ranks = reading.includes_ranks || part == "ranks";
    reading.includes_scaling = reading.includes_scaling || part == "scaling";
    reading.includes_advice = reading.includes_advice || part == "advice";
  }
  CheckLength(reading);
}

}  // namespace tunefit
