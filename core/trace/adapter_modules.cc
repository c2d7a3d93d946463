// What PEFT adds to a model's modules when it is built.
#include <algorithm>
#include <string>
#include <vector>

#include "core/trace/modules.h"

namespace tunefit {
namespace {

bool IsAmong(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), std::string(name)) != names.end();
}

}  // namespace

bool ModuleFactory::Adapted(const char* name) const {
  const Method& method = workload_.method;
  return AdaptsModules(method.kind) && (method.all_linear || IsAmong(method.target_modules, name));
}

Adapter ModuleFactory::MakeAdapter(const LinearShape& shape, Place place) {
  const Method& method = workload_.method;
  const std::int64_t rank = AdapterRank(method, shape.name);
  Adapter adapter = MakeLowRank(shape.in_features, rank, {rank, shape.out_features}, place);
  if (method.dora) {
    adapter.magnitude = tracer_.Weight(VectorShape(shape.out_features), method.adapter_dtype, Term::kAdapters,
                                       "lora_magnitude_vector", true, place.count);
  }
  return adapter;
}

/// `rows` of lora_A; `up`: a row of lora_B, and how many.
Adapter ModuleFactory::MakeLowRank(std::int64_t in, std::int64_t rows, Up up, Place place) {
  const Method& method = workload_.method;
  Adapter adapter;
  adapter.rank = static_cast<double>(up.rank);
  adapter.dropout = method.dropout;
  adapter.dtype = method.adapter_dtype;
  adapter.casts_input = AdapterCastsInput(workload_);
  adapter.fused = workload_.fused.lora && method.dropout == 0 && !method.dora;  // the fused kernels know neither
  adapter.dora_reuses_base = workload_.habits.dora_reuses_base;
  adapter.down =
      tracer_.Weight(MatrixShape(rows, in), method.adapter_dtype, Term::kAdapters, "lora_A.weight", true, place.count);
  adapter.up = tracer_.Weight(MatrixShape(up.out, up.rank), method.adapter_dtype, Term::kAdapters, "lora_B.weight",
                              true, place.count);
  return adapter;
}

LinearModule ModuleFactory::MakeJoinedLinear(const Attention& attention, Place place) {
  LinearShape joined = attention.query;
  joined.name = "qkv";
  joined.out_features += attention.key.out_features + attention.value.out_features;
  LinearModule module = MakeMatrix(joined, joined.name, Term::kAttention, place);
  std::int64_t parts = 0;
  std::int64_t reached = 0;
  std::int64_t rank = 0;
  for (const LinearShape* part : {&attention.query, &attention.key, &attention.value}) {
    if (!Adapted(part->name)) continue;
    ++parts;
    reached += part->out_features;
    rank = AdapterRank(workload_.method, part->name);
  }
  if (parts == 0) return module;
  module.adapter = MakeLowRank(joined.in_features, parts * rank, {rank, reached}, place);
  module.adapter->parts = parts;
  module.adapter->reached = static_cast<double>(reached);
  module.adapter->joins_parts = attention.kv_heads < attention.heads;
  return module;
}

Adapter ModuleFactory::MakeExpertAdapter(const char* name, std::int64_t experts, std::int64_t in, std::int64_t out,
                                         Place place) {
  const Method& method = workload_.method;
  const std::int64_t rank = AdapterRank(method, name);
  Adapter adapter;
  adapter.rank = static_cast<double>(rank);
  adapter.dropout = method.dropout;
  adapter.dtype = method.adapter_dtype;
  const auto add = [&](std::int64_t elements, const char* role) {
    return tracer_.Weight(MatrixShape(experts, elements), method.adapter_dtype, Term::kAdapters, role, true,
                          place.count);
  };
  adapter.down = add(rank * in, "lora_A.weight");
  adapter.up = add(out * rank, "lora_B.weight");
  return adapter;
}

/// peft tuners/ia3/layer.py, IA3Layer.update_layer: a row before the matrix, a column after it.
Rescaling ModuleFactory::MakeRescaling(const LinearShape& shape, Place place) {
  const bool of_input = IsAmong(workload_.method.feedforward_modules, shape.name);
  const WeightShape vector = of_input ? MatrixShape(1, shape.in_features) : MatrixShape(shape.out_features, 1);
  return {tracer_.Weight(vector, workload_.method.adapter_dtype, Term::kAdapters, "ia3_l", true, place.count),
          of_input};
}

/// peft tuners/lora/layer.py, Embedding.update_layer.
Adapter ModuleFactory::MakeTableAdapter(std::int64_t width) {
  tracer_.scope = {"embed_tokens", Term::kEmbedding, false};
  const Method& method = workload_.method;
  Adapter adapter;
  const std::int64_t rank = AdapterRank(method, "embed_tokens");
  adapter.rank = static_cast<double>(rank);
  adapter.dtype = method.adapter_dtype;
  adapter.down = tracer_.Weight(MatrixShape(rank, workload_.architecture.vocab_size), method.adapter_dtype,
                                Term::kAdapters, "lora_embedding_A", true, 1);
  adapter.up =
      tracer_.Weight(MatrixShape(width, rank), method.adapter_dtype, Term::kAdapters, "lora_embedding_B", true, 1);
  return adapter;
}

Value ModuleFactory::MakePrompt(std::int64_t width) {
  tracer_.scope = {"prompt_encoder.embedding", Term::kEmbedding, false};
  const Method& method = workload_.method;
  return tracer_.Weight(MatrixShape(method.virtual_tokens, width), method.adapter_dtype, Term::kAdapters, "weight",
                        true, 1);
}

}  // namespace tunefit
