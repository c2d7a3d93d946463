#include "core/codec/json_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/codec/words.h"

namespace tunefit {
namespace {

std::string ShownValue(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kFlag:
      return value.flag ? "true" : "false";
    case JsonKind::kInteger:
      return std::to_string(value.integer);
    case JsonKind::kNumber:
      return NumberText(value.number);
    case JsonKind::kText:
      return Shortened(value.text);
    default:
      return std::string(JsonKindName(value.kind));
  }
}

bool LooksLikeAnother(std::string_view text) {
  return text == "true" || text == "false" || text == "null" || text.find_first_not_of("0123456789+-.eE") == text.npos;
}

}  // namespace

std::string_view JsonKindName(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kFlag:
      return "true or false";
    case JsonKind::kInteger:
    case JsonKind::kNumber:
      return "a number";
    case JsonKind::kText:
      return "a text";
    case JsonKind::kList:
      return "a list";
    case JsonKind::kObject:
      return "an object";
  }
  return "";
}

ObjectReader::ObjectReader(const ObjectReader& parent, std::string_view key)
    : object_(parent.Object(key)), parent_(&parent), name_(key), nulls_(parent.nulls_), issues_(parent.issues_) {}

ObjectReader::ObjectReader(const ObjectReader& parent, std::string_view key, std::size_t index, const JsonValue& item)
    : object_(item.kind == JsonKind::kObject ? &item : nullptr),
      parent_(&parent),
      name_(key),
      index_(index),
      nulls_(parent.nulls_),
      issues_(parent.issues_) {
  if (object_ == nullptr) parent.WrongType(Join({key, ".", std::to_string(index)}), item, "an object");
}

const JsonValue* ObjectReader::Find(std::string_view key) const {
  const JsonValue* value = object_ == nullptr ? nullptr : object_->Find(key);
  if (value != nullptr && value->kind == JsonKind::kNull && nulls_ == NullRule::kAbsent) return nullptr;
  return value;
}

bool ObjectReader::IsNull(std::string_view key) const {
  const JsonValue* value = object_ == nullptr ? nullptr : object_->Find(key);
  return value != nullptr && value->kind == JsonKind::kNull;
}

std::optional<std::int64_t> ObjectReader::Count(std::string_view key, std::int64_t low, std::int64_t high) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kInteger && value->kind != JsonKind::kNumber) {
    WrongType(key, *value, "a whole number");
    return {};
  }
  if (value->kind == JsonKind::kNumber && std::floor(value->number) != value->number) {
    const std::string shown = NumberText(value->number);
    Fault("wrong_type", key, Join({"must be a whole number, not ", shown}),
          {{"expected", "a whole number"}, {"found", "a fraction"}, {"value", shown}});
    return {};
  }
  const bool is_integer = value->kind == JsonKind::kInteger;
  // As doubles the ends of int64 would round up; no count is that large.
  const bool in_range = is_integer ? value->integer >= low && value->integer <= high
                                   : std::fabs(value->number) < 9e18 && value->number >= static_cast<double>(low) &&
                                         value->number <= static_cast<double>(high);
  if (!in_range) {
    const std::string shown = ShownValue(*value);
    const std::string from = std::to_string(low);
    const std::string to = std::to_string(high);
    const std::string range = low == high ? from : Join({"a whole number from ", from, " to ", to});
    Fault("out_of_range", key, Join({"must be ", range, ", not ", shown}),
          {{"value", shown}, {"low", from}, {"high", to}});
    return {};
  }
  return is_integer ? value->integer : static_cast<std::int64_t>(value->number);
}

std::optional<double> ObjectReader::Number(std::string_view key, double low, double high) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kInteger && value->kind != JsonKind::kNumber) {
    WrongType(key, *value, "a number");
    return {};
  }
  if (value->number >= low && value->number <= high) return value->number;
  const std::string shown = ShownValue(*value);
  const std::string from = NumberText(low);
  const std::string to = NumberText(high);
  // A bound that is only there to keep zero out is no number that anybody would write.
  const bool positive = low == std::numeric_limits<double>::denorm_min();
  const std::string range = positive ? Join({"over 0, up to ", to}) : Join({"from ", from, " to ", to});
  Fault("out_of_range", key, Join({"must be a number ", range, ", not ", shown}),
        {{"value", shown}, {"low", from}, {"high", to}});
  return {};
}

std::optional<bool> ObjectReader::Flag(std::string_view key) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return {};
  if (value->kind == JsonKind::kFlag) return value->flag;
  WrongType(key, *value, "true or false");
  return {};
}

std::optional<std::string_view> ObjectReader::Text(std::string_view key, std::size_t longest) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kText) {
    WrongType(key, *value, "a text");
    return {};
  }
  if (value->text.size() <= longest) return value->text;
  const std::string high = std::to_string(longest);
  Fault("too_long", key, Join({"is longer than ", high, " bytes"}),
        {{"value", Shortened(value->text)}, {"high", high}});
  return {};
}

std::optional<std::size_t> ObjectReader::Choice(std::string_view key, std::span<const std::string_view> words) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return {};
  if (value->kind != JsonKind::kText) {
    WrongType(key, *value, "a text");
    return {};
  }
  const auto found = std::find(words.begin(), words.end(), value->text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  UnknownValue(key, value->text, words);
  return {};
}

std::optional<std::vector<std::string_view>> ObjectReader::Texts(std::string_view key, std::size_t most) const {
  const JsonValue* list = List(key);
  if (list == nullptr) return {};
  if (list->items.size() > most) {
    const std::string high = std::to_string(most);
    Fault("too_long", key, Join({"holds more than ", high, " items"}),
          {{"value", std::to_string(list->items.size())}, {"high", high}});
    return {};
  }
  std::vector<std::string_view> texts;
  texts.reserve(list->items.size());
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const JsonValue& item = list->items[i];
    if (item.kind == JsonKind::kText) {
      texts.push_back(item.text);
    } else {
      WrongType(Join({key, ".", std::to_string(i)}), item, "a text");
    }
  }
  if (texts.size() < list->items.size()) return {};
  return texts;
}

const JsonValue* ObjectReader::List(std::string_view key) const {
  const JsonValue* value = Find(key);
  if (value == nullptr || value->kind == JsonKind::kList) return value;
  WrongType(key, *value, "a list");
  return nullptr;
}

const JsonValue* ObjectReader::Object(std::string_view key) const {
  const JsonValue* value = Find(key);
  if (value == nullptr || value->kind == JsonKind::kObject) return value;
  WrongType(key, *value, "an object");
  return nullptr;
}

void ObjectReader::RefuseUnknown(std::span<const std::string_view> known) const {
  if (object_ == nullptr) return;
  for (const JsonMember& member : object_->members) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (member.key.empty()) {
      Fault("unknown_field", "", "has a field with an empty name", {{"value", "\"\""}});
      continue;
    }
    const std::string name = Shortened(member.key);
    const std::string_view nearest = Nearest(member.key, known);
    const std::string hint = nearest.empty() ? std::string() : Join({"; did you mean \"", nearest, "\"?"});
    Fault("unknown_field", name, Join({"is not a field that is known here", hint}),
          {{"value", name}, {"nearest", nearest}});
  }
}

void ObjectReader::Require(std::string_view key) const {
  if (object_ != nullptr && Find(key) == nullptr) Fault("missing_field", key, "is missing", {});
}

std::string ObjectReader::PathTo(std::string_view key) const {
  std::string path = parent_ == nullptr ? std::string(name_) : parent_->PathTo(name_);
  if (index_) {
    path += '.';
    path += std::to_string(*index_);
  }
  if (path.empty()) return std::string(key);
  if (!key.empty()) {
    path += '.';
    path += key;
  }
  return path;
}

void ObjectReader::Fault(const char* code, std::string_view key, std::string_view text,
                         std::initializer_list<IssueValue> values) const {
  if (issues_->size() >= kIssueLimit) return;
  const std::string field = PathTo(key);
  const std::string_view subject = field.empty() ? std::string_view("The text") : std::string_view(field);
  AddIssue(*issues_, code, field, Join({subject, " ", text, text.back() == '?' ? "" : "."}), values);
}

void ObjectReader::ValueFault(const char* code, std::string_view key, std::string_view text) const {
  Fault(code, key, text, {{"value", ShownValue(*Find(key))}});
}

void ObjectReader::WrongType(std::string_view key, const JsonValue& value, std::string_view expected) const {
  const std::string_view found = JsonKindName(value.kind);
  const bool scalar = value.kind != JsonKind::kNull && value.kind < JsonKind::kList;
  std::string shown = scalar ? ShownValue(value) : std::string();
  // A text that reads like another value keeps its quotes, so that it is seen to be a text.
  if (value.kind == JsonKind::kText && LooksLikeAnother(shown)) shown = Join({"\"", shown, "\""});
  Fault("wrong_type", key, Join({"must be ", expected, ", not ", found}),
        {{"expected", expected}, {"found", found}, {"value", scalar ? shown : std::string_view()}});
}

void ObjectReader::UnknownValue(std::string_view key, std::string_view value,
                                std::span<const std::string_view> words) const {
  const std::string shown = Shortened(value);
  const std::string known = Alternatives(words);
  Fault("unknown_value", key, Join({"must be ", known, ", not \"", shown, "\""}),
        {{"value", shown}, {"known", known}, {"nearest", Nearest(value, words)}});
}

void AddIssue(Issues& issues, std::string_view code, std::string_view field, std::string_view message,
              std::initializer_list<IssueValue> values, Severity severity) {
  if (issues.size() >= kIssueLimit) return;
  Issue& issue = issues.emplace_back();
  issue.code = code;
  issue.field = field;
  issue.message = message;
  issue.severity = severity;
  for (const auto& [name, text] : values) {
    if (text.data() != nullptr) issue.values.emplace_back(name, text);
  }
}

}  // namespace tunefit
