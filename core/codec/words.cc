#include "core/codec/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace tunefit {
namespace {

constexpr std::size_t kShownBytes = 80;
/// Every whole number up to here is a double of its own.
constexpr double kExactWhole = 9007199254740992.0;

/// Edits (insert, delete, replace) that turn one word into the other, or anything over `limit` when there are more.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) return limit + 1;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

void AppendNumber(std::string& text, double number) {
  std::array<char, 64> buffer;
  char* const begin = buffer.data();
  if (std::floor(number) == number && std::fabs(number) <= kExactWhole) {
    text.append(begin, std::to_chars(begin, begin + buffer.size(), static_cast<std::int64_t>(number)).ptr);
    return;
  }
  text.append(begin, nlohmann::detail::to_chars(begin, begin + buffer.size(), number));
}

std::string NumberText(double number) {
  std::string text;
  AppendNumber(text, number);
  return text;
}

std::string Alternatives(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kShownBytes) return {};
  const std::size_t limit = word.size() < 5 ? 1 : 2;
  std::string_view nearest;
  std::size_t fewest = limit + 1;
  for (const std::string_view candidate : known) {
    const std::size_t edits = EditDistance(word, candidate, limit);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string Join(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace tunefit
