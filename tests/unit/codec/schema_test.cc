// catalog/schema against the loader: whatever one value there refuses, the loader refuses too, by the code of
// scripts/catalog/schemas.mjs at the same field; and the ends of what it allows are allowed.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

Json Schema(const std::string& table) {
  return Json::parse(test::ReadFile(TUNEFIT_SOURCE_DIR "/catalog/schema/" + table + ".schema.json"), nullptr, false);
}

/// Puts values at a place of a text that keeps every rule, and looks at what the loader says of that place.
class Probe {
 public:
  Probe(Json valid, std::function<Issues(const std::string&)> read)
      : valid_(std::move(valid)), read_(std::move(read)) {}

  /// Every value that the schema of the place refuses, or just allows.
  void Visit(const Json& schema, const Pointer& at) {
    if (schema.contains("enum")) return VisitWords(schema["enum"], at);
    const auto type = schema.value("type", "");
    if (type == "object") return VisitObject(schema, at);
    if (type == "array") return VisitList(schema, at);
    if (type == "string") return VisitText(schema, at);
    if (type == "boolean") return Refuses(at, "yes", "wrong_type");
    VisitNumber(schema, at, type == "integer");
  }

  int count() const { return count_; }

 private:
  static std::string FieldAt(const Pointer& at) {
    std::string field = at.to_string().substr(1);
    for (char& c : field) c = c == '/' ? '.' : c;
    return field;
  }
  bool Says(const Json& text, const std::string& code, const std::string& field) {
    ++count_;
    return test::HasIssue(read_(text.dump()), code, field);
  }
  void Refuses(const Pointer& at, const Json& value, const std::string& code) {
    Json text = valid_;
    text[at] = value;
    EXPECT_TRUE(Says(text, code, FieldAt(at))) << FieldAt(at) << " " << value << ": " << code;
  }
  void Allows(const Pointer& at, const Json& value, const std::string& code) {
    Json text = valid_;
    text[at] = value;
    EXPECT_FALSE(Says(text, code, FieldAt(at))) << FieldAt(at) << " " << value;
  }

  void VisitWords(const Json& words, const Pointer& at) {
    for (const Json& word : words) Allows(at, word, "unknown_value");
    Refuses(at, "nobody", "unknown_value");
    Refuses(at, 1, "unknown_value");
  }
  void VisitObject(const Json& schema, const Pointer& at) {
    Refuses(at, "x", "wrong_type");
    if (schema.contains("minProperties")) Refuses(at, Json::object(), "empty_list");
    for (const Json& key : schema.value("required", Json::array())) {
      Json text = valid_;
      text[at].erase(key.get<std::string>());
      EXPECT_TRUE(Says(text, "missing_field", FieldAt(at / key.get<std::string>()))) << FieldAt(at) << " " << key;
    }
    Json text = valid_;
    text[at]["no-body"] = 1;
    EXPECT_TRUE(Says(text, "unknown_field", FieldAt(at / "no-body"))) << FieldAt(at);
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, field] : properties.items()) Visit(field, at / key);
    for (const auto& each : schema.value("patternProperties", Json::object())) Visit(each, at / "row");
  }
  void VisitList(const Json& schema, const Pointer& at) {
    Refuses(at, "x", "wrong_type");
    const auto list_of = [](std::size_t items) { return Json(std::vector<Json>(items, "x")); };
    const bool has_least = schema.value("minItems", 0) > 0;
    if (has_least) Refuses(at, Json::array(), "empty_list");
    if (!has_least) Allows(at, Json::array(), "empty_list");
    if (schema.contains("maxItems")) {
      const auto most = schema["maxItems"].get<std::size_t>();
      Allows(at, list_of(most), "too_long");
      Refuses(at, list_of(most + 1), "too_long");
    }
    if (schema.value("uniqueItems", false)) Refuses(at, {"x", "x"}, "duplicate_key");
    const bool was_there = valid_.contains(at) && !valid_[at].empty();
    const Json kept = valid_;
    if (!was_there) valid_[at] = Json::array({"x"});
    Visit(schema["items"], at / 0);
    valid_ = kept;
  }
  void VisitText(const Json& schema, const Pointer& at) {
    Refuses(at, 1, "wrong_type");
    if (schema.contains("pattern")) Refuses(at, "?!", "malformed");
    if (schema.value("minLength", 0) > 0) Refuses(at, "", "malformed");
    if (!schema.contains("pattern") && !schema.contains("minLength")) Allows(at, "", "malformed");
    const std::size_t longest = schema.value("maxLength", std::size_t{4000});
    std::string text;
    for (std::size_t i = 0; i < longest; ++i) text += "é";
    Allows(at, text, "too_long");
    if (schema.contains("maxLength")) Refuses(at, text + "x", "too_long");
  }
  void VisitNumber(const Json& schema, const Pointer& at, bool whole) {
    Refuses(at, "1", "wrong_type");
    const double low = schema.value("minimum", schema.value("exclusiveMinimum", 0.0));
    const double high = schema["maximum"].get<double>();
    const double step = whole ? 1 : 1e-3 * high;
    if (whole) Refuses(at, low + 0.5, "wrong_type");
    Allows(at, high, "out_of_range");
    Refuses(at, high + step, "out_of_range");
    Refuses(at, low - step, "out_of_range");
    if (schema.contains("minimum")) Allows(at, low, "out_of_range");
    if (schema.contains("exclusiveMinimum")) Refuses(at, low, "out_of_range");
  }

  Json valid_;
  std::function<Issues(const std::string&)> read_;
  int count_ = 0;
};

TEST(Schema, OfWhatTheFirstPartGot) {
  const auto read = [](const std::string& text) {
    Issues issues;
    ReadCatalog(test::Completed(Json::parse(text, nullptr, false)), issues);
    return issues;
  };
  Probe probe(test::ReadSmallCatalog("minimal.json"), read);
  probe.Visit(Schema("purposes"), Pointer("/purposes"));
  probe.Visit(Schema("interconnects"), Pointer("/interconnects"));
  const Json gpu = Schema("gpus")["items"]["properties"];
  const Pointer at("/gpus/0");
  for (const char* key : {"aliases", "fp16_accumulate_TFLOPS", "unconfirmed", "sources"})
    probe.Visit(gpu[key], at / key);
  probe.Visit(Schema("models")["items"]["properties"]["good_for"], Pointer("/models/0/good_for"));
  EXPECT_GT(probe.count(), 100);
}

TEST(Schema, OfTheSecondPart) {
  Issues none;
  const Catalog catalog = ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), none);
  const auto read = [&catalog](const std::string& text) {
    Issues issues;
    ReadMarket(text, catalog, issues);
    return issues;
  };
  Probe probe(test::ReadSmallCatalog("minimal_market.json"), read);
  for (const char* table : {"servers", "prices", "vendor"}) probe.Visit(Schema(table), Pointer() / table);
  EXPECT_GT(probe.count(), 500);
}

}  // namespace
}  // namespace tunefit
