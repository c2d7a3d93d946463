#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tunefit::test {

/// A text that is no request, and what is wrong with it: a row of tests/golden/bad_input.jsonl.
struct BadInput {
  std::string name;
  std::string text;
  nlohmann::json expected;  ///< [{"code", "field"}, ...]
};

/// The valid request, and the valid config inside one, that the rows damage.
struct BadInputBase {
  nlohmann::json request;
  nlohmann::json config;
};

/// Every row, with its text written out. `base`, where given, receives what the rows started from.
std::vector<BadInput> ReadBadInputs(const std::string& path, BadInputBase* base = nullptr);

}  // namespace tunefit::test
