#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace tunefit {

/// What somebody wrote, cut to a length that a message can hold (80 bytes, never inside a character).
std::string Shortened(std::string_view text);

/// A number as JSON writes it: whole numbers that a double holds exactly without fraction or exponent, others by the
/// shortest text that reads back as the same number. Needs a finite number.
std::string NumberText(double number);
void AppendNumber(std::string& text, double number);

/// "none, full or selective".
std::string Alternatives(std::span<const std::string_view> words);

/// The known word nearest to `word`, or empty where none is within two edits (one for short words).
std::string_view Nearest(std::string_view word, std::span<const std::string_view> known);

/// ASCII letters in lower case; the rest as it is.
std::string LowerCase(std::string_view text);

/// "number 7" style joins without a chain of pluses.
std::string Join(std::initializer_list<std::string_view> parts);

}  // namespace tunefit
