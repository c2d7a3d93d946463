#include "core/codec/api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

Json Parsed(const std::string& text) { return Json::parse(text, nullptr, false); }

TEST(Api, InitTakesTheBundledCatalog) {
  const Json answer = Parsed(Init(test::ReadFile(TUNEFIT_CATALOG)));
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["status"], "ok") << answer.dump(2);
}

TEST(Api, NothingIsEstimatedBeforeACatalog) {
  EXPECT_EQ(Parsed(Init("{}"))["status"], "invalid");
  const Json report = Parsed(Estimate(R"({"version":1,"model":"gpt2"})"));
  EXPECT_EQ(report["status"], "invalid");
  EXPECT_EQ(report["issues"][0]["code"], "not_initialised");
  EXPECT_TRUE(Parsed(Describe())["models"].empty());
  EXPECT_EQ(Parsed(Init(test::ReadFile(TUNEFIT_CATALOG)))["status"], "ok");
  EXPECT_EQ(Parsed(Estimate(R"({"version":1,"model":"gpt2"})"))["status"], "ok");
}

TEST(Api, AnyTextGetsAReport) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  for (const char* request : {"", "{", "[]", "null", "{\"version\":1}", "\xff\xfe"}) {
    const Json report = Parsed(Estimate(request));
    ASSERT_TRUE(report.is_object()) << request;
    EXPECT_EQ(report["status"], "invalid") << request;
    EXPECT_FALSE(report["issues"].empty()) << request;
  }
}

/// The first card that a run may name beside that link.
Json CardWith(const Json& description, const Json& link) {
  for (const Json& gpu : description["gpus"]) {
    const Json hardware = {{"gpu", gpu["id"]}, {"interconnect", link}};
    const Json request = {{"version", 1}, {"model", "gpt2"}, {"detail", "summary"}, {"hardware", hardware}};
    if (Parsed(Estimate(request.dump()))["status"] == "ok") return gpu["id"];
  }
  return "";
}

/// Every word and number that the reader takes is described, for it reads them by the tables that the description is
/// written from, or by core/cost's; here only that it does.
TEST(Api, TheReaderReadsByTheTablesOfTheDescription) {
  std::string text;
  for (const char* room : {"fields", "dataset", "pricing"}) {
    text += test::ReadFile(std::string(TUNEFIT_SOURCE_DIR "/core/codec/request_") + room + ".cc");
  }
  const std::regex past_them(R"re(\.(?:Choice|Count|Number)\("(\w+)")re");
  std::set<std::string> keys;
  for (std::sregex_iterator it(text.begin(), text.end(), past_them), end; it != end; ++it) keys.insert((*it)[1]);
  EXPECT_EQ(keys, (std::set<std::string>{"currency", "term"}));
  Init(test::ReadFile(TUNEFIT_CATALOG));
  const Json description = Parsed(Describe());
  for (const char* field : {"include", "precision.optimizer_states", "parallel.reduce_dtype", "pricing.currency",
                            "pricing.term", "hardware.interconnect"}) {
    EXPECT_TRUE(description["choices"].contains(field)) << field;
  }
  for (const char* field : {"quantization.bits", "parallel.tensor", "parallel.zero.sub_group_size"}) {
    EXPECT_TRUE(description["limits"].contains(field)) << field;
  }
  EXPECT_EQ(description["choices"]["include"].back(), "scaling");
}

TEST(Api, EveryChoiceDescribedIsModelled) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  const Json description = Parsed(Describe());
  for (const auto& [field, words] : description["choices"].items()) {
    for (const Json& word : words) {
      Json request = {{"version", 1}, {"model", "llama-3.1-8b"}};
      const bool adapted = field.rfind("quantization", 0) == 0 || field.rfind("method.", 0) == 0;
      if (adapted) request["method"] = {{"kind", "lora"}};
      if (field == "quantization.prepare_kbit") request["quantization"] = {{"kind", "nf4"}};
      const bool generates = field.rfind("rollout", 0) == 0 || word == "grpo" || word == "ppo";
      if (generates) request["rollout"] = {{"prompt_length", 256}, {"completion_length", 256}};
      if (generates) request["batch"] = {{"per_device", 8}};
      if (field.rfind("rollout", 0) == 0) request["task"] = "grpo";
      if (field == "reference") request["task"] = "dpo";
      if (word == "adapter") request["method"] = {{"kind", "lora"}};
      if (field == "method.modules_to_save_dtype") request["method"]["modules_to_save"] = {"lm_head"};
      // What only some strategies offload, or reduce in another dtype.
      const bool offloads = field.rfind("parallel.offload", 0) == 0;
      if (offloads) request["parallel"] = {{"gpus", 2}, {"strategy", "zero3"}, {"offload", {{"optimizer", word}}}};
      if (field == "parallel.reduce_dtype") request["parallel"] = {{"gpus", 2}, {"strategy", "fsdp2"}};
      if (field == "hardware.interconnect") request["hardware"]["gpu"] = CardWith(description, word);
      const bool list = field == "fused_kernels" || field == "include" || field.rfind("plan.", 0) == 0;
      std::string pointer = "/" + field;
      for (char& c : pointer) c = c == '.' ? '/' : c;
      request[Json::json_pointer(pointer)] = list ? Json::array({word}) : word;
      const Json report = Parsed(Estimate(request.dump()));
      EXPECT_EQ(report["status"], "ok") << request << report["issues"];
    }
  }
}

TEST(Api, TheLimitsDescribedAreTheLimits) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  const Json description = Parsed(Describe());
  for (const auto& entry : description["limits"].items()) {
    const std::string& field = entry.key();
    const Json& limits = entry.value();
    for (const bool low : {true, false}) {
      Json request = {{"version", 1}, {"model", "llama-3.1-8b"}, {"method", {{"kind", "lora"}}}};
      if (field == "model.parameters") request["model"] = {{"config", Json::object()}};
      std::string pointer = "/" + field;
      for (char& c : pointer) c = c == '.' ? '/' : c;
      const double limit = limits[low ? "low" : "high"].get<double>();
      const auto out_of_range = [&](double value) {
        request[Json::json_pointer(pointer)] = value;
        const Json report = Parsed(Estimate(request.dump()));
        for (const Json& issue : report["issues"]) {
          if (issue["code"] == "out_of_range" && issue["field"] == field) return true;
        }
        return false;
      };
      EXPECT_FALSE(out_of_range(limit)) << field;
      EXPECT_TRUE(out_of_range(low ? limit - 1 : limit + 1)) << field;
    }
  }
}

TEST(Api, EveryDescribedModelAndCardIsKnown) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  const Json description = Parsed(Describe());
  for (const Json& model : description["models"]) {
    const Json report = Parsed(Estimate(Json({{"version", 1}, {"model", model["id"]}, {"detail", "summary"}}).dump()));
    ASSERT_EQ(report["status"], "ok") << model["id"] << report["issues"];
    EXPECT_EQ(report["model"]["parameters"], model["parameters"]);
  }
  for (const Json& gpu : description["gpus"]) {
    const Json request = {{"version", 1}, {"model", "gpt2"}, {"hardware", {{"gpu", gpu["id"]}}}};
    const Json report = Parsed(Estimate(request.dump()));
    ASSERT_EQ(report["status"], "ok") << gpu["id"];
    EXPECT_EQ(report["fit"]["usable_bytes"], gpu["usable_bytes"]);
  }
}

}  // namespace
}  // namespace tunefit
