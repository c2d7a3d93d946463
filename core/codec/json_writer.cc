#include "core/codec/json_writer.h"

#include <array>
#include <charconv>

#include "core/codec/words.h"

namespace tunefit {

void AppendJsonText(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, start, i - start);
    start = i + 1;
    out += '\\';
    if (c == '"' || c == '\\') {
      out += static_cast<char>(c);
    } else {
      out += "u00";
      out += kHex[c >> 4U];
      out += kHex[c & 15U];
    }
  }
  out.append(text, start, text.size() - start);
  out += '"';
}

void AppendWords(std::string& out, const std::vector<Word>& words) {
  out += '[';
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonText(out, words[i]);
  }
  out += ']';
}

void AppendTargets(std::string& out, const Targets& targets) {
  if (targets.all_linear) {
    out += "\"all-linear\"";
  } else {
    AppendWords(out, targets.modules);
  }
}

void AppendValue(std::string& out, const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kNull:
      out += "null";
      break;
    case JsonKind::kFlag:
      out += value.flag ? "true" : "false";
      break;
    case JsonKind::kInteger:
      out += std::to_string(value.integer);
      break;
    case JsonKind::kNumber:
      AppendNumber(out, value.number);
      break;
    case JsonKind::kText:
      AppendJsonText(out, value.text);
      break;
    case JsonKind::kList:
      out += '[';
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (i > 0) out += ',';
        AppendValue(out, value.items[i]);
      }
      out += ']';
      break;
    case JsonKind::kObject:
      out += '{';
      for (std::size_t i = 0; i < value.members.size(); ++i) {
        if (i > 0) out += ',';
        AppendJsonText(out, value.members[i].key);
        out += ':';
        AppendValue(out, value.members[i].value);
      }
      out += '}';
      break;
  }
}

void JsonWriter::Separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

void JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  first_ = true;
}

void JsonWriter::Close(char bracket) {
  text_ += bracket;
  first_ = false;
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  text_ += '"';
  text_ += key;
  text_ += "\":";
  first_ = true;
}

void JsonWriter::Text(std::string_view text) {
  Separate();
  AppendJsonText(text_, text);
}

void JsonWriter::Number(double number) {
  Separate();
  AppendNumber(text_, number);
}

void JsonWriter::Count(std::int64_t count) {
  std::array<char, 24> buffer;
  Separate();
  text_.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), count).ptr);
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  text_ += json;
}

void JsonWriter::Text(std::string_view key, std::string_view text) {
  Key(key);
  Text(text);
}

void JsonWriter::TextOrNull(std::string_view key, std::string_view text) {
  Key(key);
  if (text.empty()) {
    Null();
  } else {
    Text(text);
  }
}

void JsonWriter::Number(std::string_view key, double number) {
  Key(key);
  Number(number);
}

void JsonWriter::Count(std::string_view key, std::int64_t count) {
  Key(key);
  Count(count);
}

void JsonWriter::CountOrNull(std::string_view key, std::int64_t count) {
  Key(key);
  if (count == 0) {
    Null();
  } else {
    Count(count);
  }
}

void JsonWriter::Flag(std::string_view key, bool flag) {
  Key(key);
  Flag(flag);
}

void JsonWriter::Null(std::string_view key) {
  Key(key);
  Null();
}

}  // namespace tunefit
