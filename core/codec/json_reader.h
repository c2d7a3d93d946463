#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/json_value.h"
#include "core/model/issue.h"

namespace tunefit {

enum class NullRule : std::uint8_t {
  kRefused,  ///< null is a value of the wrong type
  kAbsent,   ///< null means the key is not there, as in a Hugging Face config
};

/// Reads the members of one object with their types checked. A getter gives nothing where the key is absent; where the
/// value is wrong it gives nothing and adds an issue that names the field by its dotted path. Paths are only written
/// out when something is wrong, so reading costs no allocation.
///
/// Issues: `missing_field`, `wrong_type` {expected, found}, `out_of_range` {value, low, high},
/// `unknown_value` {value, known, nearest?}, `unknown_field` {value, nearest?}, `too_long` {value, high}.
class ObjectReader {
 public:
  /// `name` is the path of the object itself, empty for the root of a text. All arguments must outlive the reader.
  ObjectReader(const JsonValue& object, std::string_view name, NullRule nulls, Issues& issues)
      : object_(&object), name_(name), nulls_(nulls), issues_(&issues) {}
  /// The object inside under `key`. Not `present` where the key is absent or no object (which is an issue).
  ObjectReader(const ObjectReader& parent, std::string_view key);
  /// The same for an item of a list under `key`.
  ObjectReader(const ObjectReader& parent, std::string_view key, std::size_t index, const JsonValue& item);

  bool present() const { return object_ != nullptr; }
  /// Of an object that is present, sorted by key.
  const std::vector<JsonMember>& members() const { return object_->members; }
  /// The value under `key` of whatever type; null where absent.
  const JsonValue* Find(std::string_view key) const;
  /// The key is there and its value is null.
  bool IsNull(std::string_view key) const;

  std::optional<std::int64_t> Count(std::string_view key, std::int64_t low, std::int64_t high) const;
  std::optional<double> Number(std::string_view key, double low, double high) const;
  std::optional<bool> Flag(std::string_view key) const;
  std::optional<std::string_view> Text(std::string_view key, std::size_t longest = 200) const;
  /// Index of the text among `words`.
  std::optional<std::size_t> Choice(std::string_view key, std::span<const std::string_view> words) const;
  /// Views of the texts of a list; nothing where it is absent, no list, or holds something that is no text.
  std::optional<std::vector<std::string_view>> Texts(std::string_view key, std::size_t most = 64) const;
  const JsonValue* List(std::string_view key) const;
  const JsonValue* Object(std::string_view key) const;

  /// One `unknown_field` for every member that is not among `known`.
  void RefuseUnknown(std::span<const std::string_view> known) const;
  void Require(std::string_view key) const;

  std::string PathTo(std::string_view key) const;
  Issues& issues() const { return *issues_; }
  /// `text` follows the path in the message: "must be ...".
  void Fault(const char* code, std::string_view key, std::string_view text,
             std::initializer_list<IssueValue> values) const;
  /// A fault of the value that stands under the key, which is there.
  void ValueFault(const char* code, std::string_view key, std::string_view text) const;
  void WrongType(std::string_view key, const JsonValue& value, std::string_view expected) const;
  void UnknownValue(std::string_view key, std::string_view value, std::span<const std::string_view> words) const;

 private:
  const JsonValue* object_ = nullptr;
  const ObjectReader* parent_ = nullptr;
  std::string_view name_;
  std::optional<std::size_t> index_;
  NullRule nulls_ = NullRule::kRefused;
  Issues* issues_ = nullptr;
};

/// "a list", "true or false" ..., for messages.
std::string_view JsonKindName(JsonKind kind);

}  // namespace tunefit
