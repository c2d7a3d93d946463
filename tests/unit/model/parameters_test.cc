#include "core/model/parameters.h"

#include <gtest/gtest.h>

#include "tests/support/architectures.h"

namespace tunefit {
namespace {

TEST(CountParameters, Llama31With8BillionByHand) {
  // Embedding and head 128256 x 4096 each; a layer: q and o 4096 x 4096, k and v 4096 x 1024, three matrices of
  // 4096 x 14336, two norms of 4096; one norm at the end.
  const ParameterCounts counts = CountParameters(test::MakeLlama());
  EXPECT_EQ(counts.embedding, 525'336'576);
  EXPECT_EQ(counts.head, 525'336'576);
  EXPECT_EQ(counts.attention, 32 * 41'943'040LL);
  EXPECT_EQ(counts.mlp, 32 * 176'160'768LL);
  EXPECT_EQ(counts.norms, 65 * 4096);
  EXPECT_EQ(counts.total(), 8'030'261'248);
}

TEST(CountParameters, ATiedHeadIsTheEmbedding) {
  test::LlamaSizes sizes;
  sizes.tied = true;
  EXPECT_EQ(CountParameters(test::MakeLlama(sizes)).total(), 8'030'261'248 - 525'336'576);
}

TEST(CountParameters, Llama2With70BillionNeeds64Bits) {
  const test::LlamaSizes sizes{8192, 28672, 80, 64, 8, 128, 32000, false};
  EXPECT_EQ(CountParameters(test::MakeLlama(sizes)).total(), 68'976'648'192);
}

TEST(CountParameters, BiasesAndLayerNormsAddVectors) {
  EXPECT_EQ(CountLinear({"c_attn", 768, 2304, true}), 768 * 2304 + 2304);
  EXPECT_EQ(CountNorm(NormKind::kLayerNorm, 768), 1536);
  EXPECT_EQ(CountNorm(NormKind::kRmsNormUnitGain, 768), 768);
}

TEST(ValidateArchitecture, SaysEveryFault) {
  Architecture architecture = test::MakeLlama();
  architecture.hidden_size = 0;
  architecture.vocab_size = -5;
  std::get<Attention>(architecture.runs[0].period[0].mixer).kv_heads = 5;
  const Issues issues = Validate(architecture);
  ASSERT_EQ(issues.size(), 3U);
  EXPECT_EQ(issues[0].field, "hidden_size");
  EXPECT_EQ(issues[1].field, "vocab_size");
  EXPECT_EQ(issues[2].code, "heads_do_not_divide");
}

TEST(CountParameters, AParallelLayerHasOneNormOrTwo) {
  Architecture architecture = test::MakeLlama();
  Block& block = architecture.runs[0].period[0];
  const std::int64_t two = CountBlock(block, architecture.hidden_size).norms;
  block.arrangement = Arrangement::kParallel;
  EXPECT_EQ(CountBlock(block, architecture.hidden_size).norms, two / 2);
  block.arrangement = Arrangement::kParallelTwoNorms;
  EXPECT_EQ(CountBlock(block, architecture.hidden_size).norms, two);
  block.norm = NormKind::kLayerNorm;
  EXPECT_EQ(CountBlock(block, architecture.hidden_size).norms, 2 * two);
  block.norm = NormKind::kLayerNormBare;
  EXPECT_EQ(CountBlock(block, architecture.hidden_size).norms, 0);
}

TEST(CountParameters, QkNormsAreOneVectorOrAsWideAsTheHeads) {
  Architecture architecture = test::MakeLlama();
  auto& attention = std::get<Attention>(architecture.runs[0].period[0].mixer);
  const std::int64_t without = CountBlock(architecture.runs[0].period[0], architecture.hidden_size).attention;
  attention.qk_norm = QkNorm::kHead;
  EXPECT_EQ(CountBlock(architecture.runs[0].period[0], architecture.hidden_size).attention - without,
            2 * attention.head_dim);
  attention.qk_norm = QkNorm::kWhole;
  EXPECT_EQ(CountBlock(architecture.runs[0].period[0], architecture.hidden_size).attention - without,
            (attention.heads + attention.kv_heads) * attention.head_dim);
}

TEST(CountParameters, ATinyT5ByHand) {
  // Tables 10 x 8 for tokens and for the head. An attention is four matrices of 8 x 8: 256; each encoder layer has one,
  // each decoder layer two; each stack's first layer a bias for 32 buckets and 2 heads. An MLP is three matrices of
  // 8 x 16. Norms of 8: two in an encoder layer, three in a decoder layer, one at the end of each stack.
  const test::T5Sizes sizes{8, 2, 4, 16, 2, 1, 10, true, false};
  const ParameterCounts counts = CountParameters(test::MakeT5(sizes));
  EXPECT_EQ(counts.embedding, 80);
  EXPECT_EQ(counts.head, 80);
  EXPECT_EQ(counts.attention, 2 * 256 + 2 * 256 + 2 * 32 * 2);
  EXPECT_EQ(counts.mlp, 3 * 384);
  EXPECT_EQ(counts.norms, 8 * (2 * 2 + 3 + 2));
  EXPECT_EQ(counts.total(), 2'536);
}

TEST(CountParameters, APartThatIsGoneTakesItsNormsAlong) {
  Architecture architecture = test::MakeLlama();
  Block& block = architecture.runs[0].period[0];
  block.mixer = NoPart();
  const ParameterCounts counts = CountBlock(block, architecture.hidden_size);
  EXPECT_EQ(counts.attention, 0);
  EXPECT_EQ(counts.norms, architecture.hidden_size);
}

TEST(CountParameters, ATowerForImagesByItsParts) {
  Architecture architecture = test::MakeLlama();
  const std::int64_t text = CountParameters(architecture).total();
  architecture.vision = test::MakeTower();
  // Patches 12 x 8 + 8 and 4 positions; in a block four matrices 8 x 8 + 8, 8 x 12 + 12 and 12 x 8 + 8, and two
  // LayerNorms; another after the blocks; the projector's norm and 8 x 4,096.
  const std::int64_t block = 4 * 72 + 108 + 104 + 2 * 16;
  const std::int64_t tower = 104 + 32 + 3 * block + 16 + 8 + 32'768;
  const ParameterCounts counts = CountParameters(architecture);
  EXPECT_EQ(counts.vision, tower);
  EXPECT_EQ(counts.total(), text + tower);
  EXPECT_EQ(CountActiveParameters(architecture), text);  // a token of text never visits it
  architecture.vision->class_token = true;
  architecture.vision->norm_before = NormKind::kRmsNorm;
  architecture.vision->projectors[0].count = 4;
  EXPECT_EQ(CountParameters(architecture).vision, tower + 8 + 8 + 3 * (8 + 32'768));
  EXPECT_EQ(ApproximateParameters(architecture), static_cast<double>(CountParameters(architecture).total()));
}

}  // namespace
}  // namespace tunefit
