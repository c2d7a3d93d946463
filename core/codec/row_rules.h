#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "core/codec/json_reader.h"
#include "core/codec/text_forms.h"

// What the fields of a row must be, as data, and the code that checks rows against it. catalog/schema says the same;
// tests/unit/codec/schema_test.cc holds one against the other.

namespace tunefit {

/// Lists whose rows others name.
enum class Table : std::uint8_t { kNone, kSources, kGpus, kArchitectures, kPurposes, kServers, kProviders };

/// The names of each list's rows. Views: the texts must outlive it.
class KnownNames {
 public:
  /// Of every list, in any order; one that stands twice counts once.
  void Set(Table table, std::vector<std::string_view> names);
  bool Has(Table table, std::string_view name) const;
  std::span<const std::string_view> Of(Table table) const { return names_[static_cast<std::size_t>(table)]; }

 private:
  std::array<std::vector<std::string_view>, 7> names_;  ///< each sorted
};

enum class FieldKind : std::uint8_t {
  kOther,  ///< known, and checked by whoever reads it
  kNumber,
  kCount,  ///< a whole number
  kFlag,
  kText,
  kTexts,    ///< a list of texts, each once
  kObject,   ///< of `fields`
  kRows,     ///< a list of objects of `fields`; where the first of these is `id`, no two rows have one
  kSources,  ///< field of the row to ids of sources; `row` stands for all that are not named
};

struct FieldRule {
  std::string_view key;
  FieldKind kind = FieldKind::kOther;
  bool needed = false;
  TextForm form = TextForm::kAny;
  Table names = Table::kNone;   ///< whose rows the texts name; an empty one, where the form has it, names none
  std::uint16_t least = 0;      ///< of items, or of an object's members
  std::uint16_t most = 0;       ///< of items; 0 for any number
  double low = 0, high = 0;     ///< of a number; `high` also of a text's characters, 0 for any number of them
  std::string_view words = {};  ///< the text, or the number, is one of these, divided by blanks
  std::span<const FieldRule> fields = {};

  bool is_number() const { return kind == FieldKind::kNumber || kind == FieldKind::kCount; }
  /// The same rule for a field that must be there.
  constexpr FieldRule Needed() const {
    FieldRule rule = *this;
    rule.needed = true;
    return rule;
  }
  /// The same rule with so many items.
  constexpr FieldRule Items(std::uint16_t fewest, std::uint16_t maximum = 0) const {
    FieldRule rule = *this;
    rule.least = fewest;
    rule.most = maximum;
    return rule;
  }
};

using FieldRules = std::span<const FieldRule>;

/// Words that are divided by blanks.
std::vector<std::string_view> WordsOf(std::string_view words);

/// Checks all members of an object. A rule without a kind lets its key be there. False where a fault was found, or so
/// many were before that no more are kept: `missing_field`, `unknown_field`, what ObjectReader's getters find,
/// `malformed`, `empty_list`, `too_long`, `duplicate_key` of a list's texts, `duplicate_id` of rows, `unknown_source`,
/// `unknown_gpu`, `unknown_server`, and `unknown_value` of the names that other lists give.
bool CheckFields(const ObjectReader& object, FieldRules rules, const KnownNames& names);

/// The same for one member.
bool CheckField(const ObjectReader& object, const FieldRule& rule, const KnownNames& names);

/// The texts under `key` of the objects of a list, for KnownNames. What is none is left out.
std::vector<std::string_view> TextsIn(const JsonValue* list, std::string_view key);

// How rules are written: rules::Number("psu_W", 100, 100000).Needed().
namespace rules {

constexpr FieldRule Number(std::string_view key, double low, double high) {
  return {.key = key, .kind = FieldKind::kNumber, .low = low, .high = high};
}
constexpr FieldRule Positive(std::string_view key, double high) {
  return Number(key, std::numeric_limits<double>::denorm_min(), high);
}
constexpr FieldRule Count(std::string_view key, double low, double high) {
  return {.key = key, .kind = FieldKind::kCount, .low = low, .high = high};
}
/// One of these numbers.
constexpr FieldRule OneOf(std::string_view key, std::string_view numbers) {
  return {.key = key, .kind = FieldKind::kCount, .words = numbers};
}
constexpr FieldRule Flag(std::string_view key) { return {.key = key, .kind = FieldKind::kFlag}; }
constexpr FieldRule Text(std::string_view key, double longest, TextForm form = TextForm::kFilled) {
  return {.key = key, .kind = FieldKind::kText, .form = form, .high = longest};
}
constexpr FieldRule Choice(std::string_view key, std::string_view words) {
  return {.key = key, .kind = FieldKind::kText, .words = words};
}
/// The name of a row of that list, by the id where rows have one.
constexpr FieldRule Name(std::string_view key, Table of) {
  return {.key = key, .kind = FieldKind::kText, .form = TextForm::kId, .names = of, .high = 64};
}
constexpr FieldRule Id() { return Name("id", Table::kNone).Needed(); }
/// A list of texts that are each as the rule says.
constexpr FieldRule Texts(FieldRule each) {
  each.kind = FieldKind::kTexts;
  return each;
}
/// The ids of the sources that a row's numbers stand in.
constexpr FieldRule SourceIds(std::string_view key = "sources") {
  const FieldRule each = {.key = key, .form = TextForm::kSourceId, .names = Table::kSources};
  return Texts(each).Items(1).Needed();
}
constexpr FieldRule Sources() { return FieldRule{.key = "sources", .kind = FieldKind::kSources}.Needed(); }
constexpr FieldRule Object(std::string_view key, FieldRules fields) {
  return {.key = key, .kind = FieldKind::kObject, .fields = fields};
}
constexpr FieldRule Rows(std::string_view key, FieldRules fields) {
  return {.key = key, .kind = FieldKind::kRows, .fields = fields};
}
/// The fields of both.
template <std::size_t kFirst, std::size_t kSecond>
constexpr auto Together(const std::array<FieldRule, kFirst>& first, const std::array<FieldRule, kSecond>& second) {
  std::array<FieldRule, kFirst + kSecond> together{};
  for (std::size_t i = 0; i < together.size(); ++i) together[i] = i < kFirst ? first[i] : second[i - kFirst];
  return together;
}

}  // namespace rules
}  // namespace tunefit
