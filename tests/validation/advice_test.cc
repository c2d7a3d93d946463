// Runs that ran out of memory, in the published rows and in user reports: advice names a change after which the run
// fits, or says that nothing that was tried makes it fit on its card.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/codec/api.h"
#include "tests/support/advice.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

/// Requests of the rows that name a card on which they did not fit.
std::vector<Json> FailedRuns() {
  std::vector<Json> requests;
  for (const char* file : {"measured", "user_reports"}) {
    for (const std::string& line : test::ReadLines(std::string(TUNEFIT_VALIDATION_DIR "/rows/") + file + ".jsonl")) {
      const Json row = Json::parse(line, nullptr, false);
      if (!row.contains("request") || !row.value("measured", Json::object()).value("oom", false)) continue;
      Json request = row["request"];
      request["include"] = Json::array({"advice"});
      request["detail"] = "summary";
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

TEST(Advice, OnRunsThatRanOutOfMemory) {
  ASSERT_NE(Init(test::ReadFile(TUNEFIT_CATALOG)).find("\"ok\""), std::string::npos);
  ASSERT_NE(InitMarket(test::ReadFile(TUNEFIT_MARKET)).find("\"ok\""), std::string::npos);
  int failed = 0;
  int helped = 0;
  int none = 0;
  for (const Json& request : FailedRuns()) {
    SCOPED_TRACE(request.dump());
    const Json report = Json::parse(Estimate(request.dump()), nullptr, false);
    // Two of them are estimated to fit: thresholds.json holds how many.
    if (report["status"] != "ok" || report["fit"].is_null() || report["fit"]["verdict"] == "fits") continue;
    ++failed;
    const bool helps = test::SettingsMakeItFit(report);
    helped += helps ? 1 : 0;
    none += test::SaysThatNoneDo(report) ? 1 : 0;
    EXPECT_NE(helps, test::SaysThatNoneDo(report));
    test::ExpectAdviceHolds(request, report);
  }
  RecordProperty("failed", failed);
  RecordProperty("helped", helped);
  RecordProperty("none", none);
  EXPECT_GE(failed, 80);
  EXPECT_EQ(helped + none, failed);
}

}  // namespace
}  // namespace tunefit
