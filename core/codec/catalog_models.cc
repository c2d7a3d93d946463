#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/hf_config.h"
#include "core/codec/words.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

constexpr std::int64_t kMostParameters = 100000000000000;

/// "owner/name" as the hub allows it.
bool IsHubName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == name.npos || slash == 0 || slash + 1 == name.size() || name.size() > 120) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (i != slash && !letter && c != '.' && c != '_' && c != '-') return false;
  }
  return true;
}

void CheckHubName(const ObjectReader& row, std::string_view key, std::string_view name) {
  if (name.empty() || IsHubName(name)) return;
  const std::string shown = Shortened(name);
  row.Fault("malformed", key, Join({"must be a name of the hub, \"owner/name\", not \"", shown, "\""}),
            {{"value", shown}});
}

/// Keys that a row may hold: the ones that count parameters or shape memory.
void CheckConfigKeys(const ObjectReader& config) {
  static constexpr Known kKnown = {"model_type",
                                   "hidden_size",
                                   "intermediate_size",
                                   "num_attention_heads",
                                   "num_key_value_heads",
                                   "head_dim",
                                   "kv_channels",
                                   "n_embd",
                                   "n_head",
                                   "num_hidden_layers",
                                   "n_layer",
                                   "vocab_size",
                                   "max_position_embeddings",
                                   "n_positions",
                                   "tie_word_embeddings",
                                   "attention_bias",
                                   "mlp_bias",
                                   "bias",
                                   "no_bias",
                                   "sliding_window",
                                   "attn_logit_softcapping",
                                   "final_logit_softcapping",
                                   "query_pre_attn_scalar",
                                   "embd_pdrop",
                                   "attn_pdrop",
                                   "resid_pdrop"};
  config.RefuseUnknown(kKnown);
  config.Require("tie_word_embeddings");
  const auto type = config.Text("model_type");
  if (type == "gpt2") {
    for (const std::string_view key : {"n_positions", "embd_pdrop", "attn_pdrop", "resid_pdrop"}) config.Require(key);
  } else if (type) {
    config.Require("max_position_embeddings");
    if (type != "qwen") config.Require("num_key_value_heads");
  }
  // Null says that there is no window; a key that is absent says nothing.
  if (type == "mistral" && !config.IsNull("sliding_window")) config.Require("sliding_window");
  if (type == "qwen3" || type == "gemma2") config.Require("head_dim");
}

/// What the hub shows besides must be explained to the last parameter.
void CheckHubTotal(const ObjectReader& row, std::int64_t parameters) {
  static constexpr Known kKnown = {"what", "count"};
  std::int64_t explained = parameters;
  const auto total = row.Count("hub_total", 1000000, kMostParameters);
  if (total && *total != parameters) row.Require("adjustments");
  ForEachRow(row, "adjustments", [&](const ObjectReader& adjustment) {
    adjustment.RefuseUnknown(kKnown);
    ReadText(adjustment, "what", 160);
    adjustment.Require("count");
    explained += adjustment.Count("count", -kMostParameters, kMostParameters).value_or(0);
  });
  if (explained == total.value_or(parameters)) return;
  const std::string value = std::to_string(explained);
  row.Fault("implausible", "hub_total", Join({"is not what the parameters and adjustments add up to, ", value}),
            {{"value", value}});
}

CatalogModel ReadNames(const ObjectReader& row) {
  CatalogModel model;
  model.id = ReadId(row);
  model.name = ReadText(row, "name", 120);
  model.hf_id = ReadText(row, "hf_id", 120);
  CheckHubName(row, "hf_id", model.hf_id);
  row.Require("aliases");
  for (const std::string_view alias : row.Texts("aliases").value_or(std::vector<std::string_view>())) {
    CheckHubName(row, "aliases", alias);
    model.aliases.emplace_back(alias);
  }
  model.family = ReadText(row, "family", 40);
  model.organisation = ReadText(row, "organisation", 60);
  ReadText(row, "licence", 120);
  ReadRelease(row);
  return model;
}

Architecture ReadConfig(const ObjectReader& row, Issues& issues) {
  row.Require("config");
  const JsonValue* value = row.Object("config");
  if (value == nullptr) return {};
  const std::string path = row.PathTo("config");
  const ObjectReader config(*value, path, NullRule::kAbsent, issues);
  const std::size_t before = issues.size();
  HfConfig read = ReadHfConfig(config);
  if (issues.size() > before && issues[before].code == "not_modelled") {
    issues[before].code = "unknown_value";  // in the catalog a model that is not modelled is a mistake of the row
    return {};
  }
  CheckConfigKeys(config);
  return std::move(read.architecture);
}

void ReadModel(const ObjectReader& row, Catalog& catalog) {
  static constexpr Known kKnown = {"id",           "name",        "hf_id",      "aliases", "family",
                                   "organisation", "licence",     "release",    "config",  "parameters",
                                   "hub_total",    "adjustments", "confidence", "note",    "sources"};
  static constexpr Known kSourceKnown = {"config", "parameters", "card"};
  static constexpr Known kConfidence = {"A", "B"};
  Issues& issues = row.issues();
  row.RefuseUnknown(kKnown);
  CatalogModel model = ReadNames(row);
  const std::size_t before = issues.size();
  model.architecture = ReadConfig(row, issues);
  row.Require("parameters");
  const auto stated = row.Count("parameters", 1000000, kMostParameters);
  if (stated && issues.size() == before) {
    model.parameters = CountParameters(model.architecture).total();
    if (model.parameters != *stated) {
      const std::string counted = std::to_string(model.parameters);
      row.Fault("parameters_mismatch", "parameters", Join({"is not what the config gives, ", counted}),
                {{"value", std::to_string(*stated)}, {"expected", counted}});
    }
  }
  CheckHubTotal(row, stated.value_or(0));
  row.Require("confidence");
  row.Choice("confidence", kConfidence);
  row.Text("note", 240);
  model.source_ids = RowSources(row, catalog).ids();
  const ObjectReader sources(row, "sources");
  sources.RefuseUnknown(kSourceKnown);
  for (const std::string_view key : kSourceKnown) sources.Require(key);
  RefuseSecond(row, catalog.models, model.id,
               [](const CatalogModel& earlier) -> const std::string& { return earlier.id; });
  catalog.models.push_back(std::move(model));
}

}  // namespace

void ReadModels(const ObjectReader& bundle, Catalog& catalog) {
  ForEachRow(bundle, "models", [&](const ObjectReader& row) { ReadModel(row, catalog); });
}

}  // namespace tunefit
