// catalog/schema against the loader: whatever one value there refuses, the loader refuses too, by the code of
// scripts/catalog/schemas.mjs at the same field; and the ends of what it allows are allowed.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
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

/// Layers of a config one by one, which the reader of configs looks at in classes that have them.
const std::set<std::string> kOfTheReader = {
    "attn_type_list", "cross_attention_layers", "deepstack_visual_indexes", "hybrid_override_pattern",
    "layer_types",    "supported_aspect_ratios"};

/// Puts values at a place of a text that keeps every rule, and looks at what the loader says of that place.
class Probe {
 public:
  Probe(Json valid, std::function<Issues(const std::string&)> read)
      : valid_(std::move(valid)), read_(std::move(read)) {}

  /// Every value that the schema of the place refuses, or just allows.
  void Visit(const Json& schema, const Pointer& at) {
    if (schema.contains("$ref")) return Visit(whole_.at(Pointer(schema["$ref"].get<std::string>().substr(1))), at);
    if (schema.contains("enum")) return VisitWords(schema["enum"], at);
    if (schema.contains("const")) return VisitWords(Json::array({schema["const"]}), at);
    if (!schema.contains("type") || schema["type"].is_array()) return;  // told by catalogs in tests/catalog/broken
    const auto type = schema.value("type", "");
    if (type == "object") return VisitObject(schema, at);
    if (type == "array") return VisitList(schema, at);
    if (type == "string") return VisitText(schema, at);
    if (type == "boolean") return Refuses(at, "yes", "wrong_type");
    VisitNumber(schema, at, type == "integer");
  }

  /// The same for a table that is a part of the bundle.
  void VisitTable(const std::string& table) {
    whole_ = Schema(table);
    Visit(whole_, Pointer() / table);
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
    const bool are_texts = words[0].is_string();
    Refuses(at, are_texts ? Json("nobody") : Json(1234), "unknown_value");
    Refuses(at, are_texts ? Json(1) : Json("1"), "wrong_type");
  }
  void VisitObject(const Json& schema, const Pointer& at) {
    Refuses(at, "x", "wrong_type");
    if (schema.contains("minProperties")) Refuses(at, Json::object(), "empty_list");
    for (const Json& key : schema.value("required", Json::array())) {
      Json text = valid_;
      if (text[at].is_null()) text[at] = Json::object();
      text[at].erase(key.get<std::string>());
      EXPECT_TRUE(Says(text, "missing_field", FieldAt(at / key.get<std::string>()))) << FieldAt(at) << " " << key;
    }
    if (schema.value("additionalProperties", Json()).is_boolean()) {
      Refuses(at / "no-body", 1, "unknown_field");
    }
    const Json properties = schema.value("properties", Json::object());
    std::set<std::string> left_out = kOfTheReader;
    for (const Json& rule :
         schema.value("allOf", Json::array())) {  // by another field's value; told in broken/ as well
      const Json narrowed = rule["then"].value("properties", Json::object());
      for (const auto& field : narrowed.items()) left_out.insert(field.key());
    }
    for (const auto& [key, field] : properties.items()) {
      if (left_out.count(key) == 0) Visit(field, at / key);
    }
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
    const bool of_objects = schema["items"].value("type", Json()) == "object";
    if (!was_there) valid_[at] = Json::array({of_objects ? Json::object() : Json("x")});
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
  Json whole_;  ///< the schema of the table
  std::function<Issues(const std::string&)> read_;
  int count_ = 0;
};

TEST(Schema, OfTheFirstPart) {
  const auto read = [](const std::string& text) {
    Issues issues;
    ReadCatalog(text, issues);
    return issues;
  };
  Probe probe(Json::parse(test::Completed(test::ReadSmallCatalog("minimal.json")), nullptr, false), read);
  for (const char* table : {"meta", "gpus", "purposes", "interconnects", "models", "stacks", "sources", "formulas",
                            "overheads", "efficiencies", "outside_steps"}) {
    probe.VisitTable(table);
  }
  EXPECT_GT(probe.count(), 2000);
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
  for (const char* table : {"servers", "prices", "switches", "vendor"}) probe.VisitTable(table);
  EXPECT_GT(probe.count(), 500);
}

}  // namespace
}  // namespace tunefit
