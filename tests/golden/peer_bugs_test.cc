// Inputs that other calculators got wrong, with the right value: tests/golden/peer_bugs.jsonl, a row a line. A row's
// `requests` are estimated; every line of `expect` must hold, `why` says how its numbers were worked out:
//   of, at            a number of that request's report, by JSON pointer; minus: less another number of it
//   kv_tokens         instead: bytes of keys and values for so many tokens, in 16 bits
//   term              instead: bytes of that term of the breakdown
//   operations        instead: of a step, "model" (each once) or "hardware" (with what runs again)
//   equals (within a share), at_least, at_most, text; below (another request, with below_at, times, plus)
//   same_as (another request, within a share), no_term, terms_sum_to, assumes (a default of that field and value)

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/codec/api.h"
#include "core/codec/catalog.h"
#include "core/codec/request.h"
#include "core/memory/traced_rank.h"
#include "core/model/kv_cache.h"
#include "core/time/step_time.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

class PeerBugs : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Init(test::ReadFile(TUNEFIT_CATALOG));
    Issues issues;
    catalog_ = new Catalog(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues));
  }

  void Run(const Json& row) {
    reports_.clear();
    for (const auto& [name, request] : row["requests"].items()) {
      requests_[name] = request;
      reports_[name] = Json::parse(Estimate(request.dump()), nullptr, false);
      ASSERT_EQ(reports_[name]["status"], "ok") << reports_[name]["issues"];
    }
    for (const Json& line : row["expect"]) Expect(line);
  }

 private:
  static const Json* TermOf(const Json& report, const std::string& id) {
    for (const Json& term : report["memory"]["per_gpu"]["terms"]) {
      if (term["id"] == id) return &term;
    }
    return nullptr;
  }

  Workload WorkloadOf(const std::string& name) const {
    return ReadRequest(requests_.at(name).dump(), *catalog_).workload;
  }

  double OperationsOf(const std::string& name, const Json& which) const {
    const Workload workload = WorkloadOf(name);
    const StepCounts counts = CountStep(workload, TraceJob(workload));
    return which == "model" ? counts.model_flops : counts.hardware_flops;
  }

  double NumberOf(const Json& line, const std::string& name) const {
    const Json& report = reports_.at(name);
    if (line.contains("kv_tokens")) {
      const auto tokens = line["kv_tokens"].get<std::int64_t>();
      return KvCacheBytes(WorkloadOf(name).architecture, Dtype::kBf16, tokens);
    }
    if (line.contains("operations")) return OperationsOf(name, line["operations"]);
    if (line.contains("term")) {
      const Json* term = TermOf(report, line["term"]);
      return term != nullptr ? (*term)["bytes"].get<double>() : 0;
    }
    const double number = report.at(Json::json_pointer(line["at"].get<std::string>())).get<double>();
    if (!line.contains("minus")) return number;
    return number - report.at(Json::json_pointer(line["minus"].get<std::string>())).get<double>();
  }

  void ExpectNumber(const Json& line) const {
    const double number = NumberOf(line, line["of"]);
    if (line.contains("equals")) {
      const auto wanted = line["equals"].get<double>();
      EXPECT_NEAR(number, wanted, wanted * line.value("within", 0.0));
    }
    if (line.contains("at_least")) {
      EXPECT_GE(number, line["at_least"].get<double>());
    }
    if (line.contains("at_most")) {
      EXPECT_LE(number, line["at_most"].get<double>());
    }
    if (line.contains("below")) {
      const Json& other = reports_.at(line["below"]);
      const double bound = other.at(Json::json_pointer(line["below_at"].get<std::string>())).get<double>();
      EXPECT_LT(number, bound * line.value("times", 1.0) + line.value("plus", 0.0));
    }
    if (line.contains("same_as")) {
      const double other = NumberOf(line, line["same_as"]);
      EXPECT_NEAR(number, other, other * line.value("within", 0.0));
    }
  }

  void Expect(const Json& line) const {
    SCOPED_TRACE(line.dump());
    const Json& report = reports_.at(line["of"]);
    if (line.contains("text")) {
      EXPECT_EQ(report.at(Json::json_pointer(line["at"].get<std::string>())), line["text"]);
    } else if (line.contains("no_term")) {
      EXPECT_EQ(TermOf(report, line["no_term"]), nullptr);
    } else if (line.contains("terms_sum_to")) {
      double sum = 0;
      for (const Json& term : report["memory"]["per_gpu"]["terms"]) sum += term["bytes"].get<double>();
      EXPECT_EQ(sum, report.at(Json::json_pointer(line["terms_sum_to"].get<std::string>())).get<double>());
    } else if (line.contains("assumes")) {
      bool assumed = false;
      for (const Json& assumption : report["assumptions"]) {
        assumed = assumed || (assumption["field"] == line["assumes"] && assumption["value"] == line["value"]);
      }
      EXPECT_TRUE(assumed) << report["assumptions"];
    } else {
      ExpectNumber(line);
    }
  }

  static Catalog* catalog_;
  std::map<std::string, Json> requests_, reports_;
};

Catalog* PeerBugs::catalog_ = nullptr;

TEST_F(PeerBugs, AreNotOurs) {
  const auto rows = test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/peer_bugs.jsonl");
  ASSERT_FALSE(rows.empty());
  for (const std::string& text : rows) {
    const Json row = Json::parse(text, nullptr, false);
    SCOPED_TRACE("number " + row["number"].dump() + ": " + row["inputs"].get<std::string>());
    Run(row);
  }
}

}  // namespace
}  // namespace tunefit
