#include "core/codec/catalog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "core/model/parameters.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

Json Parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

class TheCatalog : public testing::Test {
 protected:
  TheCatalog() : catalog_(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues_)) {}

  Issues issues_;
  Catalog catalog_;
};

TEST_F(TheCatalog, IsRead) {
  EXPECT_TRUE(issues_.empty()) << test::Listed(issues_);
  EXPECT_GT(catalog_.gpus.size(), 50U);
  EXPECT_GT(catalog_.models.size(), 90U);
  EXPECT_FALSE(catalog_.stacks.empty());
  EXPECT_FALSE(catalog_.overheads.contexts.empty());
}

TEST_F(TheCatalog, CountsEveryModelExactly) {
  const Json published = Parsed(test::ReadFile(TUNEFIT_SOURCE_DIR "/tests/golden/published_params.json"));
  for (const Json& row : published) {
    const CatalogModel* model = catalog_.FindModel(row["id"].get<std::string>());
    ASSERT_NE(model, nullptr) << row["id"];
    if (row.contains("printed")) {  // a card's rounded size
      const auto printed = row["printed"].get<double>();
      EXPECT_NEAR(static_cast<double>(CountParameters(model->architecture).total()), printed, 0.01 * printed)
          << row["id"];
      continue;
    }
    std::int64_t expected = row["published"].get<std::int64_t>();
    for (const Json& adjustment : row["adjustments"]) expected -= adjustment["count"].get<std::int64_t>();
    EXPECT_EQ(CountParameters(model->architecture).total(), expected) << row["id"];
  }
}

TEST_F(TheCatalog, FindsModelsByEveryNameInAnyCase) {
  const CatalogModel* model = catalog_.FindModel("llama-3.1-8b");
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(catalog_.FindModel("META-LLAMA/Llama-3.1-8B"), model);
  for (const CatalogModel& row : catalog_.models) {
    EXPECT_EQ(catalog_.FindModel(row.id), &row);
    EXPECT_EQ(catalog_.FindModel(row.hf_id), &row);
    for (const std::string& alias : row.aliases) EXPECT_EQ(catalog_.FindModel(alias), &row) << alias;
  }
  EXPECT_EQ(catalog_.FindModel(""), nullptr);
  EXPECT_EQ(catalog_.FindModel("llama"), nullptr);
}

TEST_F(TheCatalog, ConvertsUnitsOnce) {
  const Gpu* gpu = catalog_.FindGpu("RTX-4090");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->memory_bytes, 24.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(gpu->usable_bytes, 24564.0 * 1024 * 1024);
  EXPECT_FALSE(gpu->usable_is_derived);
  for (const CatalogGpu& row : catalog_.gpus) {
    EXPECT_GT(row.gpu.usable_bytes, 0.9 * row.gpu.memory_bytes) << row.gpu.id;
    EXPECT_LE(row.gpu.usable_bytes, row.gpu.memory_bytes) << row.gpu.id;
  }
}

// GPU-2: of those alike the card with nearly as many watts for its printed rate.
TEST_F(TheCatalog, CardsThatNobodyMeasuredReachWhatTheirKinDo) {
  const std::tuple<const char*, const char*> kin[] = {
      {"mi350x", "mi355x"}, {"h200-sxm", "h100-sxm"}, {"a100-pcie-40gb", "a100-pcie-80gb"}, {"rtx-5090", "rtx-4090"}};
  for (const auto& [unmeasured, measured] : kin) {
    const Gpu& gpu = *catalog_.FindGpu(unmeasured);
    const Gpu& like = *catalog_.FindGpu(measured);
    EXPECT_EQ(gpu.measured.bf16, 0) << unmeasured;
    EXPECT_DOUBLE_EQ(gpu.kin_share.bf16, like.measured.bf16 / like.peak.bf16) << unmeasured;
  }
  EXPECT_EQ(catalog_.FindGpu("h100-sxm")->kin_share.bf16, 0) << "it was measured itself";
}

TEST_F(TheCatalog, StackVersionsHoldUntilTheNext) {
  const CatalogStack* stack = catalog_.FindStack("transformers");
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->At("2023-11").fields.attention, "eager");
  EXPECT_EQ(stack->At("2023-12").fields.attention, "sdpa");
  EXPECT_EQ(stack->At("2099-01").fields.attention, "sdpa");
  EXPECT_EQ(&stack->At("1999-01"), &stack->versions.front());
  EXPECT_EQ(stack->At("2025-07").fields.optimizer, "adamw_torch");
  EXPECT_EQ(stack->At("2025-08").fields.optimizer, "adamw_torch_fused");
}

TEST_F(TheCatalog, FindsCardsByEveryNameInAnyCase) {
  const Gpu* gpu = catalog_.FindGpu("h100-sxm");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(catalog_.FindGpu("H100-SXM"), gpu);
  const Json rows = Parsed(test::ReadFile(TUNEFIT_CATALOG))["gpus"];
  int aliases = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(catalog_.FindGpu(rows[i]["id"].get<std::string>()), &catalog_.gpus[i].gpu);
    for (const Json& alias : rows[i].value("aliases", Json::array())) {
      EXPECT_EQ(catalog_.FindGpu(alias.get<std::string>()), &catalog_.gpus[i].gpu) << alias;
      ++aliases;
    }
  }
  EXPECT_GT(aliases, 50);
  EXPECT_EQ(catalog_.FindGpu(""), nullptr);
  EXPECT_EQ(catalog_.FindGpu("h"), nullptr);
}

TEST(ReadCatalog, AcceptsTheMinimalOne) {
  Issues issues;
  ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), issues);
  EXPECT_TRUE(issues.empty()) << test::Listed(issues);
}

TEST(ReadCatalog, AMeasuredRateMayBeAFewPercentOverThePeak) {
  const auto listed = [](double measured) {
    Json catalog = test::ReadSmallCatalog("minimal.json");
    Json& gpu = catalog["gpus"][0];
    gpu["measured_TFLOPS"] = {{"fp16", measured}};
    gpu["sources"] = {{"row", {"table"}}};  // covers every number
    Issues issues;
    ReadCatalog(test::Completed(catalog), issues);
    return test::Listed(issues);
  };
  EXPECT_EQ(listed(1.149 * 165.2), "");
  EXPECT_NE(listed(1.151 * 165.2), "");
}

TEST(ReadCatalog, DerivesWhatACardShows) {
  Issues issues;
  const Catalog catalog = ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), issues);
  const Gpu* derived = catalog.FindGpu("card-b");
  ASSERT_NE(derived, nullptr);
  EXPECT_TRUE(derived->usable_is_derived);
  // No card of that vendor was read: the only share seen is 24564 MiB of 24 GiB.
  EXPECT_EQ(derived->usable_bytes,
            static_cast<double>(static_cast<std::int64_t>(192.0 * 1024 * 1024 * 1024 * (24564.0 / (24 * 1024)))));
}

TEST(ReadCatalog, NeverFailsOnWrongTexts) {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"gpus":{},"models":[1],"stacks":[{}],"sources":"x"})",
                           R"({"meta":1,"overheads":[],"gpus":[[]],"models":[{"config":3}]})"}) {
    Issues issues;
    ReadCatalog(text, issues);
    EXPECT_FALSE(issues.empty()) << text;
  }
}

}  // namespace
}  // namespace tunefit
