// Configs of Gemma 3n's classes: small models, counted by hand from transformers' modeling_gemma3n.py.
#include "core/codec/hf_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/codec/hf_config.h"
#include "core/codec/request_steps.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

class Streams3n : public testing::Test {
 protected:
  HfConfig Read(const std::string& text) {
    issues_.clear();
    tree_ = ParseJson(text, kRequestLimits, issues_);
    const ObjectReader reader(tree_, "model.config", NullRule::kAbsent, issues_);
    return ReadHfConfig(reader);
  }
  /// 64 wide, 12 layers of which the last 4 read earlier keys, 4 heads of 16 for 2 of keys; more keys go before these.
  HfConfig Text(const std::string& more = "") { return Read(R"({"model_type":"gemma3n_text",)" + more + kSizes + "}"); }
  std::string Codes() const {
    std::string text;
    for (const Issue& issue : issues_) text += issue.code + "@" + issue.field + " ";
    return text;
  }
  static std::vector<Block> Layers(const Architecture& architecture) {
    std::vector<Block> layers;
    for (const LayerRun& run : architecture.runs) {
      for (std::int64_t i = 0; i < run.repeats; ++i) layers.insert(layers.end(), run.period.begin(), run.period.end());
    }
    return layers;
  }

  static constexpr const char* kSizes =
      R"("hidden_size":64,"num_hidden_layers":12,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,)"
      R"("vocab_size":200,"vocab_size_per_layer_input":150,"hidden_size_per_layer_input":8,"laurel_rank":4,)"
      R"("altup_num_inputs":4,"num_kv_shared_layers":4,"sliding_window":32)";
  JsonValue tree_;
  Issues issues_;
};

/// Of a layer: q and o, two matrices for keys and values, norms of a head; an MLP of 96; AltUp's matrices and the scale
/// of its result; the low-rank path; to and from the layer's embedding; eight norms with those of the parts.
constexpr std::int64_t kQueries = 2 * 64 * 64 + 16;
constexpr std::int64_t kKeys = 2 * 64 * 32 + 16;
constexpr std::int64_t kMlp = 3 * 64 * 96;
constexpr std::int64_t kStreamLayer = 64 * 4 + 4 * 16 + 4 * 4 + 64 + 2 * 64 * 4 + 2 * 64 * 8;
constexpr std::int64_t kNorms = (4 + 3) * 64;
/// Two tables, what adds to the second and its norm, and three matrices each to the streams and back.
constexpr std::int64_t kModel = 200 * 64 + 150 * 12 * 8 + 64 * 12 * 8 + 8 + 6 * 64 * 64;

TEST_F(Streams3n, EveryParameterOfTheClass) {
  const HfConfig config = Text(R"("intermediate_size":96,)");
  ASSERT_TRUE(issues_.empty()) << Codes();
  EXPECT_EQ(CountParameters(config.architecture).total(),
            kModel + 12 * (kQueries + kMlp + kStreamLayer + kNorms) + 8 * kKeys + 64);
  EXPECT_TRUE(config.architecture.tied_head);
  EXPECT_TRUE(config.architecture.logits_softcap);
}

TEST_F(Streams3n, LayersByTheirPlace) {
  const std::vector<Block> layers = Layers(Text(R"("intermediate_size":96,)").architecture);
  ASSERT_EQ(layers.size(), 12U);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& attention = std::get<Attention>(layers[i].mixer);
    EXPECT_EQ(attention.window, i % 5 == 4 ? 0 : 32) << i;  // every fifth attends to all
    EXPECT_EQ(std::get<Mlp>(layers[i].feed_forward).sparse_gate, i < 10) << i;
    EXPECT_FALSE(attention.score_softcap);
    // The last with a window before the borrowers is layer 7, the last without is layer 4.
    const bool lends = i == 4 || i == 7;
    EXPECT_EQ(attention.keys, i >= 8 ? KeySource::kBorrowed : lends ? KeySource::kLent : KeySource::kOwn) << i;
  }
  const auto lender = [&layers](std::size_t layer) { return std::get<Attention>(layers[layer].mixer).lender; };
  EXPECT_EQ(lender(4), lender(9));
  EXPECT_EQ(lender(7), lender(8));
  EXPECT_NE(lender(4), lender(7));
}

TEST_F(Streams3n, ListsSayWhatEachLayerHas) {
  std::string widths;
  std::string pattern;
  for (int i = 0; i < 12; ++i) {
    widths += (i > 0 ? "," : "") + std::to_string(i == 3 ? 128 : 96);
    pattern += std::string(i > 0 ? "," : "") + (i == 5 ? "0.95" : "0.0");
  }
  const HfConfig config =
      Text(R"("intermediate_size":[)" + widths + R"(],"activation_sparsity_pattern":[)" + pattern + "],");
  ASSERT_TRUE(issues_.empty()) << Codes();
  const std::vector<Block> layers = Layers(config.architecture);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Mlp& mlp = std::get<Mlp>(layers[i].feed_forward);
    EXPECT_EQ(mlp.width(), i == 3 ? 128 : 96) << i;
    EXPECT_EQ(mlp.sparse_gate, i == 5) << i;
  }
}

TEST_F(Streams3n, FaultsNameTheirField) {
  const std::string at = "model.config.";
  Text(R"("intermediate_size":[96,96],)");
  EXPECT_EQ(Codes(), "layers_differ@" + at + "intermediate_size ");
  Text(R"("intermediate_size":96,"activation_sparsity_pattern":[0.5],)");
  EXPECT_EQ(Codes(), "layers_differ@" + at + "activation_sparsity_pattern ");
  Text(R"("intermediate_size":96,"activation_sparsity_pattern":0.95,)");
  EXPECT_EQ(Codes(), "wrong_type@" + at + "activation_sparsity_pattern ");
  Text(R"("intermediate_size":96,"altup_coef_clip":null,)");
  EXPECT_EQ(Codes(), "not_modelled@" + at + "altup_coef_clip ");
  const std::string shared = R"({"model_type":"gemma3n_text","hidden_size":64,"num_hidden_layers":6,)"
                             R"("num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"vocab_size":200,)"
                             R"("intermediate_size":96,"num_kv_shared_layers":)";
  Read(shared + "6}");
  EXPECT_EQ(Codes(), "out_of_range@" + at + "num_kv_shared_layers ");
  Read(shared + "2}");  // layer 4, which attends to all, has none of its kind before it
  EXPECT_EQ(Codes(), "out_of_range@" + at + "num_kv_shared_layers ");
  Read(shared + "1}");
  EXPECT_EQ(Codes(), "");
}

TEST_F(Streams3n, TowersForImagesAndSound) {
  const std::string text = std::string(R"("text_config":{"intermediate_size":96,)") + kSizes + "}";
  const HfConfig config = Read(R"({"model_type":"gemma3n",)" + text +
                               R"(,"vision_config":{"hidden_size":32,"vocab_size":8},"audio_config":{)"
                               R"("hidden_size":24,"vocab_size":6,"input_feat_size":10,"conf_num_hidden_layers":2,)"
                               R"("conf_num_attention_heads":3,"conf_conv_kernel_size":5,)"
                               R"("sscp_conv_channel_size":[4,2]}})");
  ASSERT_TRUE(issues_.empty()) << Codes();
  // timm's network; convolutions from 10 frequencies to 5 and to 3, each with a norm, and a matrix of 2 x 3 inputs.
  const std::int64_t ear = (4 * 9 + 4) + (2 * 4 * 9 + 2) + 6 * 24;
  // Two MLPs, five matrices and three of attention and convolution; nine norms, five taps, a scale for each of 8.
  const std::int64_t conformer = 24 * 24 * 24 + (9 + 5) * 24 + 8;
  const std::int64_t embedders = (8 * 32 + 2 * 32 + 32 * 64) + (6 * 24 + 2 * 24 + 24 * 64);
  EXPECT_EQ(CountParameters(config.architecture).vision, 294'126'912 + ear + 2 * conformer + embedders);
  EXPECT_EQ(config.architecture.model_type, "gemma3n");
  Read(R"({"model_type":"gemma3n",)" + text + R"(,"vision_config":{"architecture":"resnet50"}})");
  EXPECT_EQ(Codes(), "not_modelled@model.config.vision_config.architecture ");
  Read(R"({"model_type":"gemma3n",)" + text + R"(,"vision_config":{},"audio_config":{"conf_num_attention_heads":7}})");
  EXPECT_EQ(Codes(), "heads_do_not_divide@model.config.audio_config.conf_num_attention_heads ");
}

TEST_F(Streams3n, AdaptersFindModulesByTheirNames) {
  const HfConfig config = Text(R"("intermediate_size":96,)");
  const std::vector<AdaptableModule> modules = AdaptableModules(config.architecture);
  const auto found = [&modules](std::string_view target) {
    return std::count_if(modules.begin(), modules.end(),
                         [target](const AdaptableModule& module) { return Selects(target, module); });
  };
  for (const char* target :
       {"q_proj", "k_proj", "gate_proj", "linear_left", "linear_right", "per_layer_input_gate", "per_layer_projection",
        "modality_router", "correction_coefs", "prediction_coefs", "per_layer_model_projection"}) {
    EXPECT_EQ(found(target), 1) << target;
  }
  EXPECT_EQ(found("projection"), 0);
}

}  // namespace
}  // namespace tunefit
