#include "core/codec/api.h"

#include <nlohmann/json.hpp>

namespace tunefit {
namespace {

using Json = nlohmann::json;

std::string Text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string Init(std::string_view catalog) {
  const bool valid = Json::accept(catalog);
  return Text({{"status", valid ? "ok" : "invalid"}, {"issues", Json::array()}});
}

std::string Estimate(std::string_view request) {
  const Json issue = {{"code", "not_modelled"},
                      {"field", ""},
                      {"severity", "error"},
                      {"message", "Nothing is modelled yet."},
                      {"values", {{"bytes", request.size()}}}};
  return Text({{"version", 1}, {"status", "invalid"}, {"issues", {issue}}, {"pi", 3.141592653589793}});
}

std::string Describe() { return Text({{"version", "0.1.0"}}); }

}  // namespace tunefit
