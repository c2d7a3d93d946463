#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/issue.h"

namespace tunefit {

enum class JsonKind : std::uint8_t { kNull, kFlag, kInteger, kNumber, kText, kList, kObject };

struct JsonMember;

/// A checked JSON text as a tree: at most kDepthLimit deep, valid UTF-8, finite numbers, every key once. The members of
/// an object are sorted by key, so what is read from it never depends on the order in which somebody wrote it.
struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  bool flag = false;
  std::int64_t integer = 0;  ///< kInteger: a number written without fraction or exponent that int64 can hold
  double number = 0;         ///< kInteger and kNumber
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  /// The member of that name, or null. Null also where this is no object.
  const JsonValue* Find(std::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

/// The largest texts that are read: bytes, and values in them.
struct TextLimits {
  std::size_t bytes;
  std::size_t values;
};
inline constexpr TextLimits kRequestLimits = {256000, 20000};
inline constexpr TextLimits kFileLimits = {32000000, 2000000};
/// Objects and lists inside one another.
inline constexpr int kDepthLimit = 16;

/// Reads a text. Adds an issue for every fault: `empty_text`, `text_too_long`, `not_json`, `too_deep`,
/// `too_many_values`, `invalid_utf8`, `number_not_finite`, `duplicate_key`; `field` is the dotted path of the place.
/// The tree is only to be used when no issue was added. Time is linear in the text, and constant where it is longer
/// than the limit.
JsonValue ParseJson(std::string_view text, TextLimits limits, Issues& issues);

/// Most issues of one report: a text of faults only must not become a report of megabytes.
inline constexpr std::size_t kIssueLimit = 200;

/// A name and a text for Issue::values. One without a text (not even an empty one) is left out.
using IssueValue = std::pair<std::string_view, std::string_view>;

/// Adds an issue, unless there are kIssueLimit already.
void AddIssue(Issues& issues, std::string_view code, std::string_view field, std::string_view message,
              std::initializer_list<IssueValue> values, Severity severity = Severity::kError);

}  // namespace tunefit
