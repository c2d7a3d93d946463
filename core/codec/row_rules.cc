#include "core/codec/row_rules.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// Whether issues were added since there were so many. A full list says nothing: then there may be some.
bool HasMore(const Issues& issues, std::size_t before) { return issues.size() > before || before >= kIssueLimit; }

void RefuseUnknownName(const ObjectReader& object, const FieldRule& rule, std::string_view name,
                       std::span<const std::string_view> known) {
  const std::string shown = Shortened(name);
  const std::string_view nearest = Nearest(name, known);
  const auto refuse = [&](const char* code, std::string_view what) {
    object.Fault(code, rule.key, Join({"names \"", shown, "\", which is no ", what, " of the catalog"}),
                 {{"value", shown}, {"nearest", nearest}});
  };
  switch (rule.names) {
    case Table::kSources:
      return refuse("unknown_source", "source");
    case Table::kGpus:
      return refuse("unknown_gpu", "GPU");
    case Table::kServers:
      return refuse("unknown_server", "server");
    default:
      return object.UnknownValue(rule.key, name, known);
  }
}

/// Whether a list of words, divided by blanks, has that one.
bool HasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

/// Where a text stands: under a field's key, or in a list there. The path is only put together for a fault.
struct Place {
  std::string_view key;
  std::optional<std::size_t> item = {};

  std::string Path() const { return item ? Join({key, ".", std::to_string(*item)}) : std::string(key); }
};

void CheckText(const ObjectReader& object, const FieldRule& rule, const Place& place, const JsonValue& value,
               const KnownNames& names) {
  if (value.kind != JsonKind::kText) return object.WrongType(place.Path(), value, "a text");
  if (!rule.words.empty()) {
    if (!HasWord(rule.words, value.text)) object.UnknownValue(place.Path(), value.text, WordsOf(rule.words));
    return;
  }
  const bool is_long = rule.high > 0 && static_cast<double>(CharactersOf(value.text)) > rule.high;
  if (is_long) {
    const std::string high = NumberText(rule.high);
    object.Fault("too_long", place.Path(), Join({"is longer than ", high, " characters"}),
                 {{"value", Shortened(value.text)}, {"high", high}});
  }
  const std::string_view fault = FormFault(value.text, rule.form);
  if (!fault.empty()) return object.Fault("malformed", place.Path(), fault, {{"value", Shortened(value.text)}});
  const bool has_name = rule.names != Table::kNone && !value.text.empty();
  if (!is_long && has_name && !names.Has(rule.names, value.text)) {
    RefuseUnknownName(object, rule, value.text, names.Of(rule.names));
  }
}

void CheckSize(const ObjectReader& object, const FieldRule& rule, std::size_t size) {
  if (size < rule.least) object.Fault("empty_list", rule.key, "must hold something", {});
  if (rule.most == 0 || size <= rule.most) return;
  const std::string high = std::to_string(rule.most);
  object.Fault("too_long", rule.key, Join({"holds more than ", high, " items"}),
               {{"value", std::to_string(size)}, {"high", high}});
}

void CheckTexts(const ObjectReader& object, const FieldRule& rule, const KnownNames& names) {
  const JsonValue* list = object.List(rule.key);
  if (list == nullptr) return;
  const std::vector<JsonValue>& items = list->items;
  CheckSize(object, rule, items.size());
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < items.size(); ++i) {
    CheckText(object, rule, {rule.key, i}, items[i], names);
    if (items[i].kind == JsonKind::kText) texts.push_back(items[i].text);
  }
  std::sort(texts.begin(), texts.end());
  const auto second = std::adjacent_find(texts.begin(), texts.end());
  if (second == texts.end()) return;
  const std::string shown = Shortened(*second);
  object.Fault("duplicate_key", rule.key, Join({"names \"", shown, "\" twice"}), {{"value", shown}});
}

/// Ids of a list's rows, which are all there.
void RefuseSecondIds(const ObjectReader& object, std::string_view list) {
  std::vector<RowName> ids;
  ForEachRow(object, list, [&](const ObjectReader& row) { ids.emplace_back(row.Find("id")->text, ids.size()); });
  SortNames(ids, object, "duplicate_id", list, ".id");
}

void CheckRows(const ObjectReader& object, const FieldRule& rule, const KnownNames& names) {
  const JsonValue* list = object.List(rule.key);
  if (list == nullptr) return;
  CheckSize(object, rule, list->items.size());
  const std::size_t before = object.issues().size();
  ForEachRow(object, rule.key, [&](const ObjectReader& row) { CheckFields(row, rule.fields, names); });
  if (!HasMore(object.issues(), before) && rule.fields.front().key == "id") RefuseSecondIds(object, rule.key);
}

void CheckSources(const ObjectReader& row, const KnownNames& names) {
  const JsonValue* value = row.Object("sources");
  if (value == nullptr) return;
  if (value->members.empty()) row.Fault("empty_list", "sources", "must name a source", {});
  const ObjectReader sources(row, "sources");
  for (const JsonMember& member : value->members) {
    if (!IsSourcePath(member.key)) {
      const std::string shown = Shortened(member.key);
      sources.Fault("unknown_field", shown, "is not how a field is named", {{"value", shown}});
    }
    static constexpr FieldRule kIds = rules::SourceIds();
    FieldRule rule = kIds;
    rule.key = member.key;
    CheckTexts(sources, rule, names);
  }
}

void CheckCount(const ObjectReader& object, const FieldRule& rule) {
  if (rule.words.empty()) {
    object.Count(rule.key, static_cast<std::int64_t>(rule.low), static_cast<std::int64_t>(rule.high));
    return;
  }
  constexpr double kAny = std::numeric_limits<double>::max();
  const auto number = object.Number(rule.key, -kAny, kAny);
  if (!number) return;
  const std::string shown = NumberText(*number);
  if (!HasWord(rule.words, shown)) object.UnknownValue(rule.key, shown, WordsOf(rule.words));
}

/// What stands under the field's key.
void CheckValue(const ObjectReader& object, const FieldRule& rule, const JsonValue& value, const KnownNames& names) {
  switch (rule.kind) {
    case FieldKind::kOther:
      return;
    case FieldKind::kNumber:
      object.Number(rule.key, rule.low, rule.high);
      return;
    case FieldKind::kCount:
      return CheckCount(object, rule);
    case FieldKind::kFlag:
      object.Flag(rule.key);
      return;
    case FieldKind::kText:
      return CheckText(object, rule, {rule.key}, value, names);
    case FieldKind::kTexts:
      return CheckTexts(object, rule, names);
    case FieldKind::kObject:
      if (object.Object(rule.key) == nullptr) return;
      CheckSize(object, rule, value.members.size());
      CheckFields(ObjectReader(object, rule.key), rule.fields, names);
      return;
    case FieldKind::kRows:
      return CheckRows(object, rule, names);
    case FieldKind::kSources:
      return CheckSources(object, names);
  }
}

}  // namespace

std::vector<std::string_view> WordsOf(std::string_view words) {
  std::vector<std::string_view> divided;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    divided.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return divided;
}

void KnownNames::Set(Table table, std::vector<std::string_view> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names_[static_cast<std::size_t>(table)] = std::move(names);
}

bool KnownNames::Has(Table table, std::string_view name) const {
  const std::span<const std::string_view> names = Of(table);
  return std::binary_search(names.begin(), names.end(), name);
}

bool CheckFields(const ObjectReader& object, FieldRules rules, const KnownNames& names) {
  const std::size_t before = object.issues().size();
  std::vector<std::string_view> known;
  known.reserve(rules.size());
  for (const FieldRule& rule : rules) known.push_back(rule.key);
  object.RefuseUnknown(known);
  for (const FieldRule& rule : rules) CheckField(object, rule, names);
  return !HasMore(object.issues(), before);
}

bool CheckField(const ObjectReader& object, const FieldRule& rule, const KnownNames& names) {
  const std::size_t before = object.issues().size();
  if (const JsonValue* value = object.Find(rule.key)) {
    CheckValue(object, rule, *value, names);
  } else if (rule.needed) {
    object.Require(rule.key);
  }
  return !HasMore(object.issues(), before);
}

std::vector<std::string_view> TextsIn(const JsonValue* list, std::string_view key) {
  std::vector<std::string_view> texts;
  if (list == nullptr) return texts;
  for (const JsonValue& row : list->items) {
    const JsonValue* text = row.Find(key);
    if (text != nullptr && text->kind == JsonKind::kText) texts.push_back(text->text);
  }
  return texts;
}

}  // namespace tunefit
