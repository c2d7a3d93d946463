#include <cmath>
#include <cstdlib>
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

/// What describes a tower for images.
void CheckVisionKeys(const ObjectReader& config) {
  static constexpr Known kKnown = {"architecture",
                                   "attention_heads",
                                   "deepstack_visual_indexes",
                                   "depth",
                                   "hidden_size",
                                   "image_size",
                                   "intermediate_size",
                                   "max_num_tiles",
                                   "num_attention_heads",
                                   "num_channels",
                                   "num_global_layers",
                                   "num_heads",
                                   "num_hidden_layers",
                                   "num_position_embeddings",
                                   "out_hidden_size",
                                   "patch_size",
                                   "projector_input_dim",
                                   "projector_output_dim",
                                   "spatial_merge_size",
                                   "supported_aspect_ratios",
                                   "temporal_patch_size",
                                   "vision_output_dim",
                                   "vision_use_head",
                                   "vocab_size"};
  if (config.present()) config.RefuseUnknown(kKnown);
}

/// What describes a tower for sound.
void CheckAudioKeys(const ObjectReader& config) {
  static constexpr Known kKnown = {"conf_conv_kernel_size", "conf_num_attention_heads", "conf_num_hidden_layers",
                                   "hidden_size",           "input_feat_size",          "vocab_size"};
  if (config.present()) config.RefuseUnknown(kKnown);
}

/// Keys that a row may hold: the ones that count parameters or shape memory.
void RefuseUnknownKeys(const ObjectReader& config) {
  static constexpr Known kKnown = {"add_qkv_bias",
                                   "altup_num_inputs",
                                   "attention_bias",
                                   "attn_config",
                                   "attn_layer_offset",
                                   "attn_layer_period",
                                   "attn_logit_softcapping",
                                   "attn_pdrop",
                                   "attn_type_list",
                                   "audio_config",
                                   "bias",
                                   "block_configs",
                                   "conv_kernel",
                                   "conv_L_cache",
                                   "cross_attention_layers",
                                   "d_ff",
                                   "d_kv",
                                   "d_model",
                                   "decoder_attention_heads",
                                   "decoder_ffn_dim",
                                   "decoder_layers",
                                   "dim",
                                   "do_layer_norm_before",
                                   "dropout",
                                   "embd_pdrop",
                                   "encoder_attention_heads",
                                   "encoder_ffn_dim",
                                   "encoder_layers",
                                   "expansion_ratio",
                                   "expert_layer_offset",
                                   "expert_layer_period",
                                   "feed_forward_proj",
                                   "ff_intermediate_size",
                                   "ffn_config",
                                   "ffn_dim",
                                   "ffn_hidden_size",
                                   "final_logit_softcapping",
                                   "first_k_dense_replace",
                                   "full_attention_interval",
                                   "head_dim",
                                   "hidden_act",
                                   "hidden_dim",
                                   "hidden_size",
                                   "hidden_size_per_layer_input",
                                   "hybrid_override_pattern",
                                   "index_head_dim",
                                   "index_n_heads",
                                   "interleave_moe_layer_step",
                                   "intermediate_size",
                                   "intermediate_size_mlp",
                                   "kv_channels",
                                   "kv_lora_rank",
                                   "laurel_rank",
                                   "layer_types",
                                   "linear_conv_kernel_dim",
                                   "linear_key_head_dim",
                                   "linear_num_key_heads",
                                   "linear_num_value_heads",
                                   "linear_value_head_dim",
                                   "lm_head_bias",
                                   "mamba_d_conv",
                                   "mamba_d_head",
                                   "mamba_d_state",
                                   "mamba_dt_rank",
                                   "mamba_expand",
                                   "mamba_head_dim",
                                   "mamba_n_groups",
                                   "mamba_n_heads",
                                   "mamba_num_heads",
                                   "max_position_embeddings",
                                   "max_relative_positions",
                                   "max_seq_len",
                                   "max_source_positions",
                                   "max_target_positions",
                                   "mlp_bias",
                                   "mm_tokens_per_image",
                                   "model_type",
                                   "moe_intermediate_size",
                                   "moe_k",
                                   "moe_layer_start_index",
                                   "moe_num_experts",
                                   "moe_num_shared_experts",
                                   "moe_shared_expert_intermediate_size",
                                   "moe_topk",
                                   "multi_query",
                                   "multi_query_group_num",
                                   "n_embd",
                                   "n_groups",
                                   "n_head",
                                   "n_heads",
                                   "n_inner",
                                   "n_layer",
                                   "n_layers",
                                   "n_positions",
                                   "n_routed_experts",
                                   "n_shared_experts",
                                   "new_decoder_architecture",
                                   "no_bias",
                                   "norm_rel_ebd",
                                   "norm_topk_prob",
                                   "num_attention_heads",
                                   "num_decoder_layers",
                                   "num_experts",
                                   "num_experts_per_tok",
                                   "num_heads",
                                   "num_hidden_layers",
                                   "num_key_value_heads",
                                   "num_kv_heads",
                                   "num_kv_shared_layers",
                                   "num_layers",
                                   "num_ln_in_parallel_attn",
                                   "num_local_experts",
                                   "num_mel_bins",
                                   "padded_vocab_size",
                                   "partial_rotary_factor",
                                   "pos_att_type",
                                   "position_biased_input",
                                   "position_buckets",
                                   "position_embedding_type",
                                   "q_lora_rank",
                                   "qk_layernorm",
                                   "qk_nope_head_dim",
                                   "qk_rope_head_dim",
                                   "query_pre_attn_scalar",
                                   "relative_attention",
                                   "resid_pdrop",
                                   "rotary_dim",
                                   "rotary_pct",
                                   "seq_length",
                                   "share_att_key",
                                   "shared_expert_intermediate_size",
                                   "shared_intermediate_size",
                                   "sliding_window",
                                   "spatial_merge_size",
                                   "ssm_state_size",
                                   "text_config",
                                   "tie_word_embeddings",
                                   "type_vocab_size",
                                   "use_parallel_residual",
                                   "use_qk_norm",
                                   "use_qkv_bias",
                                   "v_head_dim",
                                   "vision_config",
                                   "vocab_size",
                                   "vocab_size_per_layer_input",
                                   "word_embed_proj_dim"};
  config.RefuseUnknown(kKnown);
}

void CheckConfigKeys(const ObjectReader& config, const HfConfig& read) {
  const ObjectReader text(config, "text_config");
  const ObjectReader vision(config, "vision_config");
  RefuseUnknownKeys(config);
  if (text.present()) RefuseUnknownKeys(text);
  CheckVisionKeys(vision);
  CheckAudioKeys(ObjectReader(config, "audio_config"));
  // A row leaves nothing that counts to its class: what is missing here was assumed.
  for (const Assumption& assumption : read.assumptions) {
    const std::string_view key = std::string_view(assumption.field).substr(assumption.field.rfind('.') + 1);
    const auto is_in = [&](const ObjectReader& part) { return part.present() && part.PathTo(key) == assumption.field; };
    (is_in(text) ? text : is_in(vision) ? vision : config).Require(key);
  }
  const auto type = config.Text("model_type");
  if (type == "gpt2") {
    for (const std::string_view key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) config.Require(key);
  }
  // Null says that there is no window; a key that is absent says nothing.
  if (type == "mistral" && !config.IsNull("sliding_window")) config.Require("sliding_window");
  if (read.architecture.text_type == "mistral" && !text.IsNull("sliding_window")) text.Require("sliding_window");
}

/// A printed size is the count within its rounding.
void CheckPrintedTotal(const ObjectReader& row, std::int64_t parameters) {
  constexpr double kRounding = 0.01;
  const auto printed = row.Count("printed_total", 1000000, kMostParameters);
  if (!printed || std::abs(static_cast<double>(parameters - *printed)) <= kRounding * static_cast<double>(*printed)) {
    return;
  }
  const std::string value = std::to_string(parameters);
  row.Fault("implausible", "printed_total", Join({"is more than a hundredth away from the parameters, ", value}),
            {{"value", value}});
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
  CheckConfigKeys(config, read);
  return std::move(read.architecture);
}

/// The names of the row, which stands at the end of the catalog's rows.
void AddNames(Catalog& catalog) {
  const CatalogModel& model = catalog.models.back();
  const auto add = [&](std::string_view name) {
    if (!name.empty()) catalog.model_names.emplace_back(LowerCase(name), catalog.models.size() - 1);
  };
  add(model.id);
  add(model.hf_id);
  for (const std::string& alias : model.aliases) add(alias);
}

void ReadModel(const ObjectReader& row, const KnownNames& names, Catalog& catalog) {
  static constexpr Known kKnown = {"id",           "name",      "hf_id",       "aliases",       "family",
                                   "organisation", "licence",   "release",     "good_for",      "config",
                                   "parameters",   "hub_total", "adjustments", "printed_total", "confidence",
                                   "note",         "sources"};
  static constexpr Known kSourceKnown = {"config", "parameters", "card"};
  static constexpr Known kConfidence = {"A", "B", "C", "D"};
  static constexpr FieldRule kLicence = rules::Text("licence", 120);
  static constexpr FieldRule kGoodFor = rules::Texts(rules::Name("good_for", Table::kPurposes)).Items(1, 3);
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
  CheckPrintedTotal(row, stated.value_or(0));
  row.Require("confidence");
  row.Choice("confidence", kConfidence);
  row.Text("note", 240);
  CheckField(row, kLicence, names);
  CheckField(row, kGoodFor, names);
  model.source_ids = ReadSourceIds(row, names);
  const ObjectReader sources(row, "sources");
  sources.RefuseUnknown(kSourceKnown);
  for (const std::string_view key : kSourceKnown) sources.Require(key);
  RefuseSecond(row, catalog.models, model.id,
               [](const CatalogModel& earlier) -> const std::string& { return earlier.id; });
  catalog.models.push_back(std::move(model));
  AddNames(catalog);
}

}  // namespace

void ReadModels(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  ForEachRow(bundle, "models", [&](const ObjectReader& row) { ReadModel(row, names, catalog); });
  SortNames(catalog.model_names, bundle, "duplicate_name", "models");
}

}  // namespace tunefit
