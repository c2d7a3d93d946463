// tests/catalog/broken: parts of a catalog that the loader must refuse as the schemas and laws of scripts/catalog do.

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

/// What the loader finds in the one part that the row holds.
Issues FaultsOf(const Json& row, const Catalog& minimal) {
  Issues issues;
  if (row.contains("market")) {
    Json market = row["market"];
    if (!market.contains("switches")) market["switches"] = test::ReadSmallCatalog("minimal_market.json")["switches"];
    ReadMarket(market.dump(), minimal, issues);
  } else {
    ReadCatalog(test::Completed(row["catalog"]), issues);
  }
  return issues;
}

TEST(BrokenCatalogs, AreRefusedByTheirFault) {
  Issues none;
  const Catalog minimal = ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), none);
  ASSERT_TRUE(none.empty()) << test::Listed(none);
  int catalogs = 0;
  int markets = 0;
  for (const auto& file : std::filesystem::directory_iterator(TUNEFIT_SOURCE_DIR "/tests/catalog/broken")) {
    const Json row = test::ReadSmallCatalog("broken/" + file.path().filename().string());
    ++(row.contains("market") ? markets : catalogs);
    const Issues issues = FaultsOf(row, minimal);
    if (!row["loader"].get<bool>()) {
      EXPECT_TRUE(issues.empty()) << row["name"] << " is no fault of the loader's:\n" << test::Listed(issues);
      continue;
    }
    const auto code = row["expected_code"].get<std::string>();
    const std::string field = test::Dotted(row["field"].get<std::string>());
    EXPECT_TRUE(test::HasIssue(issues, code, field)) << row["name"] << " wants " << code << " " << field << ", found\n"
                                                     << test::Listed(issues);
  }
  EXPECT_GT(catalogs, 60);
  EXPECT_GT(markets, 60);
}

}  // namespace
}  // namespace tunefit
