#include "core/codec/report_parts.h"

namespace tunefit {
namespace {

void Write(JsonWriter& writer, std::string_view key, const Field<Word>& value) {
  if (value) writer.Text(key, *value);
}
void Write(JsonWriter& writer, std::string_view key, const Field<std::int64_t>& value) {
  if (value) writer.Count(key, *value);
}
void Write(JsonWriter& writer, std::string_view key, const Field<double>& value) {
  if (value) writer.Number(key, *value);
}
void Write(JsonWriter& writer, std::string_view key, const Field<bool>& value) {
  if (value) writer.Flag(key, *value);
}
void Write(JsonWriter& writer, std::string_view key, const Field<std::vector<Word>>& value) {
  if (!value) return;
  writer.Key(key);
  writer.BeginList();
  for (const Word word : *value) writer.Text(word);
  writer.EndList();
}
void Write(JsonWriter& writer, std::string_view key, const Field<Targets>& value) {
  if (!value) return;
  if (value->all_linear) {
    writer.Text(key, "all-linear");
  } else {
    Write(writer, key, Field<std::vector<Word>>(value->modules));
  }
}
void Write(JsonWriter& writer, std::string_view key, const JsonValue* value) {
  if (value == nullptr) return;
  std::string text;
  AppendValue(text, *value);
  writer.Key(key);
  writer.Raw(text);
}

void WriteModelField(JsonWriter& writer, const RequestFields& request) {
  if (request.model_config == nullptr) {
    Write(writer, "model", request.model);
    return;
  }
  writer.Key("model");
  writer.BeginObject();
  Write(writer, "config", request.model_config);
  Write(writer, "name", request.model_name);
  Write(writer, "parameters", request.model_parameters);
  writer.EndObject();
}

void WriteMethod(JsonWriter& writer, const MethodFields& method) {
  writer.Key("method");
  writer.BeginObject();
  Write(writer, "kind", method.kind);
  Write(writer, "trainable_layers", method.trainable_layers);
  Write(writer, "virtual_tokens", method.virtual_tokens);
  Write(writer, "rank", method.rank);
  Write(writer, "rank_pattern", method.rank_pattern);
  Write(writer, "target_modules", method.target_modules);
  Write(writer, "feedforward_modules", method.feedforward_modules);
  Write(writer, "modules_to_save", method.modules_to_save);
  Write(writer, "dropout", method.dropout);
  Write(writer, "adapter_dtype", method.adapter_dtype);
  Write(writer, "modules_to_save_dtype", method.modules_to_save_dtype);
  Write(writer, "dora", method.dora);
  Write(writer, "vision_tower", method.vision_tower);
  writer.EndObject();
}

void WriteQuantization(JsonWriter& writer, const QuantizationFields& quantization) {
  writer.Key("quantization");
  if (!quantization.kind) {
    writer.Null();
    return;
  }
  writer.BeginObject();
  Write(writer, "kind", quantization.kind);
  Write(writer, "bits", quantization.bits);
  Write(writer, "group_size", quantization.group_size);
  Write(writer, "double_quant", quantization.double_quant);
  Write(writer, "prepare_kbit", quantization.prepare_kbit);
  writer.EndObject();
}

void WriteBatch(JsonWriter& writer, const BatchFields& batch) {
  writer.Key("batch");
  writer.BeginObject();
  Write(writer, "per_device", batch.per_device);
  Write(writer, "gradient_accumulation", batch.gradient_accumulation);
  Write(writer, "sequence_length", batch.sequence_length);
  Write(writer, "packing", batch.packing);
  Write(writer, "length_varies", batch.length_varies);
  writer.EndObject();
}

void WriteRollout(JsonWriter& writer, const RolloutFields& rollout) {
  if (!rollout.given) return;
  writer.Key("rollout");
  writer.BeginObject();
  Write(writer, "generations", rollout.generations);
  Write(writer, "prompt_length", rollout.prompt_length);
  Write(writer, "completion_length", rollout.completion_length);
  Write(writer, "engine", rollout.engine);
  Write(writer, "colocated", rollout.colocated);
  Write(writer, "memory_share", rollout.memory_share);
  Write(writer, "engine_gpus", rollout.engine_gpus);
  Write(writer, "iterations", rollout.iterations);
  writer.EndObject();
}

void WriteEvaluation(JsonWriter& writer, const EvaluationFields& evaluation) {
  if (!evaluation.given) return;
  writer.Key("evaluation");
  writer.BeginObject();
  Write(writer, "per_device", evaluation.per_device);
  Write(writer, "keeps_logits", evaluation.keeps_logits);
  Write(writer, "examples", evaluation.examples);
  Write(writer, "accumulation_steps", evaluation.accumulation_steps);
  writer.EndObject();
}

void WritePrecision(JsonWriter& writer, const PrecisionFields& precision) {
  writer.Key("precision");
  writer.BeginObject();
  Write(writer, "weights", precision.weights);
  Write(writer, "compute", precision.compute);
  Write(writer, "autocast", precision.autocast);
  Write(writer, "master_weights", precision.master_weights);
  Write(writer, "optimizer_states", precision.optimizer_states);
  writer.EndObject();
}

void WriteCheckpointing(JsonWriter& writer, const CheckpointingFields& checkpointing) {
  if (!checkpointing.every) {
    Write(writer, "gradient_checkpointing", checkpointing.kind);
    return;
  }
  writer.Key("gradient_checkpointing");
  writer.BeginObject();
  Write(writer, "every", checkpointing.every);
  writer.EndObject();
}

void WriteZero(JsonWriter& writer, const ZeroFields& zero) {
  if (!zero.given) return;
  writer.Key("zero");
  writer.BeginObject();
  Write(writer, "reduce_bucket_size", zero.reduce_bucket_size);
  Write(writer, "overlap_comm", zero.overlap_comm);
  Write(writer, "contiguous_gradients", zero.contiguous_gradients);
  Write(writer, "stage3_prefetch_bucket_size", zero.stage3_prefetch_bucket_size);
  Write(writer, "stage3_param_persistence_threshold", zero.stage3_param_persistence_threshold);
  Write(writer, "stage3_max_live_parameters", zero.stage3_max_live_parameters);
  Write(writer, "stage3_max_reuse_distance", zero.stage3_max_reuse_distance);
  Write(writer, "sub_group_size", zero.sub_group_size);
  Write(writer, "zero_hpz_partition_size", zero.zero_hpz_partition_size);
  writer.EndObject();
}

void WriteParallel(JsonWriter& writer, const ParallelFields& parallel) {
  writer.Key("parallel");
  writer.BeginObject();
  Write(writer, "gpus", parallel.gpus);
  Write(writer, "gpus_per_node", parallel.gpus_per_node);
  Write(writer, "strategy", parallel.strategy);
  Write(writer, "reshard_after_forward", parallel.reshard_after_forward);
  Write(writer, "reduce_dtype", parallel.reduce_dtype);
  Write(writer, "tensor", parallel.tensor);
  Write(writer, "sequence_parallel", parallel.sequence_parallel);
  Write(writer, "pipeline", parallel.pipeline);
  Write(writer, "interleave", parallel.interleave);
  Write(writer, "context", parallel.context);
  Write(writer, "expert", parallel.expert);
  Write(writer, "expert_tensor", parallel.expert_tensor);
  Write(writer, "shard", parallel.shard);
  Write(writer, "gradient_as_bucket_view", parallel.gradient_as_bucket_view);
  WriteZero(writer, parallel.zero);
  if (parallel.offload) {
    writer.Key("offload");
    writer.BeginObject();
    Write(writer, "optimizer", parallel.offload_optimizer);
    Write(writer, "parameters", parallel.offload_parameters);
    writer.EndObject();
  }
  writer.EndObject();
}

void WriteDataset(JsonWriter& writer, const DatasetFields& dataset) {
  if (!dataset.given) return;
  writer.Key("dataset");
  writer.BeginObject();
  Write(writer, "examples", dataset.examples);
  Write(writer, "mean_tokens", dataset.mean_tokens);
  Write(writer, "tokens", dataset.tokens);
  Write(writer, "epochs", dataset.epochs);
  writer.EndObject();
}

void WriteHardwareField(JsonWriter& writer, const RequestFields& request) {
  if (!request.gpu) return;
  writer.Key("hardware");
  writer.BeginObject();
  Write(writer, "gpu", request.gpu);
  Write(writer, "server", request.server);
  Write(writer, "interconnect", request.interconnect);
  writer.EndObject();
}

}  // namespace

void WriteCompletedRequest(JsonWriter& writer, const RequestReading& reading) {
  const RequestFields& request = reading.completed;
  writer.Key("request");
  writer.BeginObject();
  writer.Count("version", 1);
  WriteModelField(writer, request);
  Write(writer, "task", request.task);
  Write(writer, "reference", request.reference);
  WriteMethod(writer, request.method);
  WriteQuantization(writer, request.quantization);
  WritePrecision(writer, request.precision);
  Write(writer, "optimizer", request.optimizer);
  Write(writer, "optimizer_rank", request.optimizer_rank);
  Write(writer, "optimizer_in_backward", request.optimizer_in_backward);
  Write(writer, "fused_kernels", request.fused_kernels);
  WriteBatch(writer, request.batch);
  WriteRollout(writer, request.rollout);
  WriteEvaluation(writer, request.evaluation);
  WriteCheckpointing(writer, request.checkpointing);
  Write(writer, "attention", request.attention);
  Write(writer, "loss", request.loss);
  Write(writer, "stack", request.stack);
  Write(writer, "stack_version", request.stack_version);
  Write(writer, "compile", request.compile);
  WriteParallel(writer, request.parallel);
  Write(writer, "include", request.include);
  Write(writer, "detail", request.detail);
  WriteHardwareField(writer, request);
  WriteDataset(writer, request.dataset);
  Write(writer, "pricing", request.pricing);
  Write(writer, "plan", request.plan_written);
  writer.EndObject();
}

}  // namespace tunefit
