#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tunefit {

enum class Severity { kNote, kWarning, kError };

/// One fault or remark about the user's input. All of them are collected, not only the first.
struct Issue {
  std::string code;     ///< stable machine name, e.g. "unknown_model"; the page translates it
  std::string field;    ///< dotted path in the request; empty where the whole text is at fault
  std::string message;  ///< English sentence, complete on its own
  Severity severity = Severity::kError;
  /// What the message names, as text, for translations: {"value", "high", ...}.
  std::vector<std::pair<std::string, std::string>> values;
};

using Issues = std::vector<Issue>;

/// True when any of the issues is an error: the input gives no answer.
inline bool HasError(const Issues& issues) {
  for (const Issue& issue : issues) {
    if (issue.severity == Severity::kError) return true;
  }
  return false;
}

}  // namespace tunefit
