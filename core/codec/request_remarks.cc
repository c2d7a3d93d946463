#include <cmath>
#include <string>

#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// The card has no matrix units for the dtype: it runs, slowly or by emulation.
void CheckDtypes(RequestReading& reading) {
  if (reading.gpu == nullptr) return;
  const Precision& precision = reading.workload.precision;
  const char* narrower = ComputesIn(*reading.gpu, Dtype::kBf16) ? "bf16" : "fp16";
  const auto check = [&](const char* field, Dtype dtype, const char* other) {
    if (ComputesIn(*reading.gpu, dtype)) return false;
    AddIssue(reading.issues, "dtype_unsupported", field,
             Join({"The ", reading.gpu->name, " does not compute in ", DtypeName(dtype), "; choose ", other,
                   " or another card."}),
             {{"value", DtypeName(dtype)}, {"gpu", reading.gpu->name}, {"other", other}}, Severity::kWarning);
    return true;
  };
  // transformers' fine-grained FP8 multiplies in FP8, too.
  if (reading.workload.quantization.kind == QuantizationKind::kFp8) check("quantization.kind", Dtype::kFp8, "nf4");
  if (precision.fp8_products && check("precision.compute", Dtype::kFp8, narrower)) return;
  if (!check("precision.compute", precision.compute, narrower) && !precision.autocast) {
    check("precision.weights", precision.weights, narrower);
  }
}

bool IsFlash(Word attention) { return attention == "flash_attention_2" || attention == "flash_attention_3"; }

/// flash-attn's kernels need Ampere, those of its third version Hopper; on AMD there are only the former.
void CheckAttentionOnCard(RequestReading& reading) {
  const Word attention = *reading.completed.attention;
  if (reading.gpu == nullptr || !IsFlash(attention)) return;
  const Gpu& gpu = *reading.gpu;
  const bool runs_second = RunsFlashAttention2(gpu);
  if (attention == "flash_attention_2" ? runs_second : CapabilityMajor(gpu) == 9) return;
  const std::string_view needs = attention == "flash_attention_2" ? "8.0 or newer" : "9.0, Hopper";
  const std::string_view other = runs_second ? "flash_attention_2" : "sdpa";
  AddIssue(reading.issues, "attention_unsupported", "attention",
           Join({attention, " does not run on the ", gpu.name, ": it needs compute capability ", needs, "; choose ",
                 other, " instead."}),
           {{"value", attention}, {"gpu", gpu.name}, {"other", other}}, Severity::kWarning);
}

/// flash-attn takes fp16 and bf16 only; queries come in the dtype of the weights, of autocast,
/// or of parameters gathered from shards.
void CheckAttentionDtype(RequestReading& reading) {
  const Word attention = *reading.completed.attention;
  const Precision& precision = reading.workload.precision;
  const bool gathered = ShardsParameters(reading.workload.parallel.strategy);
  const bool cast = (precision.autocast || gathered) && precision.compute != Dtype::kFp32;
  const bool quantized = reading.workload.quantization.kind != QuantizationKind::kNone;
  if (!IsFlash(attention) || cast || quantized || precision.weights != Dtype::kFp32) return;
  AddIssue(reading.issues, "attention_needs_half", "attention",
           Join({attention, " computes in fp16 or bf16 only, and here everything is fp32."}), {{"value", attention}});
}

/// torch's GradScaler, which comes with fp16 autocast, refuses gradients in fp16.
void CheckScaler(RequestReading& reading) {
  const Workload& workload = reading.workload;
  const bool full = !AddsToFrozenModel(workload.method.kind);
  const Dtype trained = full ? workload.precision.weights : workload.method.adapter_dtype;
  const bool scaled = workload.precision.autocast && workload.precision.compute == Dtype::kFp16;
  if (!scaled || trained != Dtype::kFp16) return;
  AddIssue(reading.issues, "fp16_gradients", full ? "precision.weights" : "method.adapter_dtype",
           "Parameters in fp16 do not train under fp16 autocast: GradScaler refuses to unscale fp16 gradients.", {},
           Severity::kWarning);
}

void NoEffect(RequestReading& reading, const char* field, std::string_view value, std::string_view why) {
  AddIssue(reading.issues, "no_effect", field, Join({field, " \"", value, "\" changes nothing here: ", why, "."}),
           {{"value", value}}, Severity::kNote);
}

void NoteRollout(RequestReading& reading, const RolloutFields& fields) {
  if (!HasRollout(reading.workload.task)) return;
  const Rollout& rollout = reading.workload.rollout;
  if (fields.engine_gpus && !rollout.is_apart()) {
    NoEffect(reading, "rollout.engine_gpus", std::to_string(*fields.engine_gpus), "no engine has GPUs of its own");
  }
  if (fields.memory_share && !(rollout.has_engine() && rollout.colocated)) {
    NoEffect(reading, "rollout.memory_share", NumberText(*fields.memory_share), "no engine shares the training GPUs");
  }
}

void NoteQuantization(RequestReading& reading, const QuantizationFields& fields) {
  if (!fields.kind) return;
  const bool four_bit = *fields.kind == "nf4" || *fields.kind == "fp4";
  const QuantizationKind kind = ReadQuantizationKind(*fields.kind);
  if (fields.double_quant.value_or(false) && !four_bit) {
    NoEffect(reading, "quantization.double_quant", "true", "only nf4 and fp4 quantize their scales again");
  }
  if (fields.group_size && !four_bit && !HasGroups(kind)) {
    const char* why = kind == QuantizationKind::kInt8 ? "int8 has one scale a row" : "fp8 has one scale a block";
    NoEffect(reading, "quantization.group_size", std::to_string(*fields.group_size), why);
  }
}

bool IsZero(Strategy strategy) { return ShardsStatesOnly(strategy) || strategy == Strategy::kZero3; }

/// DeepSpeed's settings where its stages, or the third of them, do not run.
void NoteZero(RequestReading& reading, const ZeroFields& fields) {
  const Strategy strategy = reading.workload.parallel.strategy;
  const bool deepspeed = IsZero(strategy) && reading.workload.habits.master_gradients == MasterGradients::kCastInStep;
  const auto note = [&](const char* field, const Field<std::int64_t>& value, bool has_effect, const char* why) {
    if (value && !has_effect) NoEffect(reading, field, std::to_string(*value), why);
  };
  const auto note_flag = [&](const char* field, const Field<bool>& value) {
    if (value && !deepspeed) NoEffect(reading, field, *value ? "true" : "false", "no stage of DeepSpeed's ZeRO runs");
  };
  note("parallel.zero.reduce_bucket_size", fields.reduce_bucket_size, deepspeed, "no stage of DeepSpeed's ZeRO runs");
  note_flag("parallel.zero.overlap_comm", fields.overlap_comm);
  note_flag("parallel.zero.contiguous_gradients", fields.contiguous_gradients);
  const auto note_third = [&](const char* field, const Field<std::int64_t>& value) {
    note(field, value, deepspeed && strategy == Strategy::kZero3, "it is stage 3's");
  };
  note_third("parallel.zero.stage3_prefetch_bucket_size", fields.stage3_prefetch_bucket_size);
  note_third("parallel.zero.stage3_param_persistence_threshold", fields.stage3_param_persistence_threshold);
  note_third("parallel.zero.stage3_max_live_parameters", fields.stage3_max_live_parameters);
  note_third("parallel.zero.stage3_max_reuse_distance", fields.stage3_max_reuse_distance);
  note_third("parallel.zero.sub_group_size", fields.sub_group_size);
  note_third("parallel.zero.zero_hpz_partition_size", fields.zero_hpz_partition_size);
}

void NoteParallel(RequestReading& reading, const ParallelFields& fields) {
  const Strategy strategy = reading.workload.parallel.strategy;
  if (fields.shard && !IsZero(strategy) && !ShardsParameters(strategy)) {
    NoEffect(reading, "parallel.shard", std::to_string(*fields.shard), "the strategy divides nothing");
  }
  if (fields.gradient_as_bucket_view.value_or(false) && strategy != Strategy::kDdp) {
    NoEffect(reading, "parallel.gradient_as_bucket_view", "true", "only DDP has such buckets");
  }
  if (fields.offload_optimizer == Word("nvme") && ShardsStatesOnly(strategy)) {
    NoEffect(reading, "parallel.offload.optimizer", "nvme", "stages 1 and 2 keep what they offload in memory");
  }
  NoteZero(reading, fields.zero);
}

/// Asked of what was written, as the completed request repeats it.
void NoteWithoutEffect(RequestReading& reading) {
  const RequestFields& request = reading.completed;
  if (reading.workload.fused.lora) {
    if (reading.workload.method.kind != MethodKind::kLora) {
      NoEffect(reading, "fused_kernels", "lora", "nothing is adapted by LoRA");
    } else if (reading.workload.method.dropout > 0) {
      NoEffect(reading, "fused_kernels", "lora", "the fused kernel knows no dropout");
    }
  }
  if (request.parallel.interleave.value_or(1) > 1 && request.parallel.pipeline.value_or(1) == 1) {
    NoEffect(reading, "parallel.interleave", std::to_string(*request.parallel.interleave), "there is one stage");
  }
  if (request.method.vision_tower == "trained" && !reading.workload.architecture.vision) {
    NoEffect(reading, "method.vision_tower", "trained", "the model has no tower for images");
  }
  NoteRollout(reading, request.rollout);
  NoteQuantization(reading, request.quantization);
  NoteParallel(reading, request.parallel);
}

/// Two counts of the same tokens. Both have a use, so neither is dropped: by the one rows are filled and prices by the
/// token reckoned, by the other rows are counted.
void CompareTokens(RequestReading& reading) {
  constexpr double kRounding = 0.01;  // of a mean that somebody wrote down
  const Dataset& data = reading.dataset;
  if (!data.examples || !data.tokens || !data.mean_tokens) return;
  const double counted = *data.examples * *data.mean_tokens;
  if (std::fabs(*data.tokens - counted) <= kRounding * counted) return;
  const std::string value = NumberText(*data.tokens);
  const std::string expected = NumberText(counted);
  const bool packed = reading.workload.batch.packing != Packing::kNone;
  AddIssue(
      reading.issues, "tokens_differ", "dataset.tokens",
      Join({"dataset.examples of dataset.mean_tokens are ", expected, " tokens, not ", value, "; ",
            packed ? "dataset.tokens is taken." : "steps follow the examples, and what is trained on the tokens."}),
      {{"value", value}, {"expected", expected}}, Severity::kWarning);
}

/// Fields of the contract whose part of the report does not exist yet; a cost needs hours, and these a card and data.
void NoteUnused(RequestReading& reading) {
  const bool has_data = reading.dataset.examples || reading.dataset.tokens;
  if (reading.completed.pricing != nullptr && !(reading.gpu != nullptr && has_data)) {
    const char* data = has_data ? "" : "dataset.examples or dataset.tokens";
    const char* card = reading.gpu != nullptr ? "" : "hardware.gpu";
    const char* both = *data != '\0' && *card != '\0' ? ", and " : "";
    AddIssue(reading.issues, "not_modelled", "pricing",
             Join({"pricing has no effect without the hours of a run, for which there is no ", data, both, card, "."}),
             {}, Severity::kNote);
  }
  if (reading.gpu == nullptr) return;
  const auto left_out = [&](const char* field, const char* why) {
    AddIssue(reading.issues, "not_modelled", field, why, {}, Severity::kNote);
  };
  if (!HasRates(*reading.gpu)) {
    left_out("hardware.gpu", "How fast this card multiplies is not known: no time is given.");
  }
  if (has_data && reading.workload.rollout.is_apart()) {
    left_out("rollout.engine_gpus", "The cost of such a run leaves out the GPUs of the engine.");
  }
}

/// The checkpoint is stored in another method than the request names.
void CompareQuantization(RequestReading& reading, const HfConfig& config) {
  if (!reading.names_quantization) return;
  const std::string_view stored =
      config.quantization ? QuantizationWord(config.quantization->kind) : config.other_quantization;
  const Word asked = reading.completed.quantization.kind.value_or("none");
  if (stored.empty() || stored == asked) return;
  AddIssue(
      reading.issues, "quantization_differs", asked == "none" ? "quantization" : "quantization.kind",
      Join({"The pasted config is quantized with ", stored, ", the request says ", asked, "; the request is taken."}),
      {{"value", asked}, {"config", stored}}, Severity::kWarning);
}

}  // namespace

void RemarkOn(RequestReading& reading, const HfConfig& config) {
  CompareQuantization(reading, config);
  CheckDtypes(reading);
  CheckAttentionOnCard(reading);
  CheckAttentionDtype(reading);
  CheckScaler(reading);
  NoteWithoutEffect(reading);
  CompareTokens(reading);
  NoteUnused(reading);
}

}  // namespace tunefit
