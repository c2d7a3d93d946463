// Configs of classes for text and images: small towers, counted by hand from the classes' own modules.
#include "core/codec/hf_vision.h"

#include <gtest/gtest.h>

#include <string>

#include "core/codec/hf_config.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

class Vision : public testing::Test {
 protected:
  HfConfig Read(const std::string& text) {
    issues_.clear();
    tree_ = ParseJson(text, kRequestLimits, issues_);
    const ObjectReader reader(tree_, "model.config", NullRule::kAbsent, issues_);
    return ReadHfConfig(reader);
  }
  /// A text part 64 wide, more keys of the whole, and a tower.
  HfConfig Model(const std::string& type, const std::string& vision, const std::string& more = "") {
    return Read(R"({"model_type":")" + type + R"(","text_config":{"hidden_size":64,"intermediate_size":96,)" +
                R"("num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,)" +
                R"("vocab_size":100,"num_experts":4,"num_experts_per_tok":2,"num_local_experts":4,)" +
                R"("moe_intermediate_size":32,"intermediate_size_mlp":128,"linear_num_key_heads":2,)" +
                R"("linear_num_value_heads":2,"linear_key_head_dim":8,"linear_value_head_dim":8},)" +
                R"("vision_config":{)" + vision + "}" + more + "}");
  }
  std::int64_t Tower(const HfConfig& config) {
    EXPECT_TRUE(issues_.empty()) << issues_[0].field << ": " << issues_[0].message;
    return CountParameters(config.architecture).vision;
  }
  std::string Codes() const {
    std::string text;
    for (const Issue& issue : issues_) text += issue.code + "@" + issue.field + " ";
    return text;
  }

  JsonValue tree_;
  Issues issues_;
};

const std::string kNamed = R"("hidden_size":8,"intermediate_size":12,"num_hidden_layers":3,"num_attention_heads":2,)";
const std::string kQwen = R"("hidden_size":8,"intermediate_size":12,"depth":3,"num_heads":2,"patch_size":2,)"
                          R"("temporal_patch_size":2,"spatial_merge_size":2,"out_hidden_size":64)";
/// Four matrices 8 x 8 with a bias, 8 x 12 and 12 x 8 with a bias, two LayerNorms.
constexpr std::int64_t kBlock = 4 * 72 + (8 * 12 + 12) + (12 * 8 + 8) + 2 * 16;

TEST_F(Vision, Gemma3) {
  const HfConfig config = Model("gemma3", kNamed + R"("patch_size":2,"image_size":5,"vision_use_head":false)");
  // 2 x 2 whole patches; the projector is an RMS norm and a bare matrix.
  EXPECT_EQ(Tower(config), (12 * 8 + 8) + 4 * 8 + 3 * kBlock + 16 + (8 + 8 * 64));
  EXPECT_EQ(config.architecture.model_type, "gemma3");
  EXPECT_EQ(config.architecture.text_type, "gemma3_text");
  EXPECT_TRUE(config.architecture.tied_head);
}

TEST_F(Vision, Mistral3) {
  const HfConfig config = Model("mistral3", kNamed + R"("patch_size":2)", R"(,"spatial_merge_size":2)");
  const std::int64_t block = 4 * 64 + 3 * 96 + 2 * 8;
  const std::int64_t projector = 8 + 32 * 8 + 8 * 64 + 64 * 64;
  EXPECT_EQ(Tower(config), 12 * 8 + 8 + 3 * block + projector);
  const HfConfig biased =
      Model("mistral3", kNamed + R"("patch_size":2)", R"(,"spatial_merge_size":2,"multimodal_projector_bias":true)");
  EXPECT_EQ(Tower(biased), Tower(config) + 2 * 64);
}

TEST_F(Vision, Llama4) {
  const HfConfig config = Model("llama4", kNamed + R"("patch_size":2,"image_size":4,"projector_input_dim":20,)" +
                                              R"("projector_output_dim":20,"vision_output_dim":20)");
  // 4 patches and the class token, which has a position, too; LayerNorms before and after.
  EXPECT_EQ(Tower(config), 12 * 8 + 8 + 5 * 8 + 3 * kBlock + 2 * 16 + 12 * 20 + 20 * 20 + 20 * 64);
  EXPECT_STREQ(config.architecture.layer_path, "language_model.model.layers.*");
}

TEST_F(Vision, Qwen25) {
  const HfConfig config = Model("qwen2_5_vl", kQwen);
  const std::int64_t block = 4 * 72 + 2 * (96 + 12) + (96 + 8) + 2 * 8;
  EXPECT_EQ(Tower(config), 24 * 8 + 3 * block + 8 + (32 * 32 + 32) + (32 * 64 + 64));
}

TEST_F(Vision, Qwen3WithDeepstack) {
  const std::int64_t merger = (32 * 32 + 32) + (32 * 64 + 64);
  const std::int64_t tower = (24 * 8 + 8) + 9 * 8 + 3 * kBlock + 16 + merger;
  const std::string positions = kQwen + R"(,"num_position_embeddings":9)";
  EXPECT_EQ(Tower(Model("qwen3_5", positions)), tower);
  EXPECT_EQ(Tower(Model("qwen3_5_moe", positions)), tower);
  EXPECT_EQ(Tower(Model("qwen3_vl", positions + R"(,"deepstack_visual_indexes":[1])")), tower + 64 + merger);
  // The class looks into three layers where the config is silent, and the report says so.
  const HfConfig silent = Model("qwen3_vl_moe", positions);
  EXPECT_EQ(Tower(silent), tower + 3 * (64 + merger));
  bool said = false;
  for (const Assumption& assumption : silent.assumptions) {
    said = said || assumption.field == "model.config.vision_config.deepstack_visual_indexes";
  }
  EXPECT_TRUE(said);
}

TEST_F(Vision, TheTextIsFlatInOldConfigsOfQwen25) {
  const HfConfig config = Read(R"({"model_type":"qwen2_5_vl","hidden_size":64,"intermediate_size":96,)"
                               R"("num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,)"
                               R"("vocab_size":100,"vision_config":{)" +
                               kQwen + "}}");
  EXPECT_EQ(Tower(config), CountParameters(Model("qwen2_5_vl", kQwen).architecture).vision);
  EXPECT_EQ(config.architecture.hidden_size, 64);
}

TEST_F(Vision, TheOutersTieCountsWhereTheTextIsSilent) {
  const std::string tower = kNamed + R"("patch_size":2)";
  const std::string merge = R"(,"spatial_merge_size":2)";
  EXPECT_FALSE(Model("mistral3", tower, merge).architecture.tied_head);
  EXPECT_TRUE(Model("mistral3", tower, merge + R"(,"tie_word_embeddings":true)").architecture.tied_head);
}

TEST_F(Vision, WithoutATowerTheTextStandsAlone) {
  const HfConfig config = Read(R"({"model_type":"gemma3","text_config":{"hidden_size":64}})");
  EXPECT_EQ(Codes(), "");
  EXPECT_FALSE(config.architecture.vision.has_value());
  // Gemma3TextConfig's own sizes.
  EXPECT_EQ(config.architecture.vocab_size, 262208);
  const auto* attention = std::get_if<Attention>(&config.architecture.runs[0].period[0].mixer);
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(attention->heads, 8);
  EXPECT_EQ(attention->kv_heads, 4);
  EXPECT_EQ(attention->head_dim, 256);
}

const std::string kMllama = R"("hidden_size":8,"intermediate_size":12,"num_hidden_layers":3,"num_global_layers":2,)"
                            R"("attention_heads":2,"patch_size":2,"image_size":5,"max_num_tiles":4,)"
                            R"("supported_aspect_ratios":[[1,1],[1,2]],"vision_output_dim":24)";

TEST_F(Vision, LayersOfMllamaThatOnlyImagesReachStandBesideItsTower) {
  const HfConfig config = Read(R"({"model_type":"mllama","text_config":{"hidden_size":64,"intermediate_size":96,)"
                               R"("num_hidden_layers":4,"num_attention_heads":4,"num_key_value_heads":2,)"
                               R"("vocab_size":100,"cross_attention_layers":[1]},"vision_config":{)" +
                               kMllama + "}}");
  // 12 x 8 for patches; 2 x 2 of them and a class token of 8 with a position each; for 3 arrangements of 4 tiles a
  // position for each patch, and two tables of tiles; three gates; norms before and after the blocks. Blocks as above
  // without biases of attention, two of five with two gates. 24 x 64 with a bias to the text.
  const std::int64_t entry = 12 * 8 + 8 + 5 * 8 + 3 * 4 * 5 * 8 + 2 * 3 * 4 * 8 + 3 + 2 * 16;
  const std::int64_t tower = entry + 5 * (kBlock - 4 * 8) + 2 * 2 + (24 * 64 + 64);
  // One layer of four attends to images: 64 x 64 twice and 64 x 32 twice, an MLP of three 64 x 96, two norms of 64, two
  // of 16, two gates.
  const std::int64_t cross = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64 + 2 * 16 + 2;
  EXPECT_EQ(Tower(config), tower + cross);
  EXPECT_EQ(config.architecture.layers(), 3);
  // 108 rows of the embedding, 100 of the head.
  const ParameterCounts counts = CountParameters(config.architecture);
  EXPECT_EQ(counts.embedding, 108 * 64);
  EXPECT_EQ(counts.head, 100 * 64);
}

TEST_F(Vision, FaultsNameTheirField) {
  const std::string vision = "model.config.vision_config.";
  Model("gemma3", R"("hidden_size":8,"num_hidden_layers":3,"num_attention_heads":3,"patch_size":2,"image_size":1)");
  EXPECT_EQ(Codes(), "missing_field@" + vision + "intermediate_size heads_do_not_divide@" + vision +
                         "num_attention_heads out_of_range@" + vision + "image_size not_modelled@" + vision +
                         "vision_use_head ");
  Model("qwen3_5", kQwen);
  EXPECT_EQ(Codes(), "missing_field@" + vision + "num_position_embeddings ");
  Model("qwen2_5_vl", R"("hidden_size":8,"intermediate_size":12,"depth":3,"num_heads":2,"patch_size":2,)"
                      R"("temporal_patch_size":2,"spatial_merge_size":2,"out_hidden_size":65)");
  EXPECT_EQ(Codes(), "out_of_range@" + vision + "out_hidden_size ");
  Read(R"({"model_type":"llama4"})");
  EXPECT_EQ(Codes(), "missing_field@model.config.text_config ");
  Read(R"({"model_type":"gemma3","text_config":[]})");
  EXPECT_EQ(Codes(), "wrong_type@model.config.text_config ");
  Read(R"({"model_type":"mllama","text_config":{"hidden_size":64,"intermediate_size":96,"num_hidden_layers":4,)"
       R"("num_attention_heads":4,"vocab_size":100}})");
  EXPECT_EQ(Codes(), "missing_field@model.config.vision_config ");
  Model("mllama", kMllama);  // eight layers that attend to images, unless a list says which
  EXPECT_EQ(Codes(), "out_of_range@model.config.text_config.cross_attention_layers ");
}

}  // namespace
}  // namespace tunefit
