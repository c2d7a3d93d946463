#include "core/codec/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::ordered_json;

class Report : public testing::Test {
 protected:
  static void SetUpTestSuite() { Init(test::ReadFile(TUNEFIT_CATALOG)); }

  static Json Ask(const std::string& request) { return Json::parse(Estimate(request), nullptr, false); }
  static std::vector<std::string> Requests() {
    std::vector<std::string> requests;
    for (const char* file : {"basic.jsonl", "varied.jsonl"}) {
      const auto lines = test::ReadLines(std::string(TUNEFIT_SOURCE_DIR "/tests/golden/requests/") + file);
      requests.insert(requests.end(), lines.begin(), lines.end());
    }
    return requests;
  }
};

void Walk(const Json& json, const std::string& path,
          const std::function<void(const std::string&, const Json&)>& visit) {
  visit(path, json);
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) Walk(value, path + "." + key, visit);
}

/// The same request with the members of every object the other way round.
Json Reversed(const Json& json) {
  if (json.is_array()) {
    Json list = Json::array();
    for (const Json& item : json) list.push_back(Reversed(item));
    return list;
  }
  if (!json.is_object()) return json;
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  Json object = Json::object();
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) object[*key] = Reversed(json[*key]);
  return object;
}

TEST_F(Report, AnEncodersEvaluationHasItsOwnHead) {
  const Json report = Ask(R"({"version":1,"model":"bert-base-uncased","evaluation":{},)"
                          R"("batch":{"per_device":1,"sequence_length":256}})");
  const Json& phases = report["memory"]["per_gpu"]["phases"];
  // Eight sequences of 256 tokens have 30,522 logits each, in fp32 after autocast, and their log-probabilities.
  EXPECT_GT(phases["evaluate"].get<double>() - phases["between_steps"].get<double>(), 2 * 8.0 * 256 * 30522 * 4);
}

TEST_F(Report, TermsSumToThePeak) {
  for (const std::string& request : Requests()) {
    const Json report = Ask(request);
    if (report["status"] != "ok" || !report["memory"]["per_gpu"].contains("terms")) continue;
    const Json& gpu = report["memory"]["per_gpu"];
    std::int64_t sum = 0;
    for (const Json& term : gpu["terms"]) {
      std::int64_t items = 0;
      for (const Json& item : term["items"]) items += item["bytes"].get<std::int64_t>();
      EXPECT_EQ(items, term["bytes"].get<std::int64_t>()) << request;
      sum += items;
    }
    EXPECT_EQ(sum, gpu["phases"]["peak_step"].get<std::int64_t>()) << request;
  }
}

TEST_F(Report, GroupsSumToTheModel) {
  for (const std::string& request : Requests()) {
    const Json report = Ask(request);
    if (report["status"] != "ok") continue;
    std::int64_t parameters = 0;
    std::int64_t trainable = 0;
    for (const Json& group : report["model"]["groups"]) {
      const bool beside = group["group"] == "adapters" || group["group"] == "value_model";
      if (!beside) parameters += group["parameters"].get<std::int64_t>();
      trainable += group["trainable_parameters"].get<std::int64_t>();
    }
    EXPECT_EQ(parameters, report["model"]["parameters"].get<std::int64_t>()) << request;
    EXPECT_EQ(trainable, report["model"]["trainable_parameters"].get<std::int64_t>()) << request;
  }
}

TEST_F(Report, BytesAreWholeNumbersInOrder) {
  for (const std::string& request : Requests()) {
    const Json report = Ask(request);
    Walk(report["memory"], "memory", [&](const std::string& path, const Json& value) {
      EXPECT_FALSE(value.is_number_float()) << path << value << request;
    });
    if (report["status"] != "ok") continue;
    for (const char* statistic : {"allocated", "reserved", "device"}) {
      const Json& range = report["memory"]["per_gpu"][statistic];
      EXPECT_LE(range["low"].get<std::int64_t>(), range["expected"].get<std::int64_t>()) << statistic << request;
      EXPECT_LE(range["expected"].get<std::int64_t>(), range["high"].get<std::int64_t>()) << statistic << request;
    }
  }
}

TEST_F(Report, TheCompletedRequestGivesTheSameFiguresAndNoAssumptions) {
  for (const std::string& request : Requests()) {
    const Json report = Ask(request);
    if (report["status"] != "ok") continue;
    const Json again = Ask(report["request"].dump());
    EXPECT_EQ(again["request"], report["request"]) << request;
    for (const char* part : {"model", "recipe", "hardware", "memory", "fit"}) {
      EXPECT_EQ(again[part], report[part]) << part << request;
    }
    for (const Json& assumption : again["assumptions"]) EXPECT_EQ(assumption["reason"], "class_default") << request;
  }
}

TEST_F(Report, TheOrderOfKeysDoesNotMatter) {
  for (const std::string& request : Requests()) {
    const Json parsed = Json::parse(request, nullptr, false);
    if (!parsed.is_object()) continue;
    EXPECT_EQ(Estimate(Reversed(parsed).dump()), Estimate(request)) << request;
  }
}

TEST_F(Report, TheLocaleDoesNotMatter) {
  const std::string request = R"({"version":1,"model":"gpt2","method":{"kind":"lora","dropout":0.25}})";
  const std::string expected = Estimate(request);
  for (const char* name : {"de_DE.UTF-8", "nl_NL.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;  // not installed
    EXPECT_EQ(Estimate(request), expected) << name;
  }
  std::setlocale(LC_ALL, "C");
}

TEST_F(Report, ASummaryIsTheFullReportWithoutItsExplanations) {
  Json request = Json::parse(R"({"version":1,"model":"llama-3.1-8b","hardware":{"gpu":"h100-sxm"}})");
  const Json full = Ask(request.dump());
  request["detail"] = "summary";
  Json summary = Ask(request.dump());
  EXPECT_FALSE(summary.contains("sources"));
  for (const char* part : {"terms", "overheads", "timeline"}) EXPECT_FALSE(summary["memory"]["per_gpu"].contains(part));
  for (const char* part : {"phases", "peak_moment", "allocated", "reserved", "device"}) {
    EXPECT_EQ(summary["memory"]["per_gpu"][part], full["memory"]["per_gpu"][part]) << part;
  }
  EXPECT_EQ(summary["fit"], full["fit"]);
}

TEST_F(Report, FitIsThereWithHardwareAndLimitsWhenAskedFor) {
  EXPECT_TRUE(Ask(R"({"version":1,"model":"gpt2"})")["fit"].is_null());
  const Json plain = Ask(R"({"version":1,"model":"gpt2","hardware":{"gpu":"rtx-4090"}})")["fit"];
  EXPECT_TRUE(plain["largest_batch"].is_null());
  const Json fit = Ask(R"({"version":1,"model":"gpt2","hardware":{"gpu":"rtx-4090"},"include":["limits"]})")["fit"];
  EXPECT_GT(fit["largest_batch"].get<int>(), 1);
  EXPECT_GT(fit["longest_sequence_tokens"].get<int>(), 1);
  EXPECT_LE(fit["longest_sequence_tokens"].get<int>(), 1024);  // GPT-2's positions
}

TEST_F(Report, LimitsCanBeAskedFor) {
  for (const std::string& request :
       {std::string(R"({"version":1,"model":"gpt2","batch":{"per_device":1,"sequence_length":1},)"),
        std::string(R"({"version":1,"model":"llama-3.2-1b","method":{"kind":"lora"},"loss":"fused_linear_ce",)"
                    R"("gradient_checkpointing":"full","batch":{"per_device":1,"sequence_length":16},)"),
        std::string(R"({"version":1,"model":{"config":{"model_type":"llama","hidden_size":8,"intermediate_size":8,)"
                    R"("num_hidden_layers":1,"num_attention_heads":1,"vocab_size":8}},)"
                    R"("batch":{"per_device":1,"sequence_length":1},)")}) {
    Json asked = Json::parse(request + R"("hardware":{"gpu":"b300"},"include":["limits"]})", nullptr, false);
    const Json fit = Ask(asked.dump())["fit"];
    for (const auto& [field, limit] : {std::pair("per_device", fit["largest_batch"]),
                                       std::pair("sequence_length", fit["longest_sequence_tokens"])}) {
      Json most = asked;
      most["batch"][field] = limit;
      const Json report = Ask(most.dump());
      EXPECT_EQ(report["status"], "ok") << field << limit << report["issues"];
      EXPECT_EQ(report["issues"], Json::array()) << field << limit;
      EXPECT_EQ(report["fit"]["verdict"], "fits") << field << limit;
    }
  }
}

TEST_F(Report, TheScalingCurveIsThereWhenAskedForAndHoldsTheRunItself) {
  const std::string request =
      R"({"version":1,"model":"llama-3.1-8b","parallel":{"gpus":24,"strategy":"ddp"},"hardware":{"gpu":"h100-sxm"})";
  EXPECT_FALSE(Ask(request + "}")["time"].contains("scaling"));
  const Json time = Ask(request + R"(,"include":["scaling"]})")["time"];
  bool is_there = false;
  for (const Json& point : time["scaling"]) {
    if (point["gpus"] != 24) continue;
    is_there = true;
    EXPECT_DOUBLE_EQ(point["tokens_per_second"].get<double>(), time["tokens_per_second"]["expected"].get<double>());
  }
  EXPECT_TRUE(is_there);
}

TEST_F(Report, RanksAreThereWhenAskedForAndTheBusiestIsTheReports) {
  const std::string request =
      R"({"version":1,"model":"llama-3.1-8b","stack":"megatron","batch":{"gradient_accumulation":8},)"
      R"("parallel":{"gpus":4,"pipeline":4,"strategy":"none"})";
  EXPECT_FALSE(Ask(request + "}")["memory"].contains("ranks"));
  const Json report = Ask(request + R"(,"include":["ranks"]})");
  const Json& ranks = report["memory"]["ranks"];
  ASSERT_EQ(ranks.size(), 4U) << report["issues"];
  double most = 0;
  for (std::size_t stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(ranks[stage]["stage"], stage);
    EXPECT_EQ(ranks[stage]["layers"], 8);
    EXPECT_EQ(ranks[stage]["passes_in_flight"], 4 - stage);
    most = std::max(most, ranks[stage]["peak_step"].get<double>());
  }
  EXPECT_EQ(report["memory"]["per_gpu"]["phases"]["peak_step"], most);
}

TEST_F(Report, EverySourceNamedIsListed) {
  const Json report = Ask(R"({"version":1,"model":"llama-3.1-8b","hardware":{"gpu":"h100-sxm"}})");
  std::set<std::string> named;
  Walk(report, "", [&](const std::string& path, const Json& value) {
    if (path.size() < 11 || path.substr(path.size() - 11) != ".source_ids") return;
    for (const Json& id : value) named.insert(id.get<std::string>());
  });
  EXPECT_FALSE(named.empty());
  for (const std::string& id : named) EXPECT_TRUE(report["sources"].contains(id)) << id;
}

TEST_F(Report, HtmlStaysText) {
  const std::string text = Estimate(
      R"({"version":1,"model":{"name":"<b>\"é","config":{"model_type":"llama","hidden_size":64,"intermediate_size":96,)"
      R"("num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100}}})");
  const Json report = Json::parse(text, nullptr, false);
  ASSERT_EQ(report["status"], "ok") << text;
  EXPECT_EQ(report["model"]["name"], "<b>\"é");
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace tunefit
