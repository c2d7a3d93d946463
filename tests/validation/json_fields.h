#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tunefit::validation {

/// The text under the key; `otherwise` where there is none, or something else.
inline std::string TextOr(const nlohmann::json& object, const char* key, const std::string& otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// The same of a number.
inline double NumberOr(const nlohmann::json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

}  // namespace tunefit::validation
