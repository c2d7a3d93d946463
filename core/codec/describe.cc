#include "core/codec/describe.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/issue_codes.h"
#include "core/codec/json_writer.h"
#include "core/codec/request_words.h"

namespace tunefit {
namespace {

void WriteTexts(JsonWriter& writer, std::string_view key, const std::vector<std::string>& texts) {
  writer.Key(key);
  writer.BeginList();
  for (const std::string& text : texts) writer.Text(text);
  writer.EndList();
}

void WriteModels(JsonWriter& writer, const Catalog& catalog) {
  writer.Key("models");
  writer.BeginList();
  for (const CatalogModel& model : catalog.models) {
    writer.BeginObject();
    writer.Text("id", model.id);
    writer.Text("name", model.name);
    writer.TextOrNull("hf_id", model.hf_id);
    WriteTexts(writer, "aliases", model.aliases);
    writer.Text("family", model.family);
    writer.Text("organisation", model.organisation);
    writer.Count("parameters", model.parameters);
    writer.CountOrNull("context_tokens", model.architecture.context_tokens);
    writer.Text("model_type", model.architecture.model_type);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteGpus(JsonWriter& writer, const Catalog& catalog) {
  writer.Key("gpus");
  writer.BeginList();
  for (const CatalogGpu& row : catalog.gpus) {
    const Gpu& gpu = row.gpu;
    writer.BeginObject();
    writer.Text("id", gpu.id);
    writer.Text("name", gpu.name);
    writer.Text("vendor", gpu.vendor);
    writer.Text("segment", gpu.segment);
    writer.Text("architecture", gpu.architecture);
    writer.Number("usable_bytes", gpu.usable_bytes);
    writer.Number("memory_bytes", gpu.memory_bytes);
    writer.TextOrNull("release", row.release);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteStacks(JsonWriter& writer, const Catalog& catalog) {
  writer.Key("stacks");
  writer.BeginList();
  for (const CatalogStack& stack : catalog.stacks) {
    writer.BeginObject();
    writer.Text("id", stack.id);
    writer.Text("name", stack.name);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteServers(JsonWriter& writer, const Market& market) {
  writer.Key("servers");
  writer.BeginList();
  for (const CatalogServer& server : market.servers) {
    writer.BeginObject();
    writer.Text("id", server.id);
    writer.Text("name", server.name);
    WriteTexts(writer, "gpus", server.gpus);
    WriteTexts(writer, "gpus_unconfirmed", server.gpus_unconfirmed);
    writer.Count("gpus_max", server.gpus_max);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteWords(JsonWriter& writer, std::string_view field, std::span<const std::string_view> known) {
  writer.Key(field);
  writer.BeginList();
  for (const std::string_view word : known) writer.Text(word);
  writer.EndList();
}

void WriteChoices(JsonWriter& writer, const Catalog& catalog) {
  writer.Key("choices");
  writer.BeginObject();
  WriteWords(writer, "task", words::kTask);
  WriteWords(writer, "reference", words::kReference);
  WriteWords(writer, "rollout.engine", words::kEngine);
  WriteWords(writer, "method.kind", words::modelled::kMethod);
  WriteWords(writer, "method.adapter_dtype", words::kAdapterDtype);
  WriteWords(writer, "method.modules_to_save_dtype", words::kAdapterDtype);
  WriteWords(writer, "method.vision_tower", words::kVisionTower);
  WriteWords(writer, "quantization.kind", words::kQuantization);
  WriteWords(writer, "quantization.prepare_kbit", words::kPrepareKbit);
  WriteWords(writer, "precision.weights", words::modelled::kPrecision);
  WriteWords(writer, "precision.compute", words::kPrecision);
  WriteWords(writer, "optimizer", words::modelled::kOptimizer);
  WriteWords(writer, "fused_kernels", words::kFusedKernels);
  WriteWords(writer, "batch.packing", words::kPacking);
  WriteWords(writer, "gradient_checkpointing", words::kCheckpointing);
  WriteWords(writer, "attention", words::kAttention);
  WriteWords(writer, "loss", words::kLoss);
  writer.Key("stack");
  writer.BeginList();
  for (const CatalogStack& stack : catalog.stacks) writer.Text(stack.id);
  writer.EndList();
  WriteWords(writer, "parallel.strategy", words::kStrategy);
  WriteWords(writer, "include", words::modelled::kInclude);
  WriteWords(writer, "detail", words::kDetail);
  writer.EndObject();
}

void WriteLimit(JsonWriter& writer, std::string_view field, double low, double high) {
  writer.Key(field);
  writer.BeginObject();
  writer.Number("low", low);
  writer.Number("high", high);
  writer.EndObject();
}

void WriteLimit(JsonWriter& writer, std::string_view field, words::Interval limits) {
  WriteLimit(writer, field, static_cast<double>(limits.low), static_cast<double>(limits.high));
}

void WriteLimits(JsonWriter& writer) {
  writer.Key("limits");
  writer.BeginObject();
  WriteLimit(writer, "method.rank", words::kRank);
  WriteLimit(writer, "method.virtual_tokens", words::kVirtualTokens);
  WriteLimit(writer, "method.dropout", 0, 1);
  WriteLimit(writer, "optimizer_rank", words::kRank);
  WriteLimit(writer, "batch.per_device", words::kPerDevice);
  WriteLimit(writer, "batch.gradient_accumulation", words::kAccumulation);
  WriteLimit(writer, "batch.sequence_length", words::kSequenceLength);
  WriteLimit(writer, "rollout.generations", words::kGenerations);
  WriteLimit(writer, "rollout.prompt_length", words::kSequenceLength);
  WriteLimit(writer, "rollout.completion_length", words::kSequenceLength);
  WriteLimit(writer, "rollout.memory_share", 0, 1);
  WriteLimit(writer, "evaluation.per_device", words::kPerDevice);
  WriteLimit(writer, "evaluation.examples", words::kEvaluationExamples);
  WriteLimit(writer, "evaluation.accumulation_steps", words::kAccumulation);
  WriteLimit(writer, "parallel.gpus", words::kGpus);
  writer.EndObject();
}

}  // namespace

std::string WriteDescription(const Catalog& catalog, const Market& market) {
  JsonWriter writer(60000);
  writer.BeginObject();
  writer.Text("version", TUNEFIT_VERSION);
  writer.Text("catalog_date", catalog.date);
  WriteModels(writer, catalog);
  WriteGpus(writer, catalog);
  WriteStacks(writer, catalog);
  WriteServers(writer, market);
  WriteChoices(writer, catalog);
  WriteLimits(writer);
  writer.Key("issue_codes");
  writer.BeginList();
  for (const IssueCode& known : kIssueCodes) writer.Text(known.code);
  writer.EndList();
  writer.EndObject();
  return writer.Take();
}

}  // namespace tunefit
