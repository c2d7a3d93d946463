#include "core/codec/catalog_rows.h"

#include <algorithm>

#include "core/codec/words.h"

namespace tunefit {

std::string ReadText(const ObjectReader& row, std::string_view key, std::size_t longest) {
  row.Require(key);
  const std::string text(row.Text(key, longest).value_or(""));
  const JsonValue* value = row.Find(key);
  if (value != nullptr && value->kind == JsonKind::kText && value->text.empty()) {
    row.Fault("malformed", key, "is empty", {{"value", ""}});
  }
  return text;
}

std::string ReadId(const ObjectReader& row) {
  const std::string id = ReadText(row, "id", 64);
  const std::string_view fault = FormFault(id, TextForm::kId);
  if (!id.empty() && !fault.empty()) row.Fault("malformed", "id", fault, {{"value", id}});
  return id;
}

std::string ReadRelease(const ObjectReader& row) {
  std::string release = ReadText(row, "release", 10);
  const std::string_view fault = FormFault(release, TextForm::kDate);
  if (!release.empty() && !fault.empty()) row.Fault("malformed", "release", fault, {{"value", release}});
  return release;
}

std::vector<std::string> TextsOf(const ObjectReader& row, std::string_view key) {
  std::vector<std::string> texts;
  const JsonValue* list = row.Find(key);
  if (list == nullptr) return texts;
  for (const JsonValue& item : list->items) texts.push_back(item.text);
  return texts;
}

std::vector<std::string> ReadSourceIds(const ObjectReader& row, const KnownNames& names) {
  CheckField(row, rules::Sources(), names);
  std::vector<std::string> ids;
  const JsonValue* sources = row.Find("sources");
  if (sources == nullptr) return ids;
  for (const JsonMember& member : sources->members) {
    for (const JsonValue& id : member.value.items) ids.push_back(id.text);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void NeedSource(const ObjectReader& row, std::string_view path) {
  const JsonValue* sources = row.Find("sources");
  if (sources == nullptr || sources->kind != JsonKind::kObject || sources->Find("row") != nullptr) return;
  for (std::string_view at = path; !at.empty(); at = at.substr(0, at.rfind('.') == at.npos ? 0 : at.rfind('.'))) {
    if (sources->Find(at) != nullptr) return;
  }
  if (path.substr(0, 5) == "link_" && sources->Find("link") != nullptr) return;
  row.Fault("unsourced", path, "has no source", {});
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

std::string ReadMeta(const ObjectReader& bundle) {
  static constexpr std::string_view kKnown[] = {"version", "date"};
  const ObjectReader meta(bundle, "meta");
  meta.RefuseUnknown(kKnown);
  meta.Require("version");
  if (const auto version = meta.Count("version", 0, 1000000); version && *version != 1) {
    const std::string value = std::to_string(*version);
    meta.Fault("unknown_value", "version", Join({"must be 1, not ", value}), {{"value", value}, {"known", "1"}});
  }
  std::string date = ReadText(meta, "date", 10);
  if (!date.empty() && !IsDate(date, true)) {
    meta.Fault("malformed", "date", "must be a day as \"2026-01-31\"", {{"value", date}});
  }
  return date;
}

void ReadSources(const ObjectReader& bundle, Catalog& catalog) {
  static constexpr std::string_view kKnown[] = {"id", "title", "locator", "read", "grade"};
  static constexpr std::string_view kGrades[] = {"A", "B", "C", "D"};
  ForEachRow(bundle, "sources", [&](const ObjectReader& row) {
    row.RefuseUnknown(kKnown);
    CatalogSource source;
    source.id = ReadId(row);
    source.title = ReadText(row, "title", 160);
    source.locator = ReadText(row, "locator", 300);
    source.read = ReadText(row, "read", 10);
    if (!source.read.empty() && !IsDate(source.read, true)) {
      row.Fault("malformed", "read", "must be a day as \"2026-01-31\"", {{"value", source.read}});
    }
    row.Require("grade");
    if (const auto grade = row.Choice("grade", kGrades)) source.grade = kGrades[*grade];
    RefuseSecond(row, catalog.sources, source.id, [](const CatalogSource& earlier) { return earlier.id; });
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
