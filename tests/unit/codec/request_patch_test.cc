#include "core/codec/request_patch.h"

#include <gtest/gtest.h>

namespace tunefit {
namespace {

std::string Written(const RequestPatch& patch) {
  JsonWriter writer(100);
  WritePatch(writer, patch);
  return writer.Take();
}

TEST(RequestPatch, IsWrittenByItsPaths) {
  const RequestPatch patch = {
      {"parallel.strategy", "zero2"},        {"optimizer_in_backward", true},
      {"parallel.offload.optimizer", "cpu"}, {"method.trainable_layers", {}},
      {"batch.per_device", std::int64_t{4}}, {"method.target_modules", std::vector<std::string>{"q_proj", "v_proj"}}};
  EXPECT_EQ(Written(patch),
            R"({"batch":{"per_device":4},"method":{"target_modules":["q_proj","v_proj"],"trainable_layers":null},)"
            R"("optimizer_in_backward":true,"parallel":{"offload":{"optimizer":"cpu"},"strategy":"zero2"}})");
  EXPECT_EQ(Written({}), "{}");
}

TEST(RequestPatch, HoldsEveryPathOnceTheLastValueOfIt) {
  RequestPatch patch = {{"loss", "chunked"}, {"attention", "sdpa"}};
  patch.Add({{"loss", "fused_linear_ce"}});
  EXPECT_EQ(Written(patch), R"({"attention":"sdpa","loss":"fused_linear_ce"})");
  EXPECT_EQ(PatchText(patch, "loss"), "fused_linear_ce");
  EXPECT_EQ(PatchText(patch, "batch.per_device"), "");
  patch.Set("method.target_modules", std::vector<std::string>{"q", "v"});
  EXPECT_EQ(PatchText(patch, "method.target_modules"), R"("q", "v")");
}

TEST(RequestPatch, ChangesFieldsAsThePatchedTextWould) {
  RequestFields fields;
  fields.checkpointing.every = 2;
  fields.server = "box";
  fields.method.trainable_layers = 3;
  const RequestPatch patch = {{"gradient_checkpointing", "full"},   {"hardware.server", {}},
                              {"method.trainable_layers", {}},      {"method.target_modules", "all-linear"},
                              {"quantization.kind", "nf4"},         {"parallel.offload.parameters", "cpu"},
                              {"batch.per_device", std::int64_t{2}}};
  ApplyPatch(patch, fields);
  EXPECT_EQ(fields.checkpointing.kind, Word("full"));
  EXPECT_FALSE(fields.checkpointing.every);
  EXPECT_FALSE(fields.server);
  EXPECT_FALSE(fields.method.trainable_layers);
  EXPECT_TRUE(fields.method.target_modules->all_linear);
  EXPECT_TRUE(fields.quantization.given);
  EXPECT_TRUE(fields.parallel.offload);
  EXPECT_EQ(fields.parallel.offload_parameters, Word("cpu"));
  EXPECT_EQ(fields.batch.per_device, 2);
}

}  // namespace
}  // namespace tunefit
