#include "core/codec/hf_config.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "core/codec/hf_family.h"
#include "core/codec/hf_layers.h"
#include "core/codec/hf_parts.h"
#include "core/codec/hf_quantization.h"
#include "core/codec/hf_reading.h"
#include "core/codec/hf_stacks.h"
#include "core/codec/hf_streams.h"
#include "core/codec/hf_vision.h"
#include "core/codec/words.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

/// Classes whose forward returned its logits as the head made them when most others called float() on them
/// (transformers 4.45, modeling_*.py; Qwen's own modeling_qwen.py).
bool HasPlainLogits(std::string_view model_type) {
  static constexpr std::string_view kPlain[] = {"gpt2", "gpt_neox", "gpt_bigcode",     "bloom", "opt",
                                                "mpt",  "falcon",   "RefinedWebModel", "qwen",  "RefinedWeb"};
  return std::find(std::begin(kPlain), std::end(kPlain), model_type) != std::end(kPlain);
}

/// The text part's own word, then the whole's, then the class's.
bool IsTied(HfReading& reading, const ObjectReader& whole) {
  constexpr std::string_view kKey = "tie_word_embeddings";
  std::optional<bool> tied = reading.config.Flag(kKey);
  if (!tied && &whole != &reading.config) tied = whole.Flag(kKey);
  if (!tied) reading.Assume(kKey, reading.family.tied_by_default ? "true" : "false");
  return tied.value_or(reading.family.tied_by_default);
}

/// DebertaV2Encoder: a row for each bucket of distances, or each distance, in both directions.
std::int64_t DistanceRows(const HfReading& reading, const HfSizes& sizes) {
  const auto count = [&reading](std::string_view key) {  // -1 stands for none
    const JsonValue* value = reading.config.Find(key);
    const bool none = value != nullptr && value->kind == JsonKind::kInteger && value->integer < 1;
    return none ? 0 : reading.config.Count(key, 1, kSizeLimit).value_or(0);
  };
  const std::int64_t buckets = count("position_buckets");
  const std::int64_t distances = count("max_relative_positions");
  if (buckets > 0) return 2 * buckets;
  return 2 * (distances > 0 ? distances : sizes.context);
}

void ReadDistances(const HfReading& reading, const HfSizes& sizes, Architecture& model) {
  model.distance_rows = DistanceRows(reading, sizes);
  model.norms_distances = reading.config.Text("norm_rel_ebd").value_or("none").find("layer_norm") != std::string::npos;
  model.masks_embeddings = true;
}

Architecture ReadModel(HfReading& reading, const ObjectReader& whole, const HfSizes& sizes) {
  const Family& family = reading.family;
  Architecture model;
  model.model_type = family.model_type;
  model.hidden_size = sizes.hidden;
  model.vocab_size = sizes.vocab;
  model.context_tokens = sizes.context;
  model.position_offset = family.learned_positions ? family.position_offset : 0;
  const bool counts_offset = family.encoder != EncoderKind::kNone;  // max_position_embeddings is the table's rows
  model.position_rows = family.learned_positions ? sizes.context + (counts_offset ? 0 : family.position_offset) : 0;
  const std::int64_t embedded = reading.config.Count("word_embed_proj_dim", 1, kSizeLimit).value_or(sizes.hidden);
  if (family.model_type == "opt" && embedded != sizes.hidden) model.embedding_width = embedded;
  model.tied_head = IsTied(reading, whole);
  model.scales_embedding = family.scales_embedding;
  model.scales_logits = family.scales_residual_and_logits || family.scales_logits;
  model.embedding_norm = family.embedding_norm;
  model.encoder = family.encoder;
  model.head_norm = family.norm;
  if (family.encoder != EncoderKind::kNone) model.head_bias = true;  // of the masked language model's output
  if (family.has_token_types) {
    model.token_types = reading.config.Count("type_vocab_size", 0, kSizeLimit).value_or(family.token_types_by_default);
  }
  if (family.eager == EagerStyle::kDisentangled) ReadDistances(reading, sizes, model);
  model.has_final_norm = family.has_final_norm;
  model.eager_only = family.eager_only;
  model.plain_logits = HasPlainLogits(family.model_type);
  model.logits_softcap = ReadSoftcap(reading, "final_logit_softcapping");
  model.embedding_dropout = ReadDropout(reading, family.embedding_dropout_key);
  model.output_dropout = ReadDropout(reading, family.output_dropout_key);
  model.scales_head_input = family.scales_tied_head_input && model.tied_head;
  model.final_norm = family.norm;
  model.head_bias =
      family.head_bias || (!family.head_bias_key.empty() && reading.config.Flag(family.head_bias_key).value_or(false));
  model.layer_path = family.layer_path;
  if (*family.cross_query != '\0') {
    ReadStacks(reading, sizes, model);
  } else {
    model.runs = ReadLayerRuns(reading, sizes);
  }
  if (family.streams) ReadStreams(reading, sizes, model);
  return model;
}

void CheckSize(const HfReading& reading, const Architecture& model) {
  const double counted = ApproximateParameters(model);
  if (counted <= kParameterLimit) return;
  const std::string value = NumberText(counted);
  const std::string high = NumberText(kParameterLimit);
  reading.config.Fault("model_too_large", "",
                       Join({"describes a model of about ", value, " parameters; the most is ", high}),
                       {{"value", value}, {"high", high}});
}

/// The tower of a class for text and images. Without `vision_config` the text part stands alone: how large a tower
/// would be is not guessed.
void ReadTower(const VisionClass& rules, const ObjectReader& whole, HfReading& reading, Architecture& model) {
  model.text_type = model.model_type;
  model.model_type = rules.model_type;
  model.layer_path = rules.layer_path;
  const ObjectReader config(whole, "vision_config");
  if (!config.present() && rules.tower == TowerKind::kMllama) return whole.Require("vision_config");
  if (!config.present()) {
    if (whole.Find("vision_config") != nullptr) return;  // of another type, which is an issue already
    reading.assumptions.push_back({.field = whole.PathTo("vision_config"), .value = "null", .reason = "core_default"});
    return;
  }
  HfReading vision(config, Family{});
  model.vision = ReadVisionTower(rules, whole, vision, model.hidden_size);
  if (rules.tower == TowerKind::kMllama) MoveCrossLayers(reading, model);
  std::move(vision.assumptions.begin(), vision.assumptions.end(), std::back_inserter(reading.assumptions));
}

/// `whole` is the config, `config` the object in it that describes the language model; `rules` where that is a part.
HfConfig Read(const ObjectReader& whole, const ObjectReader& config, const Family& family, const VisionClass* rules) {
  const std::size_t before = config.issues().size();
  HfReading reading(config, family);
  HfConfig result;
  const HfSizes sizes = ReadHfSizes(reading);
  result.architecture = ReadModel(reading, whole, sizes);
  if (rules != nullptr) ReadTower(*rules, whole, reading, result.architecture);
  ReadStoredQuantization(whole, result);
  CheckSize(reading, result.architecture);
  result.assumptions = std::move(reading.assumptions);
  if (config.issues().size() > before) return result;
  for (Issue& issue : Validate(result.architecture)) {
    issue.field = config.PathTo(issue.field == "num_key_value_heads" ? KvHeadsName(reading) : issue.field);
    config.issues().push_back(std::move(issue));
  }
  return result;
}

HfConfig ReadWithTower(const ObjectReader& config, const VisionClass& rules) {
  const std::size_t before = config.issues().size();
  const ObjectReader nested(config, "text_config");
  if (config.issues().size() > before) return {};
  if (!nested.present() && !rules.flat_text) {
    config.Require("text_config");
    return {};
  }
  const ObjectReader& text = nested.present() ? nested : config;
  return Read(config, text, *TextFamilyOf(rules, text), &rules);
}

}  // namespace

HfConfig ReadHfConfig(const ObjectReader& config) {
  config.Require("model_type");
  const std::optional<std::string_view> model_type = config.Text("model_type");
  if (!model_type) return {};
  const Family* family = FindFamily(*model_type);
  const VisionClass* rules = FindVisionClass(*model_type);
  if (rules != nullptr && (family == nullptr || config.Find("text_config") != nullptr)) {
    return ReadWithTower(config, *rules);
  }
  if (family != nullptr) return Read(config, config, *family, nullptr);
  const std::string value = Shortened(*model_type);
  config.Fault("not_modelled", "model_type",
               Join({"is \"", value, "\"; modelled so far are ", ModelledFamilies(), ", ", VisionClasses()}),
               {{"value", value}});
  return {};
}

}  // namespace tunefit
