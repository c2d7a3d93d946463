#include "core/codec/words.h"

#include <gtest/gtest.h>

#include <string>

#include "core/codec/json_writer.h"

namespace tunefit {
namespace {

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("short"), "short");
  const std::string text = std::string(79, 'a') + "é" + "bbb";
  EXPECT_EQ(Shortened(text), std::string(79, 'a') + "...");
}

TEST(NumberText, WholeNumbersHaveNoFraction) {
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(-0.0), "0");
  EXPECT_EQ(NumberText(16), "16");
  EXPECT_EQ(NumberText(141107412992.0), "141107412992");
  EXPECT_EQ(NumberText(9007199254740992.0), "9007199254740992");
  EXPECT_EQ(NumberText(-3), "-3");
}

TEST(NumberText, FractionsAreTheShortestThatReadBack) {
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(0.516), "0.516");
  EXPECT_EQ(NumberText(1e300), "1e+300");
  EXPECT_EQ(NumberText(1.0 / 3), "0.3333333333333333");
}

TEST(Nearest, FindsATypingErrorOnly) {
  static constexpr std::string_view kWords[] = {"sdpa", "eager", "flash_attention_2"};
  EXPECT_EQ(Nearest("spda", kWords), "");  // two edits in a short word could be anything
  EXPECT_EQ(Nearest("sdp", kWords), "sdpa");
  EXPECT_EQ(Nearest("flash_atention2", kWords), "flash_attention_2");
  EXPECT_EQ(Nearest("xformers", kWords), "");
  EXPECT_EQ(Nearest("", kWords), "");
  EXPECT_EQ(Nearest(std::string(100000, 'a'), kWords), "");
}

TEST(Alternatives, ReadsAsASentence) {
  static constexpr std::string_view kWords[] = {"a", "b", "c"};
  EXPECT_EQ(Alternatives(kWords), "a, b or c");
  EXPECT_EQ(Alternatives({kWords, 1}), "a");
  EXPECT_EQ(Alternatives({}), "");
}

TEST(JsonWriter, PutsCommasAndEscapes) {
  JsonWriter writer(16);
  writer.BeginObject();
  writer.Text("a", "x\"\\\n\x01 é");
  writer.Key("b");
  writer.BeginList();
  writer.Count(1);
  writer.BeginObject();
  writer.EndObject();
  writer.Null();
  writer.EndList();
  writer.CountOrNull("c", 0);
  writer.TextOrNull("d", "");
  writer.EndObject();
  EXPECT_EQ(writer.Take(), R"({"a":"x\"\\\u000a\u0001 é","b":[1,{},null],"c":null,"d":null})");
}

TEST(AppendValue, WritesWhatWasReadWithSortedKeys) {
  Issues issues;
  const JsonValue value = ParseJson(R"({"b":[1,2.5,"x",null,true],"a":{"c":1e2}})", kRequestLimits, issues);
  std::string text;
  AppendValue(text, value);
  EXPECT_EQ(text, R"({"a":{"c":100},"b":[1,2.5,"x",null,true]})");
}

}  // namespace
}  // namespace tunefit
