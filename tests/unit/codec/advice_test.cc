#include "core/codec/advice.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/codec/answer.h"
#include "core/codec/api.h"
#include "tests/support/advice.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

/// A report with advice, of the bundled catalog.
class AdviceOf : public testing::Test {
 protected:
  void SetUp() override {
    Init(test::ReadFile(TUNEFIT_CATALOG));
    InitMarket(test::ReadFile(TUNEFIT_MARKET));
  }
  static Json Report(const std::string& fields) {
    request_ = Json::parse(R"({"version":1,"detail":"summary","include":["advice"],)" + fields + "}", nullptr, false);
    return Json::parse(Estimate(request_.dump()), nullptr, false);
  }
  static const Json* Find(const Json& report, const std::string& change) {
    for (const Json& entry : report["advice"]) {
      if (entry["change"] == change) return &entry;
    }
    return nullptr;
  }
  static inline Json request_;
};

TEST_F(AdviceOf, IsOnlyGivenWhereItIsAskedForAndThereIsACard) {
  EXPECT_TRUE(Report(R"("model":"llama-3.1-8b")")["advice"].empty());
  Json request = request_;
  request["hardware"] = {{"gpu", "rtx-4090"}};
  EXPECT_FALSE(Json::parse(Estimate(request.dump()), nullptr, false)["advice"].empty());
  request.erase("include");
  EXPECT_TRUE(Json::parse(Estimate(request.dump()), nullptr, false)["advice"].empty());
}

TEST_F(AdviceOf, ALongRunOfAdaptersStartsWithCheckpointing) {
  const Json report = Report(
      R"("model":"llama-3.1-8b","method":{"kind":"lora"},"precision":{"weights":"bf16"},"loss":"fused_linear_ce",)"
      R"("batch":{"per_device":1,"sequence_length":8192},"hardware":{"gpu":"a100-sxm4-40gb"})");
  ASSERT_EQ(report["fit"]["verdict"], "does_not_fit");
  const Json* entry = Find(report, "gradient_checkpointing");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ((*entry)["patch"], (Json{{"gradient_checkpointing", "full"}}));
  EXPECT_EQ((*entry)["fit"]["verdict"], "fits");
  EXPECT_EQ((*entry)["how"], "TrainingArguments(gradient_checkpointing=True)");
  EXPECT_EQ((*entry)["quality"], "none");
  EXPECT_TRUE((*entry)["hours_change"].is_null());
}

TEST_F(AdviceOf, ARunWithRoomIsToldWhatIsFaster) {
  const Json report = Report(
      R"("model":"llama-3.1-8b","method":{"kind":"lora"},"gradient_checkpointing":"full","precision":{"weights":"bf16"},)"
      R"("batch":{"per_device":2,"gradient_accumulation":8,"sequence_length":1024},"hardware":{"gpu":"h200-sxm"},)"
      R"("dataset":{"examples":10000,"mean_tokens":1000})");
  ASSERT_EQ(report["fit"]["verdict"], "fits");
  const Json* entry = Find(report, "no_gradient_checkpointing");
  ASSERT_NE(entry, nullptr);
  EXPECT_LT((*entry)["hours_change"], 0);
  EXPECT_LT((*entry)["cost_change"]["amount"], 0);
  EXPECT_EQ(Find(report, "optimizer_8bit"), nullptr);
  EXPECT_EQ(Find(report, "more_gpus"), nullptr);
  EXPECT_EQ(Find(report, "shorter_sequence"), nullptr);
}

TEST_F(AdviceOf, SeveralChangesAreCombinedWhereNoneDoesAlone) {
  const Json report = Report(R"("model":"llama-3.1-70b","method":{"kind":"lora"},"precision":{"weights":"bf16"},)"
                             R"("batch":{"per_device":4,"sequence_length":4096},"hardware":{"gpu":"a100-sxm4-80gb"})");
  const Json& first = report["advice"][0];
  ASSERT_EQ(first["change"], "combined");
  EXPECT_GT(first["changes"].size(), 1U);
  EXPECT_EQ(first["fit"]["verdict"], "fits");
  for (const Json& entry : report["advice"]) {
    EXPECT_EQ(entry.contains("changes"), entry["change"] == "combined");
  }
  test::ExpectAdviceHolds(request_, report);
}

TEST_F(AdviceOf, WhatNothingMakesFitIsSaid) {
  const Json report = Report(R"("model":"llama-3.1-405b","method":{"kind":"full"},"hardware":{"gpu":"t4"})");
  EXPECT_TRUE(test::SaysThatNoneDo(report));
  EXPECT_FALSE(test::SettingsMakeItFit(report));
}

TEST_F(AdviceOf, AStackIsOnlyToldWhatItHas) {
  const std::string fields =
      R"("model":"llama-3.1-8b","stack":"litgpt","method":{"kind":"full"},"hardware":{"gpu":"a100-sxm4-40gb"})";
  const Json report = Report(fields);
  for (const Json& entry : report["advice"]) {
    EXPECT_TRUE(entry["effort"] == "hardware" || entry["how"].is_string()) << entry.dump();
  }
  EXPECT_EQ(Find(report, "paged_optimizer"), nullptr);
  Init(test::ReadFile(TUNEFIT_CATALOG));  // without the second part nothing is known of settings
  const Json early = Report(fields);
  ASSERT_FALSE(early["advice"].empty());
  for (const Json& entry : early["advice"]) EXPECT_TRUE(entry["how"].is_null());
}

TEST_F(AdviceOf, OwnPricesAreOfTheOwnCard) {
  const std::string run =
      R"("model":"llama-3.1-8b","method":{"kind":"full"},"hardware":{"gpu":"rtx-4090"},"dataset":{"examples":1000})";
  const Json* card = nullptr;
  const Json report = Report(run + R"(,"pricing":{"gpu_per_hour":0.5})");
  card = Find(report, "smallest_card");
  ASSERT_NE(card, nullptr);
  EXPECT_TRUE((*card)["cost_change"].is_null());
  EXPECT_EQ(Find(report, "cheapest_card"), nullptr);
}

TEST_F(AdviceOf, AMachineOfTheCardIsLeftWithIt) {
  const Json report = Report(R"("model":"llama-3.1-8b","method":{"kind":"full"},"batch":{"per_device":1},)"
                             R"("hardware":{"gpu":"l40s","server":"sys-421ge-tnrt"})");
  const Json* card = Find(report, "smallest_card");
  ASSERT_NE(card, nullptr);
  EXPECT_EQ((*card)["patch"]["hardware"].dump(), R"({"gpu":"a100-sxm4-80gb","server":null})");
  test::ExpectAdviceHolds(request_, report);
}

/// Every stack says of every change of settings how it is told, or that it is not.
TEST(StackSwitches, AreComplete) {
  const Json market = Json::parse(test::ReadFile(TUNEFIT_MARKET), nullptr, false);
  const Json catalog = Json::parse(test::ReadFile(TUNEFIT_CATALOG), nullptr, false);
  std::set<std::string> told;
  for (const Json& row : market["switches"]) {
    told.insert(row["stack"].get<std::string>() + " " + row["change"].get<std::string>());
  }
  std::size_t wanted = 0;
  for (const Json& stack : catalog["stacks"]) {
    for (int i = 0; i < kChangeCount; ++i) {
      const auto change = static_cast<Change>(i);
      if (TraitsOf(change).effort == ChangeEffort::kHardware) continue;
      ++wanted;
      const std::string row = stack["id"].get<std::string>() + " " + std::string(ChangeName(change));
      EXPECT_EQ(told.count(row), 1U) << row;
    }
  }
  EXPECT_EQ(told.size(), wanted);
}

}  // namespace
}  // namespace tunefit
