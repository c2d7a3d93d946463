#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json_value.h"
#include "core/codec/request_fields.h"

namespace tunefit {

/// Appends JSON to one growing text, with the commas in the right places. The caller keeps objects and lists balanced.
class JsonWriter {
 public:
  explicit JsonWriter(std::size_t expected_bytes) { text_.reserve(expected_bytes); }

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginList() { Open('['); }
  void EndList() { Close(']'); }
  /// `key` needs no escaping.
  void Key(std::string_view key);

  void Text(std::string_view text);
  void Number(double number);
  void Count(std::int64_t count);
  void Flag(bool flag) { Raw(flag ? "true" : "false"); }
  void Null() { Raw("null"); }
  /// JSON as it stands.
  void Raw(std::string_view json);

  void Text(std::string_view key, std::string_view text);
  /// Null where the text is empty.
  void TextOrNull(std::string_view key, std::string_view text);
  void Number(std::string_view key, double number);
  void Count(std::string_view key, std::int64_t count);
  /// Null where the count is zero.
  void CountOrNull(std::string_view key, std::int64_t count);
  void Flag(std::string_view key, bool flag);
  void Null(std::string_view key);

  std::string Take() { return std::move(text_); }

 private:
  void Open(char bracket);
  void Close(char bracket);
  void Separate();

  std::string text_;
  bool first_ = true;  ///< nothing stands yet in the innermost object or list, or a key was just written
};

void AppendJsonText(std::string& out, std::string_view text);
void AppendTargets(std::string& out, const Targets& targets);
void AppendWords(std::string& out, const std::vector<Word>& words);
/// The tree, members sorted by key.
void AppendValue(std::string& out, const JsonValue& value);

}  // namespace tunefit
