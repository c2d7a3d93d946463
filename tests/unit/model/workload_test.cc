#include "core/model/workload.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "core/model/share.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload LoraWorkload() {
  Workload workload = test::MakeWorkload();
  workload.method.kind = MethodKind::kLora;
  return workload;
}

TEST(ValidateWorkload, AcceptsWhatPeopleRun) {
  EXPECT_TRUE(Validate(test::MakeWorkload()).empty());
  EXPECT_TRUE(Validate(LoraWorkload()).empty());
}

TEST(ValidateWorkload, NamesTheTargetThatTheModelLacks) {
  Workload workload = LoraWorkload();
  workload.method.all_linear = false;
  workload.method.target_modules = {"q_proj", "c_attn"};
  const Issues issues = Validate(workload);
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues[0].code, "unknown_target_module");
  EXPECT_EQ(issues[0].field, "method.target_modules.1");
}

TEST(ValidateWorkload, RankMayNotExceedTheSmallestAdaptedMatrix) {
  Workload workload = LoraWorkload();
  workload.method.rank = 1025;  // k_proj is 1024 x 4096
  EXPECT_EQ(Validate(workload).at(0).code, "rank_over_matrix");
  workload.method.all_linear = false;
  workload.method.target_modules = {"q_proj"};
  EXPECT_TRUE(Validate(workload).empty());
}

TEST(ValidateWorkload, AQuantizedBaseIsNotTrainedInFull) {
  Workload workload = test::MakeWorkload();
  workload.quantization.kind = QuantizationKind::kNf4;
  EXPECT_EQ(Validate(workload).at(0).code, "quantized_full_training");
}

TEST(ValidateWorkload, LearnedPositionsLimitTheLength) {
  Workload workload = test::MakeWorkload();
  workload.architecture.position_rows = 1024;
  workload.batch.sequence_length = 1025;
  EXPECT_EQ(Validate(workload).at(0).code, "length_over_positions");
}

/// What Validate says that two ranks cannot share; empty where they can.
std::string SharedBadly(const Mixer& mixer, const FeedForward& feed_forward) {
  Workload workload = test::MakeWorkload();
  Block& block = workload.architecture.runs.front().period.front();
  block.mixer = mixer;
  block.feed_forward = feed_forward;
  workload.parallel.gpus = 2;
  workload.parallel.tensor = 2;
  const Issues issues = Validate(workload);
  if (issues.empty()) return "";
  EXPECT_EQ(issues[0].field, "parallel.tensor");
  return issues[0].code == "tensor_over_width" ? issues[0].values.at(2).second : issues[0].code;
}

TEST(ValidateWorkload, TensorRanksShareEveryWidthEvenly) {
  const Block llama = test::MakeWorkload().architecture.runs.front().period.front();
  const Attention attention = std::get<Attention>(llama.mixer);
  const Mlp mlp = std::get<Mlp>(llama.feed_forward);
  EXPECT_EQ(SharedBadly(attention, mlp), "");

  Attention shared = attention;
  shared.kv_heads = 1;
  EXPECT_EQ(SharedBadly(shared, mlp), "num_key_value_heads");
  Attention odd = attention;
  odd.heads = odd.kv_heads = 31;
  EXPECT_EQ(SharedBadly(odd, mlp), "tensor_over_heads");
  LightningAttention lightning;
  lightning.heads = 31;
  EXPECT_EQ(SharedBadly(lightning, mlp), "tensor_over_heads");
  ShortConvolution convolution;
  convolution.convolution.channels = 31;
  EXPECT_EQ(SharedBadly(convolution, mlp), "tensor_over_heads");
  Mamba2 mamba;
  mamba.heads = 32;
  mamba.head_dim = 64;
  mamba.groups = 1;
  EXPECT_EQ(SharedBadly(mamba, mlp), "mamba_n_groups");
  GatedDelta delta;
  delta.key_heads = 1;
  delta.value_heads = 32;
  EXPECT_EQ(SharedBadly(delta, mlp), "linear_num_key_heads");

  Mlp narrow = mlp;
  narrow.down.in_features = 31;
  EXPECT_EQ(SharedBadly(attention, narrow), "intermediate_size");
  Experts experts;
  experts.count = 8;
  experts.per_token = 2;
  experts.expert = narrow;
  EXPECT_EQ(SharedBadly(attention, experts), "moe_intermediate_size");
  experts.expert = mlp;
  EXPECT_EQ(SharedBadly(attention, experts), "");
  experts.has_shared = true;
  experts.shared = narrow;
  EXPECT_EQ(SharedBadly(attention, experts), "shared_expert_intermediate_size");
}

TEST(ShareOfTensors, PadsTheVocabularyAsTheLibraryDoes) {
  Architecture architecture = test::MakeLlama();
  architecture.vocab_size = 50257;
  EXPECT_EQ(ShareOfTensors(architecture, 1, 1, 1).vocab_size, 50257);
  EXPECT_EQ(ShareOfTensors(architecture, 2, 2, 1).vocab_size, 25129);    // one row more than the other rank's
  EXPECT_EQ(ShareOfTensors(architecture, 1, 1, 128).vocab_size, 50304);  // 393 x 128
  EXPECT_EQ(ShareOfTensors(architecture, 8, 8, 128).vocab_size, 6400);   // 51,200 / 8: 50 x 1,024
}

}  // namespace
}  // namespace tunefit
