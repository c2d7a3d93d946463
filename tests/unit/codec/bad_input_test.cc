// tests/golden/bad_input.jsonl: texts that are no request, and what is wrong with each. The first two rows hold a valid
// request that names every field, and a valid config; the other rows change one thing or bring a text of their own.

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/api.h"
#include "tests/support/bad_input.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;
using Faults = std::vector<std::pair<std::string, std::string>>;

class BadInput : public testing::Test {
 protected:
  BadInput() {
    Init(test::ReadFile(TUNEFIT_CATALOG));
    InitMarket(test::ReadFile(TUNEFIT_MARKET));
    rows_ = test::ReadBadInputs(TUNEFIT_SOURCE_DIR "/tests/golden/bad_input.jsonl", &base_);
  }

  test::BadInputBase base_;
  std::vector<test::BadInput> rows_;
};

Faults Sorted(const Json& issues, bool errors_only) {
  Faults faults;
  for (const Json& issue : issues) {
    if (errors_only && issue["severity"] != "error") continue;
    faults.emplace_back(issue["code"].get<std::string>(), issue["field"].get<std::string>());
  }
  std::sort(faults.begin(), faults.end());
  return faults;
}

TEST_F(BadInput, TheBaseIsARequest) {
  const Json report = Json::parse(Estimate(base_.request.dump()), nullptr, false);
  EXPECT_EQ(report["status"], "ok") << report["issues"];
  Json pasted = base_.request;
  pasted["model"] = {{"config", base_.config}};
  EXPECT_EQ(Json::parse(Estimate(pasted.dump()), nullptr, false)["status"], "ok");
}

TEST_F(BadInput, EveryFaultIsNamedByItsField) {
  ASSERT_GT(rows_.size(), 700U);
  for (const test::BadInput& row : rows_) {
    const Json report = Json::parse(Estimate(row.text), nullptr, false);
    ASSERT_TRUE(report.is_object()) << row.name;
    EXPECT_EQ(report["status"], "invalid") << row.name;
    EXPECT_EQ(Sorted(report["issues"], true), Sorted(row.expected, false)) << row.name << report["issues"];
    for (const char* part : {"request", "model", "recipe", "hardware", "memory", "fit", "time", "cost"}) {
      EXPECT_TRUE(report[part].is_null()) << row.name;
    }
  }
}

TEST_F(BadInput, MessagesAreSentences) {
  for (const test::BadInput& row : rows_) {
    const Json report = Json::parse(Estimate(row.text), nullptr, false);
    for (const Json& issue : report["issues"]) {
      const std::string& message = issue["message"].get_ref<const std::string&>();
      EXPECT_GT(message.size(), 10U) << message;
      EXPECT_TRUE(message.back() == '.' || message.back() == '?') << message;
      EXPECT_LT(message.size(), 1200U) << message;
    }
  }
}

}  // namespace
}  // namespace tunefit
