#include "core/codec/describe.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/issue_codes.h"
#include "core/codec/json_writer.h"
#include "core/codec/request_fields.h"
#include "core/cost/pricing.h"

namespace tunefit {
namespace {

void WriteTexts(JsonWriter& writer, std::string_view key, std::span<const std::string_view> texts) {
  writer.Key(key);
  writer.BeginList();
  for (const std::string_view text : texts) writer.Text(text);
  writer.EndList();
}

void WriteTexts(JsonWriter& writer, std::string_view key, const std::vector<std::string>& texts) {
  WriteTexts(writer, key, std::vector<std::string_view>(texts.begin(), texts.end()));
}

/// What a run may ask for and the card lacks.
std::vector<std::string_view> CannotDo(const Gpu& gpu) {
  std::vector<std::string_view> missing;
  if (!ComputesIn(gpu, Dtype::kBf16)) missing.emplace_back("bf16");
  if (!ComputesIn(gpu, Dtype::kFp8)) missing.emplace_back("fp8");
  if (!RunsFlashAttention2(gpu)) missing.emplace_back("flash_attention_2");
  return missing;
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
    WriteTexts(writer, "aliases", row.aliases);
    writer.Text("vendor", gpu.vendor);
    writer.Text("segment", gpu.segment);
    writer.Text("architecture", gpu.architecture);
    writer.Number("usable_bytes", gpu.usable_bytes);
    writer.Number("memory_bytes", gpu.memory_bytes);
    writer.TextOrNull("release", row.release);
    writer.TextOrNull("compute_capability", gpu.compute_capability);
    WriteTexts(writer, "cannot", CannotDo(gpu));
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

template <typename Rows>
void WriteIds(JsonWriter& writer, std::string_view key, const Rows& rows) {
  writer.Key(key);
  writer.BeginList();
  for (const auto& row : rows) writer.Text(row.id);
  writer.EndList();
}

void WriteChoices(JsonWriter& writer, const Catalog& catalog) {
  writer.Key("choices");
  writer.BeginObject();
  for (const words::WordField& field : words::kWordFields) WriteTexts(writer, field.path, field.modelled);
  WriteIds(writer, "stack", catalog.stacks);
  WriteIds(writer, "hardware.interconnect", catalog.interconnects);
  WriteTexts(writer, "pricing.currency", CurrencyWords());
  WriteTexts(writer, "pricing.term", RentalTermWords());
  writer.EndObject();
}

void WriteLimit(JsonWriter& writer, std::string_view field, double low, double high) {
  writer.Key(field);
  writer.BeginObject();
  writer.Number("low", low);
  writer.Number("high", high);
  writer.EndObject();
}

void WriteLimits(JsonWriter& writer) {
  writer.Key("limits");
  writer.BeginObject();
  for (const auto& [path, limits] : words::kNumberFields) {
    WriteLimit(writer, path, static_cast<double>(limits.low), static_cast<double>(limits.high));
  }
  for (const PricingField& field : kPricingFields) {
    WriteLimit(writer, std::string("pricing.") + field.key, field.low, field.high);
  }
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
