// The 60 plans of tests/golden/plan: what is offered is what an estimate says, keeps to the wishes, and nothing of it
// is worse than something else in everything.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using nlohmann::json;

/// Every look at it is a millisecond later.
double Ticking() {
  static double now_ms = 0;
  return now_ms += 1;
}

json PlanOf(const json& request, double budget_ms) {
  const json started = json::parse(PlanStart(request.dump()));
  if (started["status"] != "ok") return started;
  while (true) {
    json step = json::parse(PlanStep(started["id"].get<std::int64_t>(), budget_ms, &Ticking));
    if (step["done"].get<bool>()) return step;
  }
}

class GoldenPlans : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Init(test::ReadFile(TUNEFIT_CATALOG));
    InitMarket(test::ReadFile(TUNEFIT_MARKET));
    for (const std::string& line : test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/plan/workloads.jsonl")) {
      json workload = json::parse(line);
      workload["plan"] = PlanOf(workload["request"], 1e9);
      workloads_.push_back(std::move(workload));
    }
  }
  static std::vector<json> workloads_;
};
std::vector<json> GoldenPlans::workloads_;

TEST_F(GoldenPlans, AreSixty) {
  EXPECT_EQ(workloads_.size(), 60);
  for (const json& workload : workloads_) {
    EXPECT_EQ(workload["plan"]["status"], "ok") << workload["name"];
    EXPECT_FALSE(workload["plan"]["best"].empty()) << workload["name"];
  }
}

/// What costs as much as the report says, beside the line or the purchase that the plan counts on.
double CostIn(const json& report, const json& proposal) {
  const json& cost = report["cost"];
  if (proposal["acquire"] == "buy") return cost["bought"]["price"]["expected"].get<double>();
  return cost["rented"][0]["cost"]["expected"].get<double>();
}

TEST_F(GoldenPlans, SayWhatAnEstimateSays) {
  for (const json& workload : workloads_) {
    SCOPED_TRACE(workload["name"].get<std::string>());
    for (const json& proposal : workload["plan"]["best"]) {
      json request = proposal["request"];
      request["detail"] = "summary";
      const json report = json::parse(Estimate(request.dump()));
      SCOPED_TRACE(request.dump());
      ASSERT_EQ(report["status"], "ok") << report["issues"];
      for (const json& assumption : report["assumptions"]) EXPECT_EQ(assumption["reason"], "source_and_target");
      EXPECT_EQ(report["fit"]["verdict"], proposal["verdict"]);
      EXPECT_NE(report["fit"]["verdict"], "does_not_fit");
      EXPECT_NEAR(report["memory"]["per_gpu"]["device"]["expected"].get<double>(),
                  proposal["device_bytes"]["expected"].get<double>(), 1);
      EXPECT_DOUBLE_EQ(report["time"]["total_hours"]["expected"].get<double>() * 3600,
                       proposal["total_seconds"]["expected"].get<double>());
      EXPECT_DOUBLE_EQ(CostIn(report, proposal), proposal["cost"]["expected"].get<double>());
      EXPECT_EQ(proposal["report"]["fit"], report["fit"]);
    }
  }
}

bool IsWorse(const json& a, const json& b) {
  const auto at = [](const json& one, const char* key) { return one[key]["expected"].get<double>(); };
  const bool fits = a["verdict"] == "fits" || b["verdict"] == "tight";
  const bool whole = a["price_is_whole"].get<bool>() || !b["price_is_whole"].get<bool>();
  return a["acquire"] == b["acquire"] && a["method"] == b["method"] && fits && whole &&
         at(a, "total_seconds") < at(b, "total_seconds") && at(a, "cost") < at(b, "cost");
}

TEST_F(GoldenPlans, OfferNothingThatIsWorseInEverything) {
  for (const json& workload : workloads_) {
    const json& best = workload["plan"]["best"];
    for (const json& a : best) {
      for (const json& b : best) EXPECT_FALSE(IsWorse(a, b)) << workload["name"];
    }
  }
}

TEST_F(GoldenPlans, KeepToTheWishes) {
  for (const json& workload : workloads_) {
    SCOPED_TRACE(workload["name"].get<std::string>());
    const json wishes = workload["request"].value("plan", json::object());
    for (const json& proposal : workload["plan"]["best"]) {
      if (wishes.contains("deadline_hours")) {
        EXPECT_LE(proposal["total_seconds"]["expected"].get<double>(), 3600 * wishes["deadline_hours"].get<double>());
      }
      if (wishes.contains("budget")) {
        EXPECT_LE(proposal["cost"]["expected"], wishes["budget"]);
      }
      if (wishes.contains("max_gpus")) {
        EXPECT_LE(proposal["gpus"], wishes["max_gpus"]);
      }
      if (wishes.value("ecc_required", false)) {
        EXPECT_NE(proposal["gpu"]["ecc"], "none");
      }
      if (wishes.value("data_in_house", false)) {
        EXPECT_EQ(proposal["acquire"], "buy");
      }
      if (wishes.value("vendor_only", false)) {
        EXPECT_FALSE(proposal["server"].is_null());
      }
      const json& parallel = proposal["request"]["parallel"];
      const json& server = proposal["server"];
      EXPECT_LE(parallel["gpus_per_node"].get<int>(), server.is_null() ? 8 : server["gpus_max"].get<int>());
    }
  }
}

TEST_F(GoldenPlans, HoldWhatIsKnownToBeDone) {
  int held = 0;
  for (const json& workload : workloads_) {
    if (!workload.contains("expects")) continue;
    ++held;
    bool found = false;
    for (const json& proposal : workload["plan"]["best"]) {
      const json& expects = workload["expects"];
      const json& strategy = proposal["request"]["parallel"]["strategy"];
      found = found || (proposal["method"] == expects["method"] && proposal["gpus"] == expects["gpus"] &&
                        expects.value("strategy", strategy) == strategy);
    }
    EXPECT_TRUE(found) << workload["name"];
  }
  EXPECT_GE(held, 9);
}

TEST_F(GoldenPlans, AreTheSameInSmallSteps) {
  for (std::size_t i = 0; i < workloads_.size(); i += 7) {
    EXPECT_EQ(PlanOf(workloads_[i]["request"], 3), workloads_[i]["plan"]) << workloads_[i]["name"];
  }
}

TEST(Plans, AnswerWhatIsWrong) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  EXPECT_EQ(json::parse(PlanStart("{}"))["issues"][0]["code"], "not_initialised");
  InitMarket(test::ReadFile(TUNEFIT_MARKET));
  const auto codes = [](const char* request) {
    std::string text;
    const json started = json::parse(PlanStart(request));
    for (const json& issue : started["issues"]) {
      text += issue["code"].get<std::string>() + "@" + issue["field"].get<std::string>() + " ";
    }
    return text;
  };
  EXPECT_EQ(codes("{"), "not_json@ ");
  EXPECT_EQ(codes(R"({"version":1,"model":"no-such-model"})"), "unknown_model@model ");
  EXPECT_EQ(codes(R"({"version":1,"model":"llama-3.1-8b","plan":{"gpus":["h1000"],"max_gpus":0,"speed":9}})"),
            "unknown_field@plan.speed out_of_range@plan.max_gpus ");
  EXPECT_EQ(codes(R"({"version":1,"model":"llama-3.1-8b","plan":{"gpus":["h1000"]}})"), "unknown_gpu@plan.gpus.0 ");
  EXPECT_EQ(codes(R"({"version":1,"model":"llama-3.1-8b","plan":{"methods":["ia3"]}})"),
            "unknown_value@plan.methods.0 ");
  EXPECT_EQ(json::parse(PlanStep(12345, 1, &Ticking))["issues"][0]["code"], "unknown_plan");
}

TEST(Plans, GrowOnTheSameHardware) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  InitMarket(test::ReadFile(TUNEFIT_MARKET));
  const json plan = PlanOf(json::parse(R"({"version":1,"model":"llama-3.1-8b","hardware":{"gpu":"rtx-4090"},
    "parallel":{"gpus":1},"plan":{"growth":["llama-2-13b","qwen2.5-32b","llama-3.1-405b"],"acquire":["rent"]}})"),
                           1e9);
  ASSERT_EQ(plan["growth"].size(), 3);
  EXPECT_EQ(plan["growth"][0]["parameters"], 13015864320);
  for (const json& proposal : plan["growth"][0]["best"]) {
    EXPECT_EQ(proposal["request"]["model"], "llama-2-13b");
    EXPECT_EQ(proposal["gpu"]["id"], "rtx-4090");
    EXPECT_EQ(proposal["gpus"], 1);
  }
  EXPECT_FALSE(plan["growth"][0]["best"].empty());
  EXPECT_TRUE(plan["growth"][2]["best"].empty());  // four bits of each weight alone are over 200 GB
  // What grows costs more: of the methods that both have.
  const auto cost = [](const json& best) { return best["cost"]["expected"].get<double>(); };
  EXPECT_LT(cost(plan["best"][0]), cost(plan["growth"][0]["best"][0]));
  const json wrong = json::parse(PlanStart(R"({"version":1,"model":"gpt2","plan":{"growth":["no-such-model"]}})"));
  EXPECT_EQ(wrong["issues"][0]["field"], "plan.growth.0");
}

TEST(Plans, OfTheOldestStartedAreForgotten) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  InitMarket(test::ReadFile(TUNEFIT_MARKET));
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i <= kMostPlans; ++i) {
    ids.push_back(json::parse(PlanStart(R"({"version":1,"model":"llama-3.1-8b"})"))["id"].get<std::int64_t>());
  }
  EXPECT_EQ(json::parse(PlanStep(ids.front(), 0, &Ticking))["issues"][0]["code"], "unknown_plan");
  EXPECT_EQ(json::parse(PlanStep(ids.back(), 0, &Ticking))["status"], "ok");
}

}  // namespace
}  // namespace tunefit
