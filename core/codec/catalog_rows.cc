#include "core/codec/catalog_rows.h"

#include <algorithm>

#include "core/codec/words.h"

namespace tunefit {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsIdLetter(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }
bool IsIdSign(char c) { return c == '.' || c == '_' || c == '-'; }

/// ^[a-z0-9]+([._-][a-z0-9]+)*$
bool IsId(std::string_view text) {
  if (text.empty() || text.size() > 64 || !IsIdLetter(text.front()) || !IsIdLetter(text.back())) return false;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (!IsIdLetter(text[i]) && !(IsIdSign(text[i]) && IsIdLetter(text[i - 1]))) return false;
  }
  return true;
}

bool Digits(std::string_view text, std::size_t begin, std::size_t end, int low, int high) {
  int number = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!IsDigit(text[i])) return false;
    number = number * 10 + (text[i] - '0');
  }
  return number >= low && number <= high;
}

}  // namespace

bool IsDate(std::string_view text, bool day_needed) {
  const std::size_t size = text.size();
  if (size != 10 && (day_needed || (size != 4 && size != 7))) return false;
  if (!Digits(text, 0, 4, 0, 9999)) return false;
  if (size >= 7 && (text[4] != '-' || !Digits(text, 5, 7, 1, 12))) return false;
  return size < 10 || (text[7] == '-' && Digits(text, 8, 10, 1, 31));
}

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
  if (!id.empty() && !IsId(id)) {
    row.Fault("malformed", "id", "must be lower case letters, digits and single signs between them", {{"value", id}});
  }
  return id;
}

std::string ReadRelease(const ObjectReader& row) {
  std::string release = ReadText(row, "release", 10);
  if (!release.empty() && !IsDate(release, false)) {
    row.Fault("malformed", "release", "must be a year, month or day as \"2026-01-31\"", {{"value", release}});
  }
  return release;
}

RowSources::RowSources(const ObjectReader& row, const Catalog& catalog) : row_(row) {
  row.Require("sources");
  sources_ = row.Object("sources");
  if (sources_ == nullptr) return;
  const ObjectReader sources(row, "sources");
  for (const JsonMember& member : sources_->members) {
    for (const std::string_view id : sources.Texts(member.key).value_or(std::vector<std::string_view>())) {
      ids_.emplace_back(id);
      if (catalog.FindSource(id) != nullptr) continue;
      const std::string shown = Shortened(id);
      sources.Fault("unknown_source", member.key, Join({"names \"", shown, "\", which is no source of the catalog"}),
                    {{"value", shown}});
    }
  }
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
}

bool RowSources::Covers(std::string_view path) const {
  if (sources_ == nullptr) return true;  // said already
  for (std::string_view at = path; !at.empty(); at = at.substr(0, at.rfind('.') == at.npos ? 0 : at.rfind('.'))) {
    if (sources_->Find(at) != nullptr) return true;
  }
  return path.substr(0, 5) == "link_" && sources_->Find("link") != nullptr;
}

void RowSources::Need(std::string_view path) const {
  if (!Covers(path)) row_.Fault("unsourced", path, "has no source", {});
}

void ReadMeta(const ObjectReader& bundle, Catalog& catalog) {
  static constexpr std::string_view kKnown[] = {"version", "date"};
  const ObjectReader meta(bundle, "meta");
  meta.RefuseUnknown(kKnown);
  meta.Require("version");
  if (const auto version = meta.Count("version", 0, 1000000); version && *version != 1) {
    const std::string value = std::to_string(*version);
    meta.Fault("unknown_value", "version", Join({"must be 1, not ", value}), {{"value", value}, {"known", "1"}});
  }
  catalog.date = ReadText(meta, "date", 10);
  if (!catalog.date.empty() && !IsDate(catalog.date, true)) {
    meta.Fault("malformed", "date", "must be a day as \"2026-01-31\"", {{"value", catalog.date}});
  }
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

}  // namespace tunefit
