#include "core/codec/json_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace tunefit {
namespace {

class Reader : public testing::Test {
 protected:
  ObjectReader Read(std::string_view text, NullRule nulls = NullRule::kRefused) {
    tree_ = ParseJson(text, kRequestLimits, issues_);
    return {tree_, "root", nulls, issues_};
  }
  std::string LastCode() const { return issues_.empty() ? "" : issues_.back().code; }
  std::string LastField() const { return issues_.empty() ? "" : issues_.back().field; }

  JsonValue tree_;
  Issues issues_;
};

TEST_F(Reader, CountsAreWholeAndInRange) {
  const ObjectReader reader = Read(R"({"a":5,"b":2.0,"c":2.5,"d":-1,"e":1e30,"f":"5"})");
  EXPECT_EQ(reader.Count("a", 1, 5), 5);
  EXPECT_EQ(reader.Count("b", 1, 5), 2);
  EXPECT_EQ(reader.Count("absent", 1, 5), std::nullopt);
  EXPECT_TRUE(issues_.empty());
  EXPECT_EQ(reader.Count("a", 1, 4), std::nullopt);
  EXPECT_EQ(LastCode(), "out_of_range");
  EXPECT_EQ(issues_.back().message, "root.a must be a whole number from 1 to 4, not 5.");
  EXPECT_EQ(reader.Count("c", 1, 5), std::nullopt);
  EXPECT_EQ(LastCode(), "wrong_type");
  EXPECT_EQ(reader.Count("d", 0, 5), std::nullopt);
  EXPECT_EQ(LastCode(), "out_of_range");
  EXPECT_EQ(reader.Count("e", 0, 9223372036854775807), std::nullopt);
  EXPECT_EQ(LastCode(), "out_of_range");
  EXPECT_EQ(reader.Count("f", 0, 5), std::nullopt);
  EXPECT_EQ(LastCode(), "wrong_type");
}

TEST_F(Reader, NullIsAValueOrAbsence) {
  const ObjectReader strict = Read(R"({"a":null})");
  EXPECT_EQ(strict.Flag("a"), std::nullopt);
  EXPECT_EQ(LastCode(), "wrong_type");
  EXPECT_EQ(LastField(), "root.a");
  issues_.clear();
  const ObjectReader lax = Read(R"({"a":null})", NullRule::kAbsent);
  EXPECT_EQ(lax.Flag("a"), std::nullopt);
  EXPECT_TRUE(lax.IsNull("a"));
  EXPECT_TRUE(issues_.empty());
}

TEST_F(Reader, PathsGoThroughObjectsAndLists) {
  const ObjectReader root = Read(R"({"list":[{"x":{"y":true}}]})");
  const ObjectReader row(root, "list", 0, root.List("list")->items[0]);
  const ObjectReader inner(row, "x");
  EXPECT_EQ(inner.Count("y", 0, 1), std::nullopt);
  EXPECT_EQ(LastField(), "root.list.0.x.y");
}

TEST_F(Reader, AnObjectThatIsNoneIsSaidOnceAndReadsAsEmpty) {
  const ObjectReader root = Read(R"({"a":[]})");
  const ObjectReader inner(root, "a");
  EXPECT_FALSE(inner.present());
  EXPECT_EQ(inner.Count("b", 0, 1), std::nullopt);
  inner.Require("b");
  EXPECT_EQ(issues_.size(), 1U);
}

TEST_F(Reader, UnknownFieldsNameTheNearest) {
  static constexpr std::string_view kKnown[] = {"per_device", "packing"};
  const ObjectReader reader = Read(R"({"per_devices":1,"zzz":2,"packing":"none"})");
  reader.RefuseUnknown(kKnown);
  ASSERT_EQ(issues_.size(), 2U);
  EXPECT_EQ(issues_[0].field, "root.per_devices");
  EXPECT_EQ(issues_[0].values.back().second, "per_device");
  EXPECT_EQ(issues_[1].field, "root.zzz");
  EXPECT_EQ(issues_[1].values.size(), 1U);
}

TEST_F(Reader, ChoicesAndTexts) {
  static constexpr std::string_view kWords[] = {"none", "full"};
  const ObjectReader reader = Read(R"({"a":"full","b":"ful","c":["x",1],"d":"long text"})");
  EXPECT_EQ(reader.Choice("a", kWords), 1U);
  EXPECT_EQ(reader.Choice("b", kWords), std::nullopt);
  EXPECT_EQ(LastCode(), "unknown_value");
  EXPECT_EQ(issues_.back().message, "root.b must be none or full, not \"ful\".");
  EXPECT_EQ(reader.Texts("c"), std::nullopt);
  EXPECT_EQ(LastField(), "root.c.1");
  EXPECT_EQ(reader.Text("d", 4), std::nullopt);
  EXPECT_EQ(LastCode(), "too_long");
}

}  // namespace
}  // namespace tunefit
