#include "core/model/workload.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tunefit
