// The `config` of a row of models. The reader of a pasted config.json reads it; what is checked here is what a row must
// keep besides: no keys but those that count, each of its type also where the model's class would not look at it, and
// none left to a class's default.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/catalog_rows.h"
#include "core/codec/hf_config.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Flag, rules::Number, rules::Object, rules::OneOf, rules::Positive,
    rules::Rows, rules::Text;

/// Keys that are alike, divided by blanks.
struct Keys {
  FieldRule rule;
  std::string_view keys;
  bool may_be_null = false;
};

constexpr FieldRule kSize = Count("", 1, 1e6);
constexpr FieldRule kSizeOrNone = Count("", 0, 1e6);
constexpr FieldRule kLayers = Count("", 1, 1000);
constexpr FieldRule kVocabulary = Count("", 1, 1e7);
constexpr FieldRule kLength = Count("", 1, 1e8);
constexpr FieldRule kFlag = Flag("");
constexpr FieldRule kShare = Number("", 0, 1);
/// Left to the reader.
constexpr FieldRule kInner = {};

constexpr FieldRule kPrunedAttention[] = {Flag("no_op"), Count("n_heads_in_group", 1, 1e6)};
constexpr FieldRule kPrunedMlp[] = {Flag("no_op"), Positive("ffn_mult", 64)};
constexpr FieldRule kPruned[] = {Object("attention", kPrunedAttention).Needed(), Object("ffn", kPrunedMlp).Needed()};
constexpr FieldRule kDbrxAttention[] = {Count("kv_n_heads", 1, 1e6).Needed()};
constexpr FieldRule kDbrxExperts[] = {Count("ffn_hidden_size", 1, 1e6).Needed(),
                                      Count("moe_num_experts", 1, 1e6).Needed(), Count("moe_top_k", 1, 1e6).Needed()};

constexpr Keys kConfig[] = {
    {Text("", 0).Needed(), "model_type"},
    {kSize,
     "attn_layer_period conv_L_cache conv_kernel d_ff d_kv d_model decoder_attention_heads decoder_ffn_dim "
     "decoder_layers dim encoder_attention_heads encoder_ffn_dim encoder_layers expert_layer_period "
     "ff_intermediate_size ffn_dim ffn_hidden_size full_attention_interval head_dim hidden_dim hidden_size "
     "index_head_dim index_n_heads intermediate_size kv_channels kv_lora_rank linear_conv_kernel_dim "
     "linear_key_head_dim linear_num_key_heads linear_num_value_heads linear_value_head_dim mamba_d_conv mamba_d_head "
     "mamba_d_state mamba_dt_rank mamba_expand mamba_head_dim mamba_n_groups mamba_n_heads mamba_num_heads "
     "max_source_positions max_target_positions mm_tokens_per_image moe_intermediate_size moe_k moe_num_experts "
     "moe_shared_expert_intermediate_size moe_topk multi_query_group_num n_embd n_groups n_head n_heads n_inner "
     "n_layers n_routed_experts num_attention_heads num_decoder_layers num_experts num_experts_per_tok num_heads "
     "num_key_value_heads num_kv_heads num_layers num_mel_bins position_buckets qk_nope_head_dim qk_rope_head_dim "
     "rotary_dim shared_intermediate_size spatial_merge_size ssm_state_size v_head_dim word_embed_proj_dim"},
    {kSizeOrNone,
     "attn_layer_offset expert_layer_offset first_k_dense_replace moe_layer_start_index moe_num_shared_experts "
     "n_shared_experts num_local_experts shared_expert_intermediate_size"},
    {kSize, "q_lora_rank", true},
    {kLength, "sliding_window", true},
    {kLayers, "n_layer num_hidden_layers"},
    {kVocabulary, "padded_vocab_size vocab_size"},
    {kLength, "max_position_embeddings max_seq_len n_positions seq_length"},
    {kFlag,
     "add_qkv_bias attention_bias bias do_layer_norm_before lm_head_bias mlp_bias multi_query new_decoder_architecture "
     "no_bias norm_topk_prob position_biased_input qk_layernorm relative_attention share_att_key tie_word_embeddings "
     "use_parallel_residual use_qk_norm use_qkv_bias"},
    {kShare, "attn_pdrop dropout embd_pdrop partial_rotary_factor resid_pdrop rotary_pct"},
    {Positive("", 10000), "attn_logit_softcapping final_logit_softcapping query_pre_attn_scalar"},
    {Number("", 1, 64), "expansion_ratio"},
    {Count("", 0, 1000), "type_vocab_size"},
    {Count("", -1, 1e6), "max_relative_positions"},
    {OneOf("", "1 2"), "num_ln_in_parallel_attn"},
    {Text("", 40, TextForm::kAny), "hidden_act"},
    {Choice("", "relu gated-gelu"), "feed_forward_proj"},
    {Choice("", "rope nope"), "position_embedding_type"},
    {Choice("", "layer_norm none"), "norm_rel_ebd"},
    {Choice("", "p2c|c2p"), "pos_att_type"},
    {Object("", kDbrxAttention), "attn_config"},
    {Object("", kDbrxExperts), "ffn_config"},
    {Rows("", kPruned).Items(1, 1000), "block_configs"},
    {kInner, "attn_type_list audio_config hybrid_override_pattern layer_types text_config vision_config"},
};

/// Of the text part, in a class for text and images.
constexpr Keys kText[] = {
    {kSize.Needed(), "hidden_size num_attention_heads num_key_value_heads"},
    {kLayers.Needed(), "num_hidden_layers"},
    {kVocabulary.Needed(), "vocab_size"},
    {kLength.Needed(), "max_position_embeddings"},
    {kFlag.Needed(), "tie_word_embeddings"},
    {kSize,
     "full_attention_interval head_dim hidden_size_per_layer_input interleave_moe_layer_step intermediate_size "
     "intermediate_size_mlp laurel_rank linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads "
     "linear_num_value_heads linear_value_head_dim moe_intermediate_size num_experts num_experts_per_tok"},
    {kSizeOrNone, "num_local_experts shared_expert_intermediate_size"},
    {kLength, "sliding_window", true},
    {kVocabulary, "vocab_size_per_layer_input"},
    {kFlag, "use_qk_norm"},
    {Count("", 0, 1000), "num_kv_shared_layers"},
    {Count("", 1, 64), "altup_num_inputs"},
    {Choice("", "ministral3 mllama_text_model"), "model_type"},
    {kInner, "cross_attention_layers"},
};

/// Of a tower for images.
constexpr Keys kVision[] = {
    {kSize.Needed(), "hidden_size"},
    {kSize,
     "attention_heads depth image_size intermediate_size max_num_tiles num_attention_heads num_channels "
     "num_global_layers num_heads num_hidden_layers num_position_embeddings out_hidden_size patch_size "
     "projector_input_dim projector_output_dim spatial_merge_size temporal_patch_size vision_output_dim vocab_size"},
    {kFlag, "vision_use_head"},
    {Choice("", "mobilenetv5_300m_enc"), "architecture"},
    {kInner, "deepstack_visual_indexes supported_aspect_ratios"},
};

/// Of a tower for sound.
constexpr Keys kAudio[] = {
    {kSize.Needed(),
     "conf_conv_kernel_size conf_num_attention_heads conf_num_hidden_layers hidden_size input_feat_size vocab_size"},
};

/// The groups by key, put together once: most rows have a tenth of the keys that there are.
class KeyTable {
 public:
  explicit KeyTable(std::span<const Keys> groups) {
    for (const Keys& group : groups) {
      for (const std::string_view key : WordsOf(group.keys)) {
        keys_.push_back(key);
        groups_.emplace_back(key, &group);
        if (group.rule.needed) needed_.push_back(key);
      }
    }
    std::sort(groups_.begin(), groups_.end());
  }
  const std::vector<std::string_view>& keys() const { return keys_; }
  const std::vector<std::string_view>& needed() const { return needed_; }
  /// Null where no group has the key.
  const Keys* Find(std::string_view key) const {
    const auto below = [](const auto& entry, std::string_view name) { return entry.first < name; };
    const auto found = std::lower_bound(groups_.begin(), groups_.end(), key, below);
    return found != groups_.end() && found->first == key ? found->second : nullptr;
  }

 private:
  std::vector<std::string_view> keys_, needed_;
  std::vector<std::pair<std::string_view, const Keys*>> groups_;
};

void CheckKeys(const ObjectReader& config, const KeyTable& table, const KnownNames& names) {
  if (!config.present()) return;
  for (const std::string_view key : table.needed()) config.Require(key);
  bool all_known = true;
  for (const JsonMember& member : config.members()) {
    const Keys* group = table.Find(member.key);
    all_known = all_known && group != nullptr;
    if (group == nullptr || (group->may_be_null && config.IsNull(member.key))) continue;
    FieldRule rule = group->rule;
    rule.key = member.key;
    rule.needed = false;
    CheckField(config, rule, names);
  }
  if (!all_known) config.RefuseUnknown(table.keys());
}

/// Whatever the class of the model.
bool CheckTypes(const ObjectReader& config, const KnownNames& names) {
  static const KeyTable kOfConfig(kConfig);
  static const KeyTable kOfText(kText);
  static const KeyTable kOfVision(kVision);
  static const KeyTable kOfAudio(kAudio);
  const std::size_t before = config.issues().size();
  const ObjectReader text(config, "text_config");
  const ObjectReader vision(config, "vision_config");
  CheckKeys(config, kOfConfig, names);
  CheckKeys(text, kOfText, names);
  CheckKeys(vision, kOfVision, names);
  CheckKeys(ObjectReader(config, "audio_config"), kOfAudio, names);
  if (text.present()) config.Require("vision_config");
  // A tower of convolutions is named; every other one is described.
  const bool is_named = vision.Find("architecture") != nullptr;
  for (const std::string_view key : {"vocab_size", "intermediate_size", "patch_size"}) {
    if (is_named == (key == "vocab_size")) vision.Require(key);
  }
  return config.issues().size() == before;
}

/// A row leaves nothing that counts to its class: what is missing here was assumed.
void RefuseAssumed(const ObjectReader& config, const HfConfig& read) {
  const ObjectReader text(config, "text_config");
  const ObjectReader vision(config, "vision_config");
  for (const Assumption& assumption : read.assumptions) {
    const std::string_view key = std::string_view(assumption.field).substr(assumption.field.rfind('.') + 1);
    const auto is_in = [&](const ObjectReader& part) { return part.present() && part.PathTo(key) == assumption.field; };
    (is_in(text) ? text : is_in(vision) ? vision : config).Require(key);
  }
  const std::string_view type = config.Find("model_type")->text;
  if (type == "gpt2") {
    for (const std::string_view key : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) config.Require(key);
  }
  // Null says that there is no window; a key that is absent says nothing.
  if (type == "mistral" && !config.IsNull("sliding_window")) config.Require("sliding_window");
  if (read.architecture.text_type == "mistral" && !text.IsNull("sliding_window")) text.Require("sliding_window");
}

}  // namespace

Architecture ReadConfig(const ObjectReader& row, const KnownNames& names) {
  const ObjectReader strict(row, "config");
  if (!strict.present() || !CheckTypes(strict, names)) return {};
  Issues& issues = row.issues();
  const std::string path = row.PathTo("config");
  const ObjectReader config(*row.Find("config"), path, NullRule::kAbsent, issues);
  const std::size_t before = issues.size();
  HfConfig read = ReadHfConfig(config);
  if (issues.size() > before && issues[before].code == "not_modelled") {
    issues[before].code = "unknown_value";  // in the catalog a model that is not modelled is a mistake of the row
    return {};
  }
  RefuseAssumed(config, read);
  return std::move(read.architecture);
}

}  // namespace tunefit
