#include "tests/support/advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/codec/api.h"

namespace tunefit::test {
namespace {

using Json = nlohmann::json;

Json Answered(const Json& request) { return Json::parse(Estimate(request.dump()), nullptr, false); }

Json ReferenceCost(const Json& report, const std::string& of) {
  const Json& cost = report["cost"];
  if (cost.is_null()) return nullptr;
  if (of == "bought") return cost["bought"]["cost"]["expected"];
  for (const Json& line : cost["rented"]) {
    if (line["reference"] == true) return line["cost"]["expected"];
  }
  return nullptr;
}

/// After minus before, where both are known.
void ExpectDifference(const Json& stated, const Json& before, const Json& after, const std::string& of) {
  if (before.is_null() || after.is_null()) {
    EXPECT_TRUE(stated.is_null()) << of;
  } else {
    EXPECT_EQ(stated, after.get<double>() - before.get<double>()) << of;
  }
}

Json HoursOf(const Json& report) {
  const Json& time = report["time"];
  return time.is_null() || time["total_hours"].is_null() ? Json() : time["total_hours"]["expected"];
}

void ExpectFigures(const Json& entry, const Json& before, const Json& after) {
  const Json& device = after["memory"]["per_gpu"]["device"];
  EXPECT_EQ(entry["fit"]["verdict"], after["fit"]["verdict"]);
  EXPECT_EQ(entry["fit"]["device_bytes"], device);
  EXPECT_EQ(entry["host_bytes"], after["memory"]["host_bytes"]);
  EXPECT_EQ(
      entry["saved_bytes"].get<std::int64_t>(),
      before["memory"]["per_gpu"]["device"]["expected"].get<std::int64_t>() - device["expected"].get<std::int64_t>());
  const auto step = [](const Json& report) {
    return report["time"].is_null() ? Json() : report["time"]["step_seconds"]["expected"];
  };
  ExpectDifference(entry["step_seconds_change"], step(before), step(after), "seconds of a step");
  ExpectDifference(entry["hours_change"], HoursOf(before), HoursOf(after), "hours");
  const Json& cost = entry["cost_change"];
  if (cost.is_null()) return;
  const auto of = cost["of"].get<std::string>();
  EXPECT_EQ(cost["currency"], after["cost"]["currency"]);
  ExpectDifference(cost["amount"], ReferenceCost(before, of), ReferenceCost(after, of), "cost");
}

/// No worse in everything: it fits better, or takes less memory, time or money.
void ExpectHelp(const Json& entry) {
  const auto gets_less = [&entry](const char* key) { return entry[key].is_number() && entry[key] < 0; };
  const bool cheaper = entry["cost_change"].is_object() && entry["cost_change"]["amount"] < 0;
  const bool fits = entry["fit"]["verdict"] == "fits";
  EXPECT_TRUE(fits || entry["saved_bytes"] > 0 || gets_less("step_seconds_change") || gets_less("hours_change") ||
              cheaper)
      << entry.dump();
}

}  // namespace

void ExpectAdviceHolds(const Json& request, const Json& report) {
  bool others_began = false;
  for (const Json& entry : report["advice"]) {
    SCOPED_TRACE(entry["change"].get<std::string>() + " " + entry["patch"].dump());
    Json patched = request;
    patched.merge_patch(entry["patch"]);
    patched.erase("include");
    const Json after = Answered(patched);
    ASSERT_EQ(after["status"], "ok") << after["issues"].dump();
    ExpectFigures(entry, report, after);
    ExpectHelp(entry);
    const bool fits = entry["fit"]["verdict"] == "fits";
    EXPECT_FALSE(fits && others_began) << "stands behind what does not fit";
    others_began = others_began || !fits;
  }
}

bool SettingsMakeItFit(const Json& report) {
  const Json& advice = report["advice"];
  return std::any_of(advice.begin(), advice.end(), [](const Json& entry) {
    return entry["fit"]["verdict"] == "fits" && entry["effort"] != "hardware";
  });
}

bool SaysThatNoneDo(const Json& report) {
  const Json& issues = report["issues"];
  return std::any_of(issues.begin(), issues.end(), [](const Json& issue) { return issue["code"] == "no_change_fits"; });
}

}  // namespace tunefit::test
