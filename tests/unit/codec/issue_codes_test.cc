#include "core/codec/issue_codes.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

std::set<std::string> ListedCodes() {
  std::set<std::string> codes;
  for (const IssueCode& known : kIssueCodes) EXPECT_TRUE(codes.emplace(known.code).second) << known.code;
  return codes;
}

/// All sources of the core but the list itself.
std::string Sources() {
  std::string text;
  for (const auto& file : std::filesystem::recursive_directory_iterator(TUNEFIT_SOURCE_DIR "/core")) {
    const std::string name = file.path().filename();
    const bool source = file.path().extension() == ".cc" || file.path().extension() == ".h";
    if (source && name != "issue_codes.h") text += test::ReadFile(file.path());
  }
  return text;
}

TEST(IssueCodes, EveryCodeInTheSourcesIsListed) {
  const std::regex use(
      R"re((?:Fault\(|AddIssue\([a-z_.]+(?:\(\))?,|UnknownName\(reading,|\.code = )\s*"([a-z_0-9]+)")re");
  const std::set<std::string> listed = ListedCodes();
  const std::string text = Sources();
  int seen = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), use), end; it != end; ++it, ++seen) {
    EXPECT_TRUE(listed.count((*it)[1])) << (*it)[1];
  }
  EXPECT_GT(seen, 60);
}

TEST(IssueCodes, EveryListedCodeIsUsed) {
  const std::string text = Sources();
  for (const std::string& code : ListedCodes()) EXPECT_NE(text.find('"' + code + '"'), text.npos) << code;
}

TEST(IssueCodes, DescribeListsThem) {
  Init(test::ReadFile(TUNEFIT_CATALOG));
  const auto description = nlohmann::json::parse(Describe(), nullptr, false);
  EXPECT_EQ(description["issue_codes"].size(), ListedCodes().size());
}

}  // namespace
}  // namespace tunefit
