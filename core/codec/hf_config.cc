#include "core/codec/hf_config.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec/hf_family.h"
#include "core/codec/hf_window.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::int64_t kSizeLimit = 1000000;
constexpr std::int64_t kLayerLimit = 1000;
constexpr std::int64_t kVocabLimit = 10000000;
constexpr std::int64_t kContextLimit = 100000000;

// Alternative names, the commonest first.
constexpr std::string_view kHidden[] = {"hidden_size", "n_embd", "n_embed", "d_model", "dim"};
constexpr std::string_view kLayers[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers"};
constexpr std::string_view kHeads[] = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
constexpr std::string_view kKvHeads[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"};
constexpr std::string_view kHeadDim[] = {"head_dim", "kv_channels", "d_kv", "attention_head_dim"};
constexpr std::string_view kFfn[] = {"intermediate_size", "n_inner", "ffn_dim",
                                     "ffn_hidden_size",   "d_ff",    "hidden_dim"};
constexpr std::string_view kContext[] = {"max_position_embeddings", "n_positions", "n_ctx", "seq_length", "max_seq_len",
                                         "max_sequence_length"};
constexpr std::string_view kVocab[] = {"vocab_size", "padded_vocab_size"};

struct Sizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, ffn = 0, context = 0, vocab = 0;
};

class ConfigReader {
 public:
  ConfigReader(const ObjectReader& config, const Family& family) : config_(config), family_(family) {}

  HfConfig Read();

 private:
  std::string_view NameOf(Names names) const;
  std::int64_t Required(Names names, std::int64_t limit) const;
  std::int64_t Optional(Names names, std::int64_t limit) const;
  void Assume(std::string_view key, std::string value);
  Sizes ReadSizes();
  void ReadHeads(Sizes& sizes);
  Attention ReadAttention(const Sizes& sizes);
  Mlp ReadMlp(const Sizes& sizes);
  Activation ReadActivation() const;
  double ReadDropout(std::string_view key) const;
  bool ReadSoftcap(std::string_view key) const;
  void ReadModel(const Sizes& sizes);
  void CheckSize(const Sizes& sizes) const;
  void ReadQuantization();

  const ObjectReader& config_;
  const Family& family_;
  HfConfig result_;
};

/// The name among these that the config uses; the commonest when it has none.
std::string_view ConfigReader::NameOf(Names names) const {
  for (const std::string_view name : names) {
    if (config_.Find(name) != nullptr) return name;
  }
  return names.front();
}

std::int64_t ConfigReader::Optional(Names names, std::int64_t limit) const {
  return config_.Count(NameOf(names), 1, limit).value_or(0);
}

std::int64_t ConfigReader::Required(Names names, std::int64_t limit) const {
  config_.Require(NameOf(names));
  return Optional(names, limit);
}

void ConfigReader::Assume(std::string_view key, std::string value) {
  result_.assumptions.push_back({.field = config_.PathTo(key), .value = std::move(value), .reason = "class_default"});
}

Sizes ConfigReader::ReadSizes() {
  Sizes sizes;
  sizes.hidden = Required(kHidden, kSizeLimit);
  sizes.layers = Required(kLayers, kLayerLimit);
  sizes.heads = Required(kHeads, kSizeLimit);
  sizes.vocab = Required(kVocab, kVocabLimit);
  sizes.context = Optional(kContext, kContextLimit);
  if (family_.learned_positions && sizes.context == 0) {
    sizes.context = 1024;  // GPT2Config
    Assume("n_positions", "1024");
  }
  ReadHeads(sizes);
  if (config_.Find(NameOf(kFfn)) == nullptr && !family_.gated) {
    sizes.ffn = 4 * sizes.hidden;
  } else {
    sizes.ffn = Required(kFfn, family_.widths_in_ffn * kSizeLimit);
    if (sizes.ffn % family_.widths_in_ffn != 0) {
      const std::string value = std::to_string(sizes.ffn);
      config_.Fault("not_even", NameOf(kFfn),
                    Join({"must be even, as this model type counts two matrices in it, not ", value}),
                    {{"value", value}});
    }
    sizes.ffn /= family_.widths_in_ffn;
  }
  return sizes;
}

void ConfigReader::ReadHeads(Sizes& sizes) {
  sizes.kv_heads = Optional(kKvHeads, kSizeLimit);
  if (family_.layout == QkvLayout::kFused && family_.biases != BiasRule::kAttentionByBias) sizes.kv_heads = sizes.heads;
  if (sizes.kv_heads == 0 && config_.Find(NameOf(kKvHeads)) == nullptr) {
    const bool by_class = family_.kv_heads_by_default != 0 && !config_.IsNull(kKvHeads[0]);
    sizes.kv_heads = by_class ? family_.kv_heads_by_default : sizes.heads;
    Assume(kKvHeads[0], std::to_string(sizes.kv_heads));
  }
  sizes.head_dim = Optional(kHeadDim, kSizeLimit);
  if (sizes.head_dim != 0 || sizes.heads == 0 || config_.Find(NameOf(kHeadDim)) != nullptr) return;
  if (family_.head_dim_by_default != 0 && !config_.IsNull(kHeadDim[0])) {
    sizes.head_dim = family_.head_dim_by_default;
    Assume(kHeadDim[0], std::to_string(sizes.head_dim));
  } else if (sizes.hidden % sizes.heads == 0) {
    sizes.head_dim = sizes.hidden / sizes.heads;
  } else if (sizes.hidden != 0) {
    const std::string heads = std::to_string(sizes.heads);
    const std::string hidden = std::to_string(sizes.hidden);
    config_.Fault("heads_do_not_divide", NameOf(kHeads),
                  Join({"must divide the hidden size, as there is no head_dim: ", hidden, " cannot be shared by ",
                        heads, " heads"}),
                  {{"value", heads}, {"hidden_size", hidden}});
  }
}

Attention ConfigReader::ReadAttention(const Sizes& sizes) {
  const BiasRule rule = family_.biases;
  const bool by_key = rule == BiasRule::kByKey && config_.Flag("attention_bias").value_or(false);
  const bool by_bias = rule == BiasRule::kAttentionByBias && config_.Flag("bias").value_or(false);
  const bool all = by_key || by_bias || rule == BiasRule::kAll;
  const bool qkv_bias = all || rule == BiasRule::kQkv || rule == BiasRule::kQkvAndNoBias;
  const bool output_bias = all || (rule == BiasRule::kQkvAndNoBias && !config_.Flag("no_bias").value_or(true));

  Attention attention;
  attention.layout = family_.layout;
  attention.heads = sizes.heads;
  attention.kv_heads = sizes.kv_heads;
  attention.head_dim = sizes.head_dim;
  const std::int64_t query_width = sizes.heads * sizes.head_dim;
  const std::int64_t kv_width = sizes.kv_heads * sizes.head_dim;
  if (family_.layout == QkvLayout::kSeparate) {
    attention.query = {family_.query, sizes.hidden, query_width, qkv_bias};
    attention.key = {family_.key, sizes.hidden, kv_width, qkv_bias};
    attention.value = {family_.value, sizes.hidden, kv_width, qkv_bias};
  } else {
    attention.query = {family_.query, sizes.hidden, query_width + 2 * kv_width, qkv_bias};
  }
  attention.output = {family_.output, query_width, sizes.hidden, output_bias};
  attention.rotary = !family_.learned_positions;
  attention.head_norm = family_.head_norm;
  attention.score_softcap = ReadSoftcap("attn_logit_softcapping");
  attention.dropout = ReadDropout(family_.attention_dropout_key);
  return attention;
}

Mlp ConfigReader::ReadMlp(const Sizes& sizes) {
  const bool has_mlp_key = family_.model_type == "llama" || family_.model_type == "granite";
  const bool bias = family_.biases == BiasRule::kAll || (has_mlp_key && config_.Flag("mlp_bias").value_or(false)) ||
                    (family_.biases == BiasRule::kQkvAndNoBias && !config_.Flag("no_bias").value_or(true));
  Mlp mlp;
  mlp.gated = family_.gated;
  if (mlp.gated) mlp.gate = {family_.gate, sizes.hidden, sizes.ffn, bias};
  mlp.up = {family_.up, sizes.hidden, sizes.ffn, bias};
  mlp.down = {family_.down, sizes.ffn, sizes.hidden, bias};
  mlp.activation = ReadActivation();
  return mlp;
}

Activation ConfigReader::ReadActivation() const {
  std::string_view name = family_.activation_by_default;
  if (!family_.activation_key.empty()) name = config_.Text(family_.activation_key).value_or(name);
  if (name == "silu" || name == "swish") return Activation::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu") return Activation::kGeluTanh;  // one kernel that keeps its input
  if (name == "gelu_new") return Activation::kGeluNew;
  const std::string value = Shortened(name);
  config_.Fault("not_modelled", family_.activation_key,
                Join({"is \"", value, "\", an activation that is not modelled yet"}), {{"value", value}});
  return Activation::kSilu;
}

double ConfigReader::ReadDropout(std::string_view key) const {
  return key.empty() ? 0 : config_.Number(key, 0, 1).value_or(family_.dropout_by_default);
}

/// Soft-capping is on by default in the classes that have it, and off where the config says null.
bool ConfigReader::ReadSoftcap(std::string_view key) const {
  if (!family_.softcaps_by_default) return false;
  config_.Number(key, 0, 1e9);
  return !config_.IsNull(key);
}

void ConfigReader::ReadModel(const Sizes& sizes) {
  Architecture& model = result_.architecture;
  model.model_type = family_.model_type;
  model.hidden_size = sizes.hidden;
  model.vocab_size = sizes.vocab;
  model.context_tokens = sizes.context;
  model.position_rows = family_.learned_positions ? sizes.context : 0;
  const std::optional<bool> tied = config_.Flag("tie_word_embeddings");
  model.tied_head = tied.value_or(family_.tied_by_default);
  if (!tied) Assume("tie_word_embeddings", model.tied_head ? "true" : "false");
  model.scales_embedding = family_.scales_embedding;
  model.scales_logits = family_.scales_residual_and_logits;
  model.logits_softcap = ReadSoftcap("final_logit_softcapping");
  model.embedding_dropout = ReadDropout(family_.embedding_dropout_key);
  model.final_norm = family_.norm;
  model.layer_path = family_.layer_path;

  Block block;
  block.norm = family_.norm;
  block.arrangement = family_.arrangement;
  block.mixer = ReadAttention(sizes);
  block.feed_forward = ReadMlp(sizes);
  block.residual_dropout = ReadDropout(family_.residual_dropout_key);
  block.scales_residual = family_.scales_residual_and_logits;
  model.runs = ReadLayerRuns(config_, family_, block, sizes.layers);
}

/// Counts in floating point, which cannot overflow, before anybody counts in integers.
void ConfigReader::CheckSize(const Sizes& sizes) const {
  const double hidden = static_cast<double>(sizes.hidden);
  const double heads_width = static_cast<double>(sizes.heads + sizes.kv_heads) * static_cast<double>(sizes.head_dim);
  const double layer = hidden * (2 * heads_width + 3 * static_cast<double>(sizes.ffn));
  const double tables = hidden * (2 * static_cast<double>(sizes.vocab) + static_cast<double>(sizes.context));
  const double parameters = layer * static_cast<double>(sizes.layers) + tables;
  const bool table_counts = result_.architecture.position_rows > 0;
  const double counted = table_counts ? parameters : parameters - hidden * static_cast<double>(sizes.context);
  if (counted <= kParameterLimit) return;
  const std::string value = NumberText(counted);
  const std::string high = NumberText(kParameterLimit);
  config_.Fault("model_too_large", "", Join({"describes a model of about ", value, " parameters; the most is ", high}),
                {{"value", value}, {"high", high}});
}

void ConfigReader::ReadQuantization() {
  const ObjectReader stored(config_, "quantization_config");
  if (!stored.present()) return;
  const std::string_view method = stored.Text("quant_method").value_or("");
  const bool four_bit = stored.Flag("load_in_4bit").value_or(false);
  const bool eight_bit = stored.Flag("load_in_8bit").value_or(false);
  if (!four_bit && !eight_bit) {
    result_.other_quantization = method.empty() ? "unknown" : Shortened(method);
    return;
  }
  static constexpr std::string_view kTypes[] = {"nf4", "fp4"};
  Quantization quantization;
  const std::size_t type = stored.Choice("bnb_4bit_quant_type", kTypes).value_or(1);  // BitsAndBytesConfig: fp4
  quantization.kind = !four_bit ? QuantizationKind::kInt8 : type == 0 ? QuantizationKind::kNf4 : QuantizationKind::kFp4;
  quantization.double_quant = four_bit && stored.Flag("bnb_4bit_use_double_quant").value_or(false);
  result_.quantization = quantization;
}

HfConfig ConfigReader::Read() {
  const std::size_t before = config_.issues().size();
  const Sizes sizes = ReadSizes();
  ReadModel(sizes);
  ReadQuantization();
  CheckSize(sizes);
  if (config_.issues().size() > before) return std::move(result_);
  for (Issue& issue : Validate(result_.architecture)) {
    issue.field =
        config_.PathTo(issue.field == "num_key_value_heads" ? NameOf(kKvHeads) : std::string_view(issue.field));
    config_.issues().push_back(std::move(issue));
  }
  return std::move(result_);
}

}  // namespace

HfConfig ReadHfConfig(const ObjectReader& config) {
  config.Require("model_type");
  const std::optional<std::string_view> model_type = config.Text("model_type");
  if (!model_type) return {};
  if (const Family* family = FindFamily(*model_type)) return ConfigReader(config, *family).Read();
  const std::string value = Shortened(*model_type);
  config.Fault("not_modelled", "model_type", Join({"is \"", value, "\"; modelled so far are ", ModelledFamilies()}),
               {{"value", value}});
  return {};
}

}  // namespace tunefit
