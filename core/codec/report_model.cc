#include "core/codec/report_parts.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

void WriteGroup(JsonWriter& writer, std::string_view group, std::int64_t parameters, std::int64_t trainable) {
  writer.BeginObject();
  writer.Text("group", group);
  writer.Count("parameters", parameters);
  writer.Count("trainable_parameters", trainable);
  writer.EndObject();
}

/// ppo trains a second model of the same shape, with a head of one score.
std::int64_t CountValueModel(const Workload& workload) {
  if (workload.task != Task::kPpo) return 0;
  Architecture value = workload.architecture;
  value.labels = 1;
  value.vision.reset();  // frozen
  return CountParameters(value).total();
}

/// What trains of the model's own parameters. Copies that modules_to_save trains count where their original stands.
ParameterCounts CountTrained(const Workload& workload, const ParameterCounts& counts) {
  const Method& method = workload.method;
  if (method.kind == MethodKind::kFull) {
    ParameterCounts trained = counts;
    if (!method.trains_vision_tower) trained.vision = 0;
    trained.embedding -= workload.architecture.source_positions * workload.architecture.hidden_size;  // never train
    return trained;
  }
  if (method.kind == MethodKind::kFreeze) return CountLastLayers(workload.architecture, method.trainable_layers);
  ParameterCounts trained;
  const std::int64_t table = workload.architecture.vocab_size * workload.architecture.hidden_size;
  if (method.saves_embedding) trained.embedding = table;
  if (workload.architecture.labels > 0) {
    trained.head = counts.head;
  } else if (method.saves_head) {
    trained.head = table;
  }
  return trained;
}

/// Groups of the model's own parameters, then the adapters and the value model, which the model's count leaves out.
void WriteGroups(JsonWriter& writer, const Workload& workload, const ParameterCounts& counts, std::int64_t trainable) {
  const ParameterCounts trained = CountTrained(workload, counts);
  writer.Key("groups");
  writer.BeginList();
  WriteGroup(writer, "embedding", counts.embedding, trained.embedding);
  WriteGroup(writer, "attention", counts.attention, trained.attention);
  WriteGroup(writer, "mlp", counts.mlp, trained.mlp);
  WriteGroup(writer, "norms", counts.norms, trained.norms);
  WriteGroup(writer, "head", counts.head, trained.head);
  if (workload.architecture.vision) WriteGroup(writer, "vision", counts.vision, trained.vision);
  const std::int64_t value = CountValueModel(workload);
  const std::int64_t adapters = trainable - trained.total() - value;
  if (AddsToFrozenModel(workload.method.kind)) WriteGroup(writer, "adapters", adapters, adapters);
  if (value > 0) WriteGroup(writer, "value_model", value, value);
  writer.EndList();
}

std::string_view RecipeCode(const Workload& workload) {
  if (workload.method.kind == MethodKind::kIa3) return "ia3";
  if (workload.method.kind == MethodKind::kPromptTuning) return "prompt_tuning";
  if (workload.method.kind == MethodKind::kLora) {
    if (workload.quantization.kind == QuantizationKind::kNone) return "lora";
    const bool eight_bit = workload.quantization.kind == QuantizationKind::kInt8;
    return eight_bit ? "lora_int8" : "qlora";
  }
  switch (workload.precision.weights) {
    case Dtype::kBf16:
      return "pure_bf16";
    case Dtype::kFp16:
      return "pure_fp16";
    default:
      return workload.precision.autocast && workload.precision.compute != Dtype::kFp32 ? "autocast_fp32" : "fp32";
  }
}

}  // namespace

void WriteModel(JsonWriter& writer, const RequestReading& reading, const MemoryEstimate& memory) {
  const Architecture& architecture = reading.workload.architecture;
  const CatalogModel* known = reading.model;
  const ParameterCounts counts = CountParameters(architecture);
  const std::int64_t total = counts.total();
  writer.Key("model");
  writer.BeginObject();
  writer.TextOrNull("id", known != nullptr ? std::string_view(known->id) : std::string_view());
  writer.Text("name", known != nullptr ? std::string_view(known->name)
                                       : reading.completed.model_name.value_or(architecture.model_type));
  writer.Text("model_type", architecture.model_type);
  writer.TextOrNull("family", known != nullptr ? std::string_view(known->family) : std::string_view());
  writer.Count("layers", architecture.layers());
  writer.Count("hidden_size", architecture.hidden_size);
  writer.Count("vocab_size", architecture.vocab_size);
  writer.CountOrNull("context_tokens", architecture.context_tokens);
  writer.Count("parameters", total);
  writer.Count("active_parameters", CountActiveParameters(architecture));
  writer.Count("trainable_parameters", memory.parameters.trainable);
  WriteGroups(writer, reading.workload, counts, memory.parameters.trainable);
  writer.Key("source_ids");
  writer.BeginList();
  if (known != nullptr) {
    for (const std::string& id : known->source_ids) writer.Text(id);
  }
  writer.EndList();
  writer.EndObject();
}

void WriteRecipe(JsonWriter& writer, const Workload& workload, const RecipeBytes& recipe) {
  writer.Key("recipe");
  writer.BeginObject();
  writer.Text("code", RecipeCode(workload));
  writer.Key("bytes_per_trainable_parameter");
  writer.BeginObject();
  writer.Number("weights", recipe.weights);
  writer.Number("gradients", recipe.gradients);
  writer.Number("optimizer_states", recipe.optimizer_states);
  writer.Number("optimizer_transient", recipe.optimizer_transient);
  writer.EndObject();
  const bool freezes_tower = workload.architecture.vision && !workload.method.trains_vision_tower;
  if (workload.method.kind == MethodKind::kFull && !freezes_tower) {
    writer.Null("bytes_per_frozen_parameter");
  } else {
    writer.Number("bytes_per_frozen_parameter", recipe.frozen);
  }
  writer.EndObject();
}

}  // namespace tunefit
