#include "core/codec/hf_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/model/parameters.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

const Attention& AttentionOf(const Block& block) { return std::get<Attention>(block.mixer); }
const Mlp& MlpOf(const Block& block) { return std::get<Mlp>(block.feed_forward); }

class Config : public testing::Test {
 protected:
  HfConfig Read(std::string_view text) {
    issues_.clear();
    tree_ = ParseJson(text, kRequestLimits, issues_);
    const ObjectReader reader(tree_, "model.config", NullRule::kAbsent, issues_);
    return ReadHfConfig(reader);
  }
  /// A small model of that type with more keys; with as many key/value heads as heads unless they say.
  HfConfig Small(const std::string& type, const std::string& more = "") {
    const bool says = more.find("num_key_value_heads") != more.npos;
    return Read(R"({"model_type":")" + type +
                R"(","hidden_size":64,"intermediate_size":96,"num_hidden_layers":4,"num_attention_heads":4,)" +
                R"("vocab_size":100)" + (says ? "" : R"(,"num_key_value_heads":null)") + more + "}");
  }
  const Block& OnlyBlock(const HfConfig& config) {
    EXPECT_TRUE(issues_.empty()) << issues_[0].message;
    EXPECT_EQ(config.architecture.runs.size(), 1U);
    return config.architecture.runs[0].period[0];
  }

  JsonValue tree_;
  Issues issues_;
};

TEST_F(Config, EveryFixtureReadsToItsCountOrIsNotModelled) {
  const std::string folder = TUNEFIT_SOURCE_DIR "/tests/golden/configs/";
  const auto rows = nlohmann::json::parse(test::ReadFile(folder + "expected.json"), nullptr, false);
  ASSERT_GT(rows.size(), 40U);
  for (const auto& row : rows) {
    const std::string file = row["file"].get<std::string>();
    const HfConfig config = Read(test::ReadFile(folder + file));
    if (row["modelled"].get<bool>()) {
      ASSERT_TRUE(issues_.empty()) << file << ": " << issues_[0].message;
      EXPECT_EQ(CountParameters(config.architecture).total(), row["parameters"].get<std::int64_t>()) << file;
      EXPECT_EQ(config.quantization || !config.other_quantization.empty(), !row["quantized"].is_null()) << file;
    } else {
      ASSERT_EQ(issues_.size(), 1U) << file;
      EXPECT_EQ(issues_[0].code, "not_modelled") << file;
      EXPECT_EQ(issues_[0].field, "model.config.model_type") << file;
    }
  }
}

TEST_F(Config, KeyValueHeadsAreTheClassesWhereTheConfigHasNone) {
  const auto read = [&](const std::string& type, const std::string& more) {
    const HfConfig config =
        Read(R"({"model_type":")" + type + R"(","hidden_size":128,"intermediate_size":96,"num_hidden_layers":1,)" +
             R"("num_attention_heads":64,"vocab_size":100)" + more + "}");
    const std::int64_t heads = AttentionOf(OnlyBlock(config)).kv_heads;
    bool said = false;
    for (const Assumption& assumption : config.assumptions) {
      said = said || (assumption.field == "model.config.num_key_value_heads" &&
                      assumption.value == std::to_string(heads) && assumption.reason == std::string("class_default"));
    }
    EXPECT_TRUE(said) << type << more;
    return heads;
  };
  EXPECT_EQ(read("mistral", ""), 8);
  EXPECT_EQ(read("qwen2", R"(,"max_window_layers":1)"), 32);
  EXPECT_EQ(read("qwen3", R"(,"max_window_layers":1)"), 32);
  EXPECT_EQ(read("llama", ""), 64);
  EXPECT_EQ(read("mistral", R"(,"num_key_value_heads":null)"), 64);
  const HfConfig gemma = Read(
      R"({"model_type":"gemma2","hidden_size":128,"intermediate_size":96,"num_hidden_layers":2,"num_attention_heads":8,)"
      R"("vocab_size":100})");
  EXPECT_EQ(AttentionOf(gemma.architecture.runs[0].period[0]).kv_heads, 4);
}

TEST_F(Config, BiasesFollowTheTypeAndItsKeys) {
  const Block llama = OnlyBlock(Small("llama"));
  EXPECT_FALSE(AttentionOf(llama).query.bias || AttentionOf(llama).output.bias || MlpOf(llama).up.bias);
  const Block biased = OnlyBlock(Small("llama", R"(,"attention_bias":true,"mlp_bias":true)"));
  EXPECT_TRUE(AttentionOf(biased).query.bias && AttentionOf(biased).value.bias && AttentionOf(biased).output.bias);
  EXPECT_TRUE(MlpOf(biased).gate.bias && MlpOf(biased).up.bias && MlpOf(biased).down.bias);
  const Block qwen2 = OnlyBlock(Small("qwen2"));
  EXPECT_TRUE(AttentionOf(qwen2).query.bias && AttentionOf(qwen2).key.bias && AttentionOf(qwen2).value.bias);
  EXPECT_FALSE(AttentionOf(qwen2).output.bias || MlpOf(qwen2).up.bias);
  const Block qwen = OnlyBlock(Small("qwen", R"(,"no_bias":true,"kv_channels":16)"));
  EXPECT_TRUE(AttentionOf(qwen).query.bias);
  EXPECT_FALSE(AttentionOf(qwen).output.bias || MlpOf(qwen).down.bias);
  const Block internlm2 = OnlyBlock(Small("internlm2", R"(,"bias":true)"));
  EXPECT_TRUE(AttentionOf(internlm2).query.bias && AttentionOf(internlm2).output.bias);
  EXPECT_FALSE(MlpOf(internlm2).up.bias);
}

TEST_F(Config, FusedProjectionsAreAsWideAsTheirParts) {
  const Block internlm2 = OnlyBlock(Small("internlm2", R"(,"num_key_value_heads":2)"));
  EXPECT_EQ(AttentionOf(internlm2).query.out_features, 64 + 2 * 32);  // q 4 x 16, k and v 2 x 16 each
  EXPECT_STREQ(AttentionOf(internlm2).query.name, "wqkv");
  EXPECT_STREQ(MlpOf(internlm2).gate.name, "w1");
  EXPECT_STREQ(MlpOf(internlm2).up.name, "w3");
  const Block qwen = OnlyBlock(Small("qwen", R"(,"kv_channels":32)"));
  EXPECT_EQ(AttentionOf(qwen).query.out_features, 3 * 4 * 32);
  EXPECT_EQ(AttentionOf(qwen).output.in_features, 4 * 32);
  EXPECT_EQ(MlpOf(qwen).up.out_features, 48);  // intermediate_size counts w1 and w2
}

TEST_F(Config, HeadWidthIsGivenOrDerivedOrTheClassDefault) {
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("llama"))).head_dim, 16);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("llama", R"(,"head_dim":null)"))).head_dim, 16);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("llama", R"(,"head_dim":24)"))).query.out_features, 96);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("qwen3"))).head_dim, 128);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("qwen3", R"(,"head_dim":null)"))).head_dim, 16);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("gemma2", R"(,"sliding_window":null)"))).head_dim, 256);
}

TEST_F(Config, TiesFollowTheClassWhereTheKeyIsMissing) {
  EXPECT_FALSE(Small("llama").architecture.tied_head);
  EXPECT_FALSE(Small("qwen2").architecture.tied_head);
  EXPECT_TRUE(Small("gemma2").architecture.tied_head);
  EXPECT_TRUE(Small("gpt2").architecture.tied_head);
  EXPECT_TRUE(Small("llama", R"(,"tie_word_embeddings":true)").architecture.tied_head);
  EXPECT_FALSE(Small("gemma2", R"(,"tie_word_embeddings":false)").architecture.tied_head);
}

TEST_F(Config, T5HasTwoStacksWithABiasTableEach) {
  const HfConfig config =
      Read(R"({"model_type":"t5","d_model":64,"d_kv":8,"d_ff":96,"num_layers":3,"num_heads":4,"vocab_size":100,)"
           R"("feed_forward_proj":"gated-gelu","tie_word_embeddings":false})");
  ASSERT_TRUE(issues_.empty()) << issues_[0].message;
  const Architecture& model = config.architecture;
  ASSERT_EQ(model.encoder_runs.size(), 2U);
  ASSERT_EQ(model.runs.size(), 2U);
  EXPECT_EQ(model.layers(), 6);  // no num_decoder_layers: as many
  EXPECT_EQ(AttentionOf(model.runs[0].period[0]).relative_buckets, 32);
  EXPECT_EQ(AttentionOf(model.runs[1].period[0]).relative_buckets, 0);
  EXPECT_FALSE(model.encoder_runs[0].period[0].cross.has_value());
  const Block& block = model.runs[1].period[0];
  ASSERT_TRUE(block.cross.has_value());
  EXPECT_STREQ(block.cross->query.name, "EncDecAttention.q");
  EXPECT_EQ(block.cross->query.out_features, 32);  // 4 heads of 8, not the width
  EXPECT_TRUE(MlpOf(block).gated);
  EXPECT_EQ(MlpOf(block).activation, Activation::kGeluNew);
  EXPECT_FALSE(model.scales_head_input);
  const HfConfig plain =
      Read(R"({"model_type":"t5","d_model":64,"d_kv":8,"d_ff":96,"num_layers":3,"num_heads":4,"vocab_size":100})");
  EXPECT_FALSE(MlpOf(plain.architecture.runs[0].period[0]).gated);
  EXPECT_TRUE(plain.architecture.tied_head && plain.architecture.scales_head_input);
}

TEST_F(Config, Umt5HasATableInEveryLayer) {
  // umt5-small: 256,384 tokens of 512 twice; encoder layers of 4 x 512 x 384 + 3 x 512 x 1,024 + 2 x 512 and 32 x 6,
  // decoder layers with 4 x 512 x 384 + 512 more; a norm at the end of each stack.
  const HfConfig config =
      Read(R"({"model_type":"umt5","d_model":512,"d_kv":64,"d_ff":1024,"num_layers":8,"num_decoder_layers":8,)"
           R"("num_heads":6,"vocab_size":256384,"feed_forward_proj":"gated-gelu","tie_word_embeddings":false})");
  ASSERT_TRUE(issues_.empty()) << issues_[0].message;
  const Architecture& model = config.architecture;
  ASSERT_EQ(model.runs.size(), 1U);
  EXPECT_EQ(AttentionOf(model.runs[0].period[0]).relative_buckets, 32);
  EXPECT_EQ(model.runs[0].period[0].cross->relative_buckets, 0);
  const std::int64_t layer = 4 * 512 * 384 + 3 * 512 * 1024 + 2 * 512 + 32 * 6;
  const std::int64_t cross = 4 * 512 * 384 + 512;
  EXPECT_EQ(CountParameters(model).total(), 2 * 256'384 * 512 + 16 * layer + 8 * cross + 2 * 512);
  EXPECT_EQ(CountParameters(model).total(), 306'601'984);
}

TEST_F(Config, DebertaProjectsATableOfDistances) {
  const std::string plain =
      R"({"model_type":"deberta-v2","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,)"
      R"("num_attention_heads":12,"vocab_size":128100,"max_position_embeddings":512,"type_vocab_size":0,)"
      R"("relative_attention":true,"norm_rel_ebd":"layer_norm","share_att_key":true,"position_biased_input":false,)";
  const std::string both = R"("pos_att_type":"p2c|c2p")";
  const Architecture buckets =
      Read(plain + both + R"(,"position_buckets":256,"max_relative_positions":-1})").architecture;
  ASSERT_TRUE(issues_.empty()) << issues_[0].message;
  EXPECT_EQ(buckets.distance_rows, 512);
  EXPECT_EQ(CountParameters(buckets).total(), 183'831'552);              // KerasHub's count of DeBERTa v3 base
  EXPECT_EQ(Read(plain + both + "}").architecture.distance_rows, 1024);  // of every position, both ways
  EXPECT_TRUE(issues_.empty());
  Read(plain + R"("pos_att_type":["c2p"]})");
  ASSERT_EQ(issues_.size(), 1U);
  EXPECT_EQ(issues_[0].field, "model.config.pos_att_type");
}

TEST_F(Config, WhisperHearsAndItsKeysHaveNoBias) {
  const HfConfig config = Read(
      R"({"model_type":"whisper","d_model":64,"encoder_layers":3,"decoder_layers":2,"encoder_attention_heads":4,)"
      R"("decoder_attention_heads":2,"encoder_ffn_dim":96,"decoder_ffn_dim":128,"num_mel_bins":80,"vocab_size":100})");
  ASSERT_TRUE(issues_.empty()) << issues_[0].message;
  const Architecture& model = config.architecture;
  EXPECT_EQ(model.mel_bins, 80);
  EXPECT_EQ(model.source_positions, 1500);
  EXPECT_EQ(model.position_rows, 448);
  EXPECT_EQ(CountLayers(model.encoder_runs), 3);
  EXPECT_EQ(CountLayers(model.runs), 2);
  const Block& block = model.runs[0].period[0];
  EXPECT_FALSE(AttentionOf(block).key.bias || block.cross->key.bias);
  EXPECT_TRUE(AttentionOf(block).value.bias && block.cross->output.bias);
  EXPECT_EQ(AttentionOf(block).heads, 2);
  EXPECT_EQ(AttentionOf(block).head_dim, 32);
  EXPECT_EQ(MlpOf(block).width(), 128);
  EXPECT_EQ(MlpOf(model.encoder_runs[0].period[0]).width(), 96);
}

TEST_F(Config, Gpt2HasPositionsDropoutAndNoGate) {
  const HfConfig config = Read(R"({"model_type":"gpt2","n_embd":48,"n_layer":2,"n_head":4,"vocab_size":100})");
  const Block block = OnlyBlock(config);
  EXPECT_EQ(config.architecture.position_rows, 1024);
  EXPECT_EQ(config.architecture.embedding_dropout, 0.1);
  EXPECT_EQ(block.residual_dropout, 0.1);
  EXPECT_EQ(AttentionOf(block).dropout, 0.1);
  EXPECT_FALSE(MlpOf(block).gated);
  EXPECT_EQ(AttentionOf(block).rotary, Rotary::kNone);
  EXPECT_EQ(MlpOf(block).up.out_features, 4 * 48);
  EXPECT_EQ(MlpOf(block).activation, Activation::kGeluNew);
  const HfConfig quiet =
      Read(R"({"model_type":"gpt2","n_embd":48,"n_layer":2,"n_head":4,"vocab_size":100,"n_inner":64,"resid_pdrop":0})");
  EXPECT_EQ(OnlyBlock(quiet).residual_dropout, 0);
  EXPECT_EQ(MlpOf(OnlyBlock(quiet)).up.out_features, 64);
}

TEST_F(Config, GraniteAndGemmaScaleAndCap) {
  const HfConfig granite = Small("granite");
  EXPECT_TRUE(granite.architecture.scales_embedding && granite.architecture.scales_logits);
  EXPECT_TRUE(OnlyBlock(granite).scales_residual);
  const HfConfig gemma = Small("gemma2", R"(,"final_logit_softcapping":null,"sliding_window":null)");
  EXPECT_FALSE(gemma.architecture.logits_softcap);
  EXPECT_TRUE(AttentionOf(OnlyBlock(gemma)).score_softcap);
  EXPECT_EQ(OnlyBlock(gemma).arrangement, Arrangement::kSandwichNorm);
}

TEST_F(Config, WindowsMakeRuns) {
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("mistral"))).window, 4096);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("mistral", R"(,"sliding_window":null)"))).window, 0);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("llama", R"(,"sliding_window":64)"))).window, 0);
  EXPECT_EQ(AttentionOf(OnlyBlock(Small("qwen2", R"(,"sliding_window":64,"use_sliding_window":false)"))).window, 0);

  const auto gemma = Small("gemma2", R"(,"sliding_window":64)").architecture.runs;
  ASSERT_EQ(gemma.size(), 1U);
  EXPECT_EQ(gemma[0].repeats, 2);
  EXPECT_EQ(AttentionOf(gemma[0].period[0]).window, 64);
  EXPECT_EQ(AttentionOf(gemma[0].period[1]).window, 0);

  const auto upper = Small("qwen2", R"(,"use_sliding_window":true,"sliding_window":64,"max_window_layers":3)");
  ASSERT_EQ(upper.architecture.runs.size(), 2U);
  EXPECT_EQ(upper.architecture.runs[0].repeats, 3);
  EXPECT_EQ(AttentionOf(upper.architecture.runs[0].period[0]).window, 0);
  EXPECT_EQ(AttentionOf(upper.architecture.runs[1].period[0]).window, 64);
  EXPECT_EQ(upper.architecture.layers(), 4);

  const auto listed =
      Small("qwen3", R"(,"use_sliding_window":true,"sliding_window":64,"layer_types":["full_attention",)"
                     R"("sliding_attention","sliding_attention","sliding_attention"])");
  EXPECT_EQ(listed.architecture.runs[1].repeats, 3);
}

TEST_F(Config, AnOddNumberOfAlternatingLayersKeepsTheLast) {
  const auto runs = Read(R"({"model_type":"gemma2","hidden_size":64,"intermediate_size":96,"num_hidden_layers":5,)"
                         R"("num_attention_heads":4,"vocab_size":100,"sliding_window":8})")
                        .architecture.runs;
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].repeats, 2);
  EXPECT_EQ(runs[1].repeats, 1);
  EXPECT_EQ(AttentionOf(runs[1].period[0]).window, 8);
}

TEST_F(Config, QuantizationIsRead) {
  const auto nf4 = Small("llama", R"(,"quantization_config":{"load_in_4bit":true,"bnb_4bit_quant_type":"nf4",)"
                                  R"("bnb_4bit_use_double_quant":true})");
  ASSERT_TRUE(nf4.quantization.has_value());
  EXPECT_EQ(nf4.quantization->kind, QuantizationKind::kNf4);
  EXPECT_TRUE(nf4.quantization->double_quant);
  const auto plain = Small("llama", R"(,"quantization_config":{"load_in_4bit":true})");
  EXPECT_EQ(plain.quantization->kind, QuantizationKind::kFp4);  // bitsandbytes' default
  const auto int8 = Small("llama", R"(,"quantization_config":{"load_in_8bit":true})");
  EXPECT_EQ(int8.quantization->kind, QuantizationKind::kInt8);
  EXPECT_EQ(Small("llama", R"(,"quantization_config":{"quant_method":"quanto"})").other_quantization, "quanto");
}

TEST_F(Config, GroupsOfAPackedCheckpointAreRead) {
  const auto read = [this](const std::string& stored) {
    return Small("llama", ",\"quantization_config\":" + stored).quantization.value();
  };
  const Quantization gptq = read(R"({"quant_method":"gptq","bits":8,"group_size":32})");
  EXPECT_EQ(gptq.kind, QuantizationKind::kGptq);
  EXPECT_EQ(gptq.bits, 8);
  EXPECT_EQ(gptq.group_size, 32);
  EXPECT_GE(read(R"({"quant_method":"awq","bits":4,"group_size":-1})").group_size, 1'000'000);  // a whole column
  EXPECT_EQ(read(R"({"quant_method":"awq"})").group_size, 128);
  const Quantization hqq =
      read(R"({"quant_method":"hqq","quant_config":{"weight_quant_params":{"nbits":2,"group_size":16}}})");
  EXPECT_EQ(hqq.kind, QuantizationKind::kHqq);
  EXPECT_EQ(hqq.bits, 2);
  EXPECT_EQ(hqq.group_size, 16);
  EXPECT_EQ(read(R"({"quant_method":"hqq"})").group_size, 64);
  EXPECT_EQ(read(R"({"quant_method":"fp8","weight_block_size":[128,128]})").kind, QuantizationKind::kFp8);
}

TEST_F(Config, SaysWhatTheClassDecided) {
  const HfConfig config = Small("llama");
  std::string fields;
  for (const Assumption& assumption : config.assumptions) fields += assumption.field + "=" + assumption.value + " ";
  EXPECT_EQ(fields, "model.config.num_key_value_heads=4 model.config.tie_word_embeddings=false ");
}

TEST_F(Config, UnknownKeysAndNullsAreNoFaults) {
  Small("llama",
        R"(,"rope_scaling":{"type":"x"},"whatever":[1,2],"num_key_value_heads":null,"torch_dtype":"bfloat16")");
  EXPECT_TRUE(issues_.empty());
}

}  // namespace
}  // namespace tunefit
