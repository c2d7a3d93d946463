#include "core/codec/text_forms.h"

#include <algorithm>
#include <iterator>

namespace tunefit {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsIdLetter(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z'); }
bool IsLetter(char c) { return IsIdLetter(c) || (c >= 'A' && c <= 'Z'); }
bool IsIdSign(char c) { return c == '.' || c == '_' || c == '-'; }

/// Not empty, and of these signs only.
bool IsOf(std::string_view text, std::string_view signs) {
  return !text.empty() && text.find_first_not_of(signs) == text.npos;
}

/// Signs of ASCII that stand in a web or mail address as they are.
bool IsAddress(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '<' || c == '>' || c == '"') return false;
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

bool IsId(std::string_view text) {
  char before = '-';
  for (const char c : text) {
    if (!IsIdLetter(c) && !(IsIdSign(c) && IsIdLetter(before))) return false;
    before = c;
  }
  return IsIdLetter(before);
}

bool IsSourceId(std::string_view text) { return IsOf(text, "0123456789_abcdefghijklmnopqrstuvwxyz"); }

bool IsColour(std::string_view text) {
  return text.size() == 7 && text.front() == '#' && IsOf(text.substr(1), kHexDigits);
}

bool IsUrl(std::string_view text) {
  constexpr std::string_view kStart = "https://";
  return text.size() > kStart.size() && text.substr(0, kStart.size()) == kStart && IsAddress(text);
}

bool IsEmail(std::string_view text) {
  const std::size_t at = text.find('@');
  if (at == text.npos || at == 0 || at + 1 == text.size()) return false;
  return at == text.rfind('@') && IsAddress(text);
}

bool IsPhone(std::string_view text) {
  const std::string_view digits = "0123456789";
  return text.find_first_of(digits) != text.npos &&
         IsOf(text.substr(text.substr(0, 1) == "+" ? 1 : 0), "0123456789 ()-");
}

bool IsPicture(std::string_view text) {
  if (text.size() < 5 || !IsLetter(text.front())) return false;
  const std::string_view end = text.substr(text.size() - 4);
  if (end != ".svg" && end != ".png") return false;
  for (const char c : text) {
    if (!IsLetter(c) && !IsIdSign(c) && c != '/') return false;
  }
  return true;
}

bool IsRedundancy(std::string_view text) {
  return text == "none" || text == "busbar" || text == "shelves" || SuppliesOf(text);
}

bool IsHubName(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || slash == 0 || slash + 1 == text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i != slash && !IsLetter(text[i]) && !IsIdSign(text[i])) return false;
  }
  return true;
}

bool IsCapability(std::string_view text) {
  if (text.substr(0, 3) == "gfx") return text.size() >= 6 && text.size() <= 8 && IsOf(text.substr(3), kHexDigits);
  const std::size_t dot = text.find('.');
  return (dot == 1 || dot == 2) && dot + 2 == text.size() && IsOf(text.substr(0, dot), kDigits) && IsDigit(text.back());
}

bool IsFormulaId(std::string_view text) {
  const std::size_t dash = text.find('-');
  if ((dash != 3 && dash != 4) || text.size() > dash + 4 || !IsOf(text.substr(dash + 1), kDigits)) return false;
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(dash),
                     [](char c) { return c >= 'A' && c <= 'Z'; });
}

struct Form {
  std::string_view wanted;
  bool (*has)(std::string_view text);
};

/// In the order of TextForm.
constexpr Form kForms[] = {
    {"", [](std::string_view /*text*/) { return true; }},
    {"must not be empty", [](std::string_view text) { return !text.empty(); }},
    {"must be lower case letters, digits and single signs between them", IsId},
    {"must be lower case letters, digits and _", IsSourceId},
    {"must be a year, month or day as \"2026-01-31\"", [](std::string_view text) { return IsDate(text, false); }},
    {"must be a month or day as \"2026-01-31\"",
     [](std::string_view text) { return text.size() > 4 && IsDate(text, false); }},
    {"must be a colour as \"#1f6feb\"", IsColour},
    {"must be an address that begins with https://", IsUrl},
    {"must be an e-mail address", IsEmail},
    {"must be a telephone number", IsPhone},
    {"must be the name of an svg or png file", IsPicture},
    {"must be as \"3+2\", or none, busbar or shelves", IsRedundancy},
    {"must be a day as \"2026-01-31\"", [](std::string_view text) { return IsDate(text, true); }},
    {"must be a month as \"2026-01\"", [](std::string_view text) { return text.size() == 7 && IsDate(text, false); }},
    {"must be a name of the hub, \"owner/name\"", IsHubName},
    {"must be as \"8.9\", or as \"gfx942\" for cards of AMD", IsCapability},
    {"must be as \"MEM-20\"", IsFormulaId},
};
static_assert(std::size(kForms) == static_cast<std::size_t>(TextForm::kFormulaId) + 1);

}  // namespace

std::string_view FormFault(std::string_view text, TextForm form) {
  const Form& known = kForms[static_cast<std::size_t>(form)];
  return known.has(text) ? std::string_view() : known.wanted;
}

bool IsDate(std::string_view text, bool day_needed) {
  const std::size_t size = text.size();
  if (size != 10 && (day_needed || (size != 4 && size != 7))) return false;
  if (!Digits(text, 0, 4, 0, 9999)) return false;
  if (size >= 7 && (text[4] != '-' || !Digits(text, 5, 7, 1, 12))) return false;
  return size < 10 || (text[7] == '-' && Digits(text, 8, 10, 1, 31));
}

bool IsSourcePath(std::string_view text) {
  bool is_inner = false;
  char before = '.';
  for (const char c : text) {
    if (c == '.' ? before == '.' : !IsLetter(c) && c != '_' && !(c == '*' && is_inner)) return false;
    is_inner = is_inner || c == '.';
    before = c;
  }
  return before != '.';
}

std::optional<int> SuppliesOf(std::string_view text) {
  const std::size_t plus = std::min(text.find('+'), text.size());
  const std::string_view needed = text.substr(0, plus);
  const std::string_view spare = text.substr(std::min(plus + 1, text.size()));
  if (!IsOf(needed, kDigits) || !IsOf(spare, kDigits)) return {};
  const auto count = [](std::string_view digits) {
    int number = 0;
    for (const char c : digits.substr(0, 4)) number = number * 10 + (c - '0');  // no machine has more digits
    return number;
  };
  return count(needed) + count(spare);
}

std::size_t CharactersOf(std::string_view text) {
  std::size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0U) == 0x80U ? 0 : 1;
  return characters;
}

}  // namespace tunefit
