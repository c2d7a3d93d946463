#include "core/codec/api.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"

namespace tunefit {
namespace {

TEST(Api, InitTakesTheBundledCatalog) {
  const auto answer = nlohmann::json::parse(Init(test::ReadFile(TUNEFIT_CATALOG)), nullptr, false);
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer.value("status", ""), "ok") << answer.dump(2);
}

TEST(Api, AnyTextGetsAReport) {
  for (const char* request : {"", "{", "[]", "null", "{\"version\":1}", "\xff\xfe"}) {
    const auto report = nlohmann::json::parse(Estimate(request), nullptr, false);
    ASSERT_TRUE(report.is_object()) << request;
    EXPECT_EQ(report.value("status", ""), "invalid") << request;
    EXPECT_FALSE(report["issues"].empty()) << request;
  }
}

}  // namespace
}  // namespace tunefit
