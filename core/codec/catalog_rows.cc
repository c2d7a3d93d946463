#include "core/codec/catalog_rows.h"

#include <algorithm>
#include <utility>

#include "core/codec/words.h"

namespace tunefit {

std::string_view TextOf(const ObjectReader& row, std::string_view key) {
  const JsonValue* value = row.Find(key);
  return value == nullptr ? std::string_view() : value->text;
}

double NumberOf(const ObjectReader& row, std::string_view key) {
  const JsonValue* value = row.Find(key);
  return value == nullptr ? 0 : value->number;
}

std::vector<std::string> TextsOf(const ObjectReader& row, std::string_view key) {
  std::vector<std::string> texts;
  const JsonValue* list = row.Find(key);
  if (list == nullptr) return texts;
  for (const JsonValue& item : list->items) texts.push_back(item.text);
  return texts;
}

Range ReadRange(const ObjectReader& object, std::string_view key) {
  const ObjectReader reader(object, key);
  Range range;
  range.low = reader.Find("low")->number;
  range.expected = reader.Find("expected")->number;
  range.high = reader.Find("high")->number;
  if (range.low > range.expected || range.expected > range.high) {
    object.Fault("implausible", key, "must have low, expected and high in this order", {});
  }
  return range;
}

std::vector<std::string> SourceIdsOf(const ObjectReader& row) {
  std::vector<std::string> ids;
  for (const JsonMember& member : row.Find("sources")->members) {
    for (const JsonValue& id : member.value.items) ids.push_back(id.text);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void NeedSource(const ObjectReader& row, std::string_view path) {
  const JsonValue* sources = row.Find("sources");
  if (sources->Find("row") != nullptr) return;
  for (std::string_view at = path; !at.empty(); at = at.substr(0, at.rfind('.') == at.npos ? 0 : at.rfind('.'))) {
    if (sources->Find(at) != nullptr) return;
  }
  if (path.substr(0, 5) == "link_" && sources->Find("link") != nullptr) return;
  row.Fault("unsourced", path, "has no source", {});
}

namespace {

/// Whether objects within objects lead to something.
bool HasPath(const ObjectReader& row, std::string_view path) {
  const JsonValue* at = row.Find(path.substr(0, path.find('.')));
  while (at != nullptr && path.find('.') != path.npos) {
    path.remove_prefix(path.find('.') + 1);
    at = at->Find(path.substr(0, path.find('.')));
  }
  return at != nullptr;
}

}  // namespace

void CheckNamed(const ObjectReader& row, std::string_view list) {
  for (const std::string& path : TextsOf(row, list)) {
    if (HasPath(row, path)) continue;
    const std::string shown = Shortened(path);
    row.Fault("unknown_value", list, Join({"names \"", shown, "\", which the row does not have"}), {{"value", shown}});
  }
}

void CheckPaths(const ObjectReader& row) {
  const ObjectReader sources(row, "sources");
  for (const JsonMember& member : row.Find("sources")->members) {
    if (member.key == "row" || HasPath(row, member.key)) continue;
    sources.Fault("unknown_field", member.key, "is the source of a field that the row does not have",
                  {{"value", member.key}});
  }
  CheckNamed(row, "derived");
}

void SortNames(std::vector<RowName>& names, const ObjectReader& object, const char* code, std::string_view key,
               std::string_view field) {
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto& [name, row] = names[i];
    if (name != names[i - 1].first) continue;
    const std::string shown = Shortened(name);
    object.Fault(code, Join({key, ".", std::to_string(row), field}),
                 Join({"repeats \"", shown, "\" of an earlier row"}), {{"value", shown}});
  }
}

void RefuseSecondRows(const ObjectReader& object, std::string_view list, std::string_view keys) {
  const std::vector<std::string_view> divided = WordsOf(keys);
  std::vector<RowName> rows;
  ForEachRow(object, list, [&](const ObjectReader& row) {
    std::string values;
    for (const std::string_view key : divided) {
      if (key != divided.front()) values += " | ";
      const JsonValue* value = row.Find(key);
      if (value != nullptr) values += value->kind == JsonKind::kText ? value->text : NumberText(value->number);
    }
    rows.emplace_back(std::move(values), rows.size());
  });
  SortNames(rows, object, "duplicate_id", list);
}

bool ReadBundle(std::string_view text, JsonValue& tree, Issues& issues) {
  tree = ParseJson(text, kFileLimits, issues);
  if (!issues.empty()) return false;
  if (tree.kind == JsonKind::kObject) return true;
  AddIssue(issues, "wrong_type", "", "The catalog must be an object.",
           {{"expected", "an object"}, {"found", JsonKindName(tree.kind)}});
  return false;
}

void NeedParts(const ObjectReader& bundle, std::span<const std::string_view> parts) {
  bundle.RefuseUnknown(parts);
  for (const std::string_view part : parts) bundle.Require(part);
}

std::string ReadMeta(const ObjectReader& bundle, const KnownNames& names) {
  static constexpr FieldRule kFields[] = {rules::OneOf("version", "1").Needed(),
                                          rules::Text("date", 0, TextForm::kDay).Needed()};
  static constexpr FieldRule kMeta = rules::Object("meta", kFields);
  if (!CheckField(bundle, kMeta, names) || bundle.Find("meta") == nullptr) return {};
  return bundle.Find("meta")->Find("date")->text;
}

void ReadSources(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kSource[] = {
      rules::Text("id", 40, TextForm::kSourceId).Needed(),
      rules::Text("title", 160).Needed(),
      rules::Text("locator", 300).Needed(),
      rules::Text("read", 0, TextForm::kDay).Needed(),
      rules::Choice("grade", "A B C D").Needed(),
  };
  static constexpr FieldRule kSources = rules::Rows("sources", kSource).Items(1);
  if (!CheckField(bundle, kSources, names)) return;
  ForEachRow(bundle, "sources", [&](const ObjectReader& row) {
    CatalogSource source;
    source.id = row.Find("id")->text;
    source.title = row.Find("title")->text;
    source.locator = row.Find("locator")->text;
    source.read = row.Find("read")->text;
    source.grade = row.Find("grade")->text;
    catalog.sources.push_back(std::move(source));
  });
  std::sort(catalog.sources.begin(), catalog.sources.end(),
            [](const CatalogSource& a, const CatalogSource& b) { return a.id < b.id; });
}

void CheckPurposes(const ObjectReader& bundle, const KnownNames& names) {
  static constexpr FieldRule kPurpose[] = {rules::Id(), rules::Text("en", 80).Needed(), rules::Text("nl", 80).Needed()};
  static constexpr FieldRule kPurposes = rules::Rows("purposes", kPurpose).Items(1);
  CheckField(bundle, kPurposes, names);
}

}  // namespace tunefit
