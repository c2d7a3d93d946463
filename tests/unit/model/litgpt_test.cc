#include "core/model/litgpt.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "core/model/parameters.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr ModelHabits kGrouped{.joined_qkv = JoinedQkv::kGroups};

Block& FirstBlock(Architecture& architecture) { return architecture.runs.front().period.front(); }
Attention& FirstAttention(Architecture& architecture) { return std::get<Attention>(FirstBlock(architecture).mixer); }

/// Llama 3.1 8B as Phi-3's class would write it: one matrix for queries, keys and values, one for gate and up.
Architecture MakeFused() {
  Architecture architecture = test::MakeLlama();
  Attention& attention = FirstAttention(architecture);
  attention.layout = QkvLayout::kFusedSlices;
  attention.query = {"qkv_proj", 4096, 4096 + 2 * 1024, false};
  Mlp& mlp = std::get<Mlp>(FirstBlock(architecture).feed_forward);
  mlp.fused_gate = true;
  mlp.up = {"gate_up_proj", 4096, 2 * 14336, false};
  return architecture;
}

std::vector<std::string> NamesOf(const Block& block) {
  std::vector<std::string> names;
  ForEachMatrix(block, [&names](const LinearShape& matrix) { names.emplace_back(matrix.name); });
  return names;
}

TEST(BuildAsLitGpt, EveryModelHasTheSameModulesAndAsManyParameters) {
  const std::vector<std::string> modules = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                            "gate_proj", "up_proj", "down_proj"};
  for (const Architecture& given : {test::MakeLlama(), MakeFused()}) {
    Architecture built = given;
    BuildAsLitGpt(built, kGrouped);
    EXPECT_EQ(NamesOf(FirstBlock(built)), modules);
    EXPECT_EQ(CountParameters(built).total(), 8'030'261'248);
    EXPECT_EQ(CountParameters(given).total(), 8'030'261'248);
    EXPECT_EQ(FirstAttention(built).query.out_features, 4096);
    EXPECT_EQ(FirstAttention(built).key.out_features, 1024);
  }
}

TEST(BuildAsLitGpt, SharedHeadsAreWrittenOutWhereRowsLieByGroups) {
  Architecture built = test::MakeLlama();
  BuildAsLitGpt(built, kGrouped);
  EXPECT_EQ(FirstAttention(built).layout, QkvLayout::kJoinedGroups);
  EXPECT_TRUE(FirstAttention(built).repeats_fused_heads);
  EXPECT_EQ(FirstAttention(built).rotary_dim, 128);  // cut and joined even where all of a head turns
  built = test::MakeLlama();
  BuildAsLitGpt(built, {.joined_qkv = JoinedQkv::kParts});
  EXPECT_EQ(FirstAttention(built).layout, QkvLayout::kJoinedParts);
  EXPECT_FALSE(FirstAttention(built).repeats_fused_heads);
}

TEST(BuildAsLitGpt, CappedScoresAreWrittenOut) {
  Architecture built = test::MakeLlama();
  FirstAttention(built).score_softcap = true;
  BuildAsLitGpt(built, kGrouped);
  EXPECT_TRUE(built.eager_only);
}

TEST(BuildAsLitGpt, GainsAreMultipliedInFp32WhereTheVersionDoes) {
  Architecture built = test::MakeLlama();
  BuildAsLitGpt(built, kGrouped);
  EXPECT_EQ(FirstBlock(built).norm, NormKind::kRmsNorm);
  BuildAsLitGpt(built, {.joined_qkv = JoinedQkv::kGroups, .rms_gain_in_fp32 = true});
  EXPECT_EQ(FirstBlock(built).norm, NormKind::kRmsNormFp32Gain);
  EXPECT_EQ(built.final_norm, NormKind::kRmsNormFp32Gain);
}

TEST(BuildAsLitGpt, AHeadIsNeverTheEmbedding) {
  Architecture built = test::MakeLlama({.tied = true});
  const std::int64_t tied = CountParameters(built).total();
  BuildAsLitGpt(built, kGrouped);
  EXPECT_EQ(CountParameters(built).total(), tied + 128256 * 4096);
}

TEST(BuildAsLitGpt, LeavesWhatItsClassDoesNotBuild) {
  const Architecture t5 = test::MakeT5();
  Architecture built = t5;
  BuildAsLitGpt(built, kGrouped);
  EXPECT_EQ(built.runs, t5.runs);
}

}  // namespace
}  // namespace tunefit
