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
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;
using Faults = std::vector<std::pair<std::string, std::string>>;

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr double kSlowestSeconds = 0.2;
#else
constexpr double kSlowestSeconds = 0.02;  // for texts of the greatest length; a common mistake takes microseconds
#endif

/// Time this program computed, whatever else the machine did.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The place at a dotted path. Fails the program where the row names one that is not there.
Json& At(Json& json, const std::string& path) {
  if (path.empty()) return json;
  std::string pointer = "/" + path;
  for (char& c : pointer) {
    if (c == '.') c = '/';
  }
  return json[Json::json_pointer(pointer)];
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string Repeated(const Json& rule) {
  std::string text = rule["prefix"].get<std::string>();
  for (int i = 0; i < rule["times"].get<int>(); ++i) text += rule["repeat"].get_ref<const std::string&>();
  return text + rule["suffix"].get<std::string>();
}

class BadInput : public testing::Test {
 protected:
  BadInput() {
    Init(test::ReadFile(TUNEFIT_CATALOG));
    for (const std::string& line : test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/bad_input.jsonl")) {
      rows_.push_back(Json::parse(line, nullptr, false));
    }
    base_ = rows_[0]["base"];
    config_ = rows_[1]["config"];
    rows_.erase(rows_.begin(), rows_.begin() + 2);
  }

  std::string TextOf(const Json& row) const {
    if (row.contains("text")) return row["text"].get<std::string>();
    if (row.contains("bytes")) return Bytes(row["bytes"].get<std::string>());
    if (row.contains("generate")) return Repeated(row["generate"]);
    Json request = base_;
    if (row.contains("config_set")) {
      Json config = config_;
      config.update(row["config_set"]);
      for (const Json& key : row.value("drop", Json::array())) config.erase(key.get<std::string>());
      request["model"] = {{"config", config}};
    }
    for (const Json& key : row.value("drop_request", Json::array())) request.erase(key.get<std::string>());
    for (const Json& set : row.value("sets", Json::array())) At(request, set[0].get<std::string>()) = set[1];
    if (row.contains("set")) At(request, row["set"][0].get<std::string>()) = row["set"][1];
    if (row.contains("set_key")) {
      const Json& set = row["set_key"];
      At(request, set[0].get<std::string>())[set[1].get<std::string>()] = set[2];
    }
    if (!row.contains("set_text")) return request.dump();
    At(request, row["set_text"][0].get<std::string>()) = "@@";
    std::string text = request.dump();
    return text.replace(text.find("\"@@\""), 4, row["set_text"][1].get<std::string>());
  }

  Json base_, config_;
  std::vector<Json> rows_;
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
  const Json report = Json::parse(Estimate(base_.dump()), nullptr, false);
  EXPECT_EQ(report["status"], "ok") << report["issues"];
  Json pasted = base_;
  pasted["model"] = {{"config", config_}};
  EXPECT_EQ(Json::parse(Estimate(pasted.dump()), nullptr, false)["status"], "ok");
}

TEST_F(BadInput, EveryFaultIsNamedByItsField) {
  ASSERT_GT(rows_.size(), 700U);
  for (const Json& row : rows_) {
    const std::string text = TextOf(row);
    const double start = Seconds();
    const std::string answer = Estimate(text);
    const double took = Seconds() - start;
    const Json report = Json::parse(answer, nullptr, false);
    ASSERT_TRUE(report.is_object()) << row["name"];
    EXPECT_EQ(report["status"], "invalid") << row["name"];
    EXPECT_EQ(Sorted(report["issues"], true), Sorted(row["expected"], false)) << row["name"] << report["issues"];
    EXPECT_LT(took, kSlowestSeconds) << row["name"];
    for (const char* part : {"request", "model", "recipe", "hardware", "memory", "fit", "time", "cost"}) {
      EXPECT_TRUE(report[part].is_null()) << row["name"];
    }
  }
}

TEST_F(BadInput, MessagesAreSentences) {
  for (const Json& row : rows_) {
    const Json report = Json::parse(Estimate(TextOf(row)), nullptr, false);
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
