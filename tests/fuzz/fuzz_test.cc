// Whatever text comes in, a report goes out: no abort, no hang, no number that is none. Requests of the golden set, and
// small catalogs, are damaged at random, as text and as JSON. The seed is fixed and printed with a failure;
// TUNEFIT_FUZZ_SEED takes another and TUNEFIT_FUZZ_SECONDS runs for that long instead of the fixed number of cases. The
// debug preset gives it sanitizers.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/codec/api.h"
#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

constexpr int kCases = 4000;
const char* const kOddValues[] = {
    "null",
    "true",
    "0",
    "-1",
    "1",
    "0.5",
    "-0.0",
    "1e308",
    "1e-308",
    "1e999",
    "16777217",
    "1048576",
    "4294967296",
    "1e15",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "\"\\u0000\"",
    "\"fp32\"",
    "[]",
    "[[]]",
    "{}",
    "{\"a\":{}}",
    "[1,\"1\",null]",
    "\"\\ud83d\\ude00\"",
};

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& seeds) : random_(seed), seeds_(seeds) {}

  std::string Next() {
    std::string text = Pick(seeds_);
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_discarded() && Chance(4, 5)) {
      for (std::size_t times = 1 + Below(3); times > 0; --times) MutateJson(json);
      text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
      if (Chance(3, 4)) return text;
    }
    for (std::size_t times = 1 + Below(4); times > 0; --times) MutateText(text);
    return text;
  }

 private:
  std::size_t Below(std::size_t bound) { return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_); }
  bool Chance(std::size_t favourable, std::size_t all) { return Below(all) < favourable; }
  template <typename List>
  decltype(std::declval<const List&>()[0]) Pick(const List& list) {
    return list[Below(std::size(list))];
  }

  /// Walks down to a random value and replaces, removes, renames or doubles it.
  void MutateJson(Json& root) {
    Json* value = &root;
    while (value->is_structured() && !value->empty() && Chance(3, 4)) {
      auto item = value->begin();
      std::advance(item, Below(value->size()));
      if (value->is_object() && Chance(1, 8)) {
        if (Chance(1, 2)) {
          value->erase(item);
        } else {
          value->emplace(item.key() + "s", *item);
        }
        return;
      }
      value = &*item;
    }
    if (Chance(1, 6)) {
      *value = Json::array({*value, *value});
    } else {
      *value = Json::parse(Pick(kOddValues), nullptr, false);
      if (value->is_discarded()) *value = nullptr;  // 1e999 is a text only
    }
  }

  void MutateText(std::string& text) {
    const std::size_t at = text.empty() ? 0 : Below(text.size());
    switch (Below(6)) {
      case 0:
        text.insert(at, 1, static_cast<char>(Below(256)));
        break;
      case 1:
        text.erase(at, 1 + Below(8));
        break;
      case 2:
        text.insert(at, text.substr(at, Below(64)));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, Pick(kOddValues));
        break;
      default:
        text.insert(at, std::string(1 + Below(2000), Pick(std::string("[{\"0 "))));
    }
  }

  std::mt19937_64 random_;
  const std::vector<std::string>& seeds_;
};

/// Everywhere in a report a number is finite: JSON has no other, so nlohmann writes null, which an "ok" report has only
/// where the contract allows it.
void ExpectSound(const std::string& text, const std::string& request) {
  const Json report = Json::parse(text, nullptr, false);
  ASSERT_TRUE(report.is_object()) << request;
  const std::string status = report.value("status", "");
  if (status == "invalid") {
    EXPECT_FALSE(report["issues"].empty()) << request;
    return;
  }
  ASSERT_EQ(status, "ok") << request;
  for (const auto& [phase, bytes] : report["memory"]["per_gpu"]["phases"].items()) {
    const bool elsewhere = phase == "rollout" || phase == "evaluate" || phase == "merge";
    if (elsewhere && bytes.is_null()) continue;  // not every run has that moment
    ASSERT_TRUE(bytes.is_number()) << phase << " of " << request;
    EXPECT_GE(bytes.get<double>(), 0) << phase << " of " << request;
  }
  for (const char* statistic : {"allocated", "reserved", "device"}) {
    const Json& range = report["memory"]["per_gpu"][statistic];
    ASSERT_TRUE(range["low"].is_number() && range["expected"].is_number() && range["high"].is_number()) << request;
    EXPECT_LE(range["low"].get<double>(), range["expected"].get<double>()) << request;
    EXPECT_LE(range["expected"].get<double>(), range["high"].get<double>()) << request;
  }
}

std::uint64_t NumberFromEnvironment(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

/// Calls `check` with damaged seeds, as many or as long as the environment says.
template <typename Check>
void ForDamaged(const std::vector<std::string>& seeds, Check check) {
  const std::uint64_t seed = NumberFromEnvironment("TUNEFIT_FUZZ_SEED", 20240229);
  const std::chrono::seconds duration(NumberFromEnvironment("TUNEFIT_FUZZ_SECONDS", 0));
  SCOPED_TRACE("TUNEFIT_FUZZ_SEED=" + std::to_string(seed));
  Mutator mutator(seed, seeds);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + duration;
  for (int i = 0; duration.count() > 0 ? Clock::now() < end : i < kCases; ++i) {
    check(mutator.Next());
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Fuzz, DamagedRequestsGetReports) {
  ASSERT_EQ(Json::parse(Init(test::ReadFile(TUNEFIT_CATALOG)), nullptr, false).value("status", ""), "ok");
  std::vector<std::string> seeds = test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/bench/requests.jsonl");
  for (const auto& file : std::filesystem::directory_iterator(TUNEFIT_SOURCE_DIR "/tests/golden/requests")) {
    const auto lines = test::ReadLines(file.path());
    seeds.insert(seeds.end(), lines.begin(), lines.end());
  }
  ForDamaged(seeds, [](const std::string& request) { ExpectSound(Estimate(request), request); });
}

/// Both parts of a catalog, each as the other's reader gets it too.
TEST(Fuzz, DamagedCatalogsGetAnswers) {
  Issues none;
  const Catalog catalog = ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), none);
  ASSERT_TRUE(none.empty()) << test::Listed(none);
  const std::vector<std::string> seeds = {test::ReadSmallCatalog("minimal.json").dump(),
                                          test::ReadSmallCatalog("minimal_market.json").dump()};
  ForDamaged(seeds, [&](const std::string& text) {
    Issues issues;
    ReadCatalog(text, issues);
    EXPECT_FALSE(issues.empty()) << text;  // it has no overheads
    issues.clear();
    const Market market = ReadMarket(text, catalog, issues);
    EXPECT_TRUE(HasError(issues) || !market.servers.empty()) << text;
  });
}

}  // namespace
}  // namespace tunefit
