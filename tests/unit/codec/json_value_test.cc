#include "core/codec/json_value.h"

#include <gtest/gtest.h>

#include <clocale>
#include <string>

namespace tunefit {
namespace {

JsonValue Parsed(std::string_view text) {
  Issues issues;
  JsonValue value = ParseJson(text, kRequestLimits, issues);
  EXPECT_TRUE(issues.empty()) << text << ": " << (issues.empty() ? "" : issues[0].message);
  return value;
}

Issue OnlyIssue(std::string_view text, TextLimits limits = kRequestLimits) {
  Issues issues;
  ParseJson(text, limits, issues);
  EXPECT_EQ(issues.size(), 1U) << text;
  return issues.empty() ? Issue{} : issues[0];
}

TEST(ParseJson, KeepsTypesApart) {
  const JsonValue value = Parsed(R"({"a":null,"b":true,"c":-3,"d":2.5,"e":"é\n","f":[1,[]],"g":{}})");
  EXPECT_EQ(value.Find("a")->kind, JsonKind::kNull);
  EXPECT_TRUE(value.Find("b")->flag);
  EXPECT_EQ(value.Find("c")->integer, -3);
  EXPECT_EQ(value.Find("c")->number, -3.0);
  EXPECT_EQ(value.Find("d")->number, 2.5);
  EXPECT_EQ(value.Find("e")->text, "é\n");
  EXPECT_EQ(value.Find("f")->items.size(), 2U);
  EXPECT_EQ(value.Find("g")->kind, JsonKind::kObject);
  EXPECT_EQ(value.Find("h"), nullptr);
  EXPECT_EQ(value.Find("f")->Find("a"), nullptr);
}

TEST(ParseJson, NumbersBeyondInt64BecomeDoubles) {
  EXPECT_EQ(Parsed("9223372036854775807").integer, 9223372036854775807);
  EXPECT_EQ(Parsed("-9223372036854775808").kind, JsonKind::kInteger);
  const JsonValue over = Parsed("9223372036854775808");
  EXPECT_EQ(over.kind, JsonKind::kNumber);
  EXPECT_EQ(over.number, 9223372036854775808.0);
  EXPECT_EQ(Parsed("1e3").kind, JsonKind::kNumber);
}

TEST(ParseJson, MembersAreSortedAndFound) {
  const JsonValue value = Parsed(R"({"z":1,"a":2,"m":{"y":3,"b":4}})");
  EXPECT_EQ(value.members[0].key, "a");
  EXPECT_EQ(value.members[2].key, "z");
  EXPECT_EQ(value.Find("m")->Find("b")->integer, 4);
}

TEST(ParseJson, ReadsNumbersTheSameInEveryLocale) {
  for (const char* name : {"de_DE.UTF-8", "nl_NL.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;  // not installed
    EXPECT_EQ(Parsed("0.25").number, 0.25) << name;
  }
  std::setlocale(LC_ALL, "C");
}

TEST(ParseJson, NamesThePlaceOfAFault) {
  const Issue number = OnlyIssue("{\"a\":{\"b\":[1,1e400]}}");
  EXPECT_EQ(number.code, "number_not_finite");
  EXPECT_EQ(number.field, "a.b.1");
  const Issue second_line = OnlyIssue("{\"a\":1,\n \"b\":?}");
  EXPECT_EQ(second_line.code, "not_json");
  EXPECT_EQ(second_line.message, "The text is not valid JSON at line 2, character 6.");
  EXPECT_EQ(OnlyIssue("{\"a\":{\"x\":1,\"x\":2}}").field, "a.x");
}

TEST(ParseJson, DepthIsCountedInLevels) {
  const auto nested = [](int levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  Parsed(nested(kDepthLimit));
  EXPECT_EQ(OnlyIssue(nested(kDepthLimit + 1)).code, "too_deep");
}

TEST(ParseJson, LimitsHoldToTheLastByteAndValue) {
  const TextLimits limits = {10, 4};
  Issues issues;
  ParseJson("[1,  2, 3]", limits, issues);
  EXPECT_TRUE(issues.empty());
  EXPECT_EQ(OnlyIssue("[1,  2, 3] ", limits).code, "text_too_long");
  EXPECT_EQ(OnlyIssue("[1,2,3,4]", limits).code, "too_many_values");
}

TEST(ParseJson, AddsNoMoreIssuesThanTheLimit) {
  std::string text = "{\"a\":0";
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "k" + std::to_string(i);
    text += ",\"" + key + "\":0,\"" + key + "\":0";
  }
  Issues issues;
  ParseJson(text + "}", kRequestLimits, issues);
  EXPECT_EQ(issues.size(), kIssueLimit);
}

}  // namespace
}  // namespace tunefit
