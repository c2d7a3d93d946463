#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/codec/json_value.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

/// Takes the parser's events and builds the tree; knows where it is when something is wrong. nlohmann's parser keeps
/// its own stack, so depth costs no machine stack here either.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  TreeBuilder(std::string_view text, std::size_t most_values, JsonValue& root, Issues& issues)
      : text_(text), most_values_(most_values), root_(root), issues_(issues) {}

  bool null() override { return Add({}); }
  bool boolean(bool value) override {
    JsonValue flag;
    flag.kind = JsonKind::kFlag;
    flag.flag = value;
    return Add(std::move(flag));
  }
  bool number_integer(number_integer_t value) override {
    JsonValue number;
    number.kind = JsonKind::kInteger;
    number.integer = value;
    number.number = static_cast<double>(value);
    return Add(std::move(number));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<number_integer_t>::max())) {
      return number_float(static_cast<double>(value), {});
    }
    return number_integer(static_cast<number_integer_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*written*/) override {
    JsonValue number;
    number.kind = JsonKind::kNumber;
    number.number = value;
    return Add(std::move(number));
  }
  bool string(string_t& value) override {
    JsonValue text;
    text.kind = JsonKind::kText;
    text.text = std::move(value);
    return Add(std::move(text));
  }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*elements*/) override { return Open(JsonKind::kObject); }
  bool start_array(std::size_t /*elements*/) override { return Open(JsonKind::kList); }
  bool key(string_t& name) override {
    JsonMember& member = open_.back()->members.emplace_back();
    member.key = std::move(name);
    return true;
  }
  bool end_object() override {
    SortMembers(open_.back()->members);
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const Json::exception& fault) override;

 private:
  JsonValue& Place(JsonValue&& value) {
    if (open_.empty()) return root_ = std::move(value);
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonKind::kObject) return parent.members.back().value = std::move(value);
    return parent.items.emplace_back(std::move(value));
  }
  bool Add(JsonValue&& value) {
    Place(std::move(value));
    return CountValue();
  }
  bool CountValue();
  bool Open(JsonKind kind);
  void SortMembers(std::vector<JsonMember>& members);
  std::string PathOf(std::size_t levels) const;
  std::string ErrorCode(std::size_t position, const Json::exception& fault) const;

  std::string_view text_;
  std::size_t most_values_;
  std::size_t values_ = 0;
  JsonValue& root_;
  Issues& issues_;
  std::vector<JsonValue*>
      open_;  ///< from the root to the innermost; nothing is added to a parent while a child is open
};

bool TreeBuilder::Open(JsonKind kind) {
  if (open_.size() == kDepthLimit) {
    const std::string limit = std::to_string(kDepthLimit);
    AddIssue(issues_, "too_deep", root_.kind == JsonKind::kObject ? PathOf(1) : std::string(),
             "The text nests more than " + limit + " objects and lists inside one another.", {{"high", limit}});
    return false;
  }
  JsonValue value;
  value.kind = kind;
  open_.push_back(&Place(std::move(value)));
  return CountValue();
}

bool TreeBuilder::CountValue() {
  if (++values_ <= most_values_) return true;
  const std::string high = std::to_string(most_values_);
  AddIssue(issues_, "too_many_values", "", Join({"The text holds more than ", high, " values."}), {{"high", high}});
  return false;
}

/// The dotted path through the outermost `levels` open objects and lists.
std::string TreeBuilder::PathOf(std::size_t levels) const {
  std::string path;
  for (std::size_t i = 0; i < levels && i < open_.size(); ++i) {
    const JsonValue& parent = *open_[i];
    if (parent.kind == JsonKind::kObject && parent.members.empty()) break;
    if (!path.empty()) path += '.';
    const bool has_open_child = i + 1 < open_.size();
    path += parent.kind == JsonKind::kObject ? Shortened(parent.members.back().key)
                                             : std::to_string(parent.items.size() - (has_open_child ? 1 : 0));
  }
  return path;
}

void TreeBuilder::SortMembers(std::vector<JsonMember>& members) {
  const auto by_key = [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; };
  if (!std::is_sorted(members.begin(), members.end(), by_key)) {
    // Numbers are sorted and each member is moved once, as it is large. Heap sort: the smallest code that is never
    // quadratic.
    std::vector<std::uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0U);
    const auto by_key_at = [&](std::uint32_t a, std::uint32_t b) { return members[a].key < members[b].key; };
    std::make_heap(order.begin(), order.end(), by_key_at);
    std::sort_heap(order.begin(), order.end(), by_key_at);
    std::vector<JsonMember> sorted;
    sorted.reserve(members.size());
    for (const std::uint32_t at : order) sorted.push_back(std::move(members[at]));
    members = std::move(sorted);
  }
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i].key != members[i - 1].key) continue;
    if (i >= 2 && members[i].key == members[i - 2].key) continue;  // said already
    const std::string name = Shortened(members[i].key);
    const std::string parent = PathOf(open_.size() - 1);
    const std::string field = parent.empty() ? name : Join({parent, ".", name});
    AddIssue(issues_, "duplicate_key", field, field + " is given more than once.", {{"value", name}});
  }
}

std::string TreeBuilder::ErrorCode(std::size_t position, const Json::exception& fault) const {
  const std::string_view reason = fault.what();
  if (fault.id == 406) return "number_not_finite";
  if (reason.find("UTF-8") != reason.npos || reason.find("surrogate") != reason.npos) return "invalid_utf8";
  // The lexer stops at the first character that fits no value: the N of NaN, the I of -Infinity, the a of nan.
  for (const std::size_t back : {std::size_t{1}, std::size_t{2}}) {
    const std::string_view rest = text_.substr(std::min(text_.size(), std::max(position, back) - back));
    for (const std::string_view literal : {"NaN", "Infinity", "nan", "inf"}) {
      if (StartsWith(rest, literal)) return "number_not_finite";
    }
  }
  return "not_json";
}

bool TreeBuilder::parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& fault) {
  const std::string_view before = text_.substr(0, position);
  const std::string line = std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string column = std::to_string(position - std::min(position, line_start));
  const std::string place = Join({"line ", line, ", character ", column});
  const std::string code = ErrorCode(position, fault);
  const std::string message =
      code == "number_not_finite"
          ? Join({"There is a number at ", place, " that is not finite or too large to be read."})
      : code == "invalid_utf8" ? Join({"The text is not valid Unicode at ", place, "."})
                               : Join({"The text is not valid JSON at ", place, "."});
  AddIssue(issues_, code, PathOf(kDepthLimit), message, {{"line", line}, {"column", column}});
  return false;
}

}  // namespace

JsonValue ParseJson(std::string_view text, TextLimits limits, Issues& issues) {
  JsonValue root;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (text.size() > limits.bytes) {
    const std::string limit = std::to_string(limits.bytes);
    AddIssue(issues, "text_too_long", "", Join({"The text is longer than ", limit, " bytes."}),
             {{"value", std::to_string(text.size())}, {"high", limit}});
  } else if (start == text.npos) {
    AddIssue(issues, "empty_text", "", "The text is empty.", {});
  } else if (text.find('\0') != text.npos) {  // to the parser that is where the text ends
    AddIssue(issues, "not_json", "", "The text is not valid JSON: it holds a null character.", {});
  } else {
    TreeBuilder builder(text, limits.values, root, issues);
    Json::sax_parse(text.begin(), text.end(), &builder);
  }
  return root;
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  constexpr std::ptrdiff_t kFew = 16;  // lengths alone tell most keys apart, which an order cannot
  const auto is_key = [&](const JsonMember& member) { return member.key == key; };
  const auto below = [](const JsonMember& member, std::string_view name) { return member.key < name; };
  const auto found = std::ssize(members) <= kFew ? std::find_if(members.begin(), members.end(), is_key)
                                                 : std::lower_bound(members.begin(), members.end(), key, below);
  return found != members.end() && found->key == key ? &found->value : nullptr;
}

}  // namespace tunefit
