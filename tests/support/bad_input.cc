#include "tests/support/bad_input.h"

#include "tests/support/files.h"

namespace tunefit::test {
namespace {

using Json = nlohmann::json;

/// The place at a dotted path. Fails the program where the row names one that is not there.
Json& At(Json& json, const std::string& path) {
  if (path.empty()) return json;
  std::string pointer = "/" + path;
  for (char& c : pointer) {
    if (c == '.') c = '/';
  }
  return json[Json::json_pointer(pointer)];
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string Repeated(const Json& rule) {
  std::string text = rule["prefix"].get<std::string>();
  for (int i = 0; i < rule["times"].get<int>(); ++i) text += rule["repeat"].get_ref<const std::string&>();
  return text + rule["suffix"].get<std::string>();
}

std::string TextOf(const Json& row, const Json& base, const Json& base_config) {
  if (row.contains("text")) return row["text"].get<std::string>();
  if (row.contains("bytes")) return Bytes(row["bytes"].get<std::string>());
  if (row.contains("generate")) return Repeated(row["generate"]);
  Json request = base;
  if (row.contains("config_set")) {
    Json config = base_config;
    config.update(row["config_set"]);
    for (const Json& key : row.value("drop", Json::array())) config.erase(key.get<std::string>());
    request["model"] = {{"config", config}};
  }
  for (const Json& key : row.value("drop_request", Json::array())) request.erase(key.get<std::string>());
  for (const Json& set : row.value("sets", Json::array())) At(request, set[0].get<std::string>()) = set[1];
  if (row.contains("set")) At(request, row["set"][0].get<std::string>()) = row["set"][1];
  if (row.contains("set_key")) {
    const Json& set = row["set_key"];
    At(request, set[0].get<std::string>())[set[1].get<std::string>()] = set[2];
  }
  if (!row.contains("set_text")) return request.dump();
  At(request, row["set_text"][0].get<std::string>()) = "@@";
  std::string text = request.dump();
  return text.replace(text.find("\"@@\""), 4, row["set_text"][1].get<std::string>());
}

}  // namespace

std::vector<BadInput> ReadBadInputs(const std::string& path, BadInputBase* base) {
  const std::vector<std::string> lines = ReadLines(path);
  const Json request = Json::parse(lines.at(0), nullptr, false)["base"];
  const Json config = Json::parse(lines.at(1), nullptr, false)["config"];
  if (base != nullptr) *base = {request, config};
  std::vector<BadInput> inputs;
  for (std::size_t i = 2; i < lines.size(); ++i) {
    const Json row = Json::parse(lines[i], nullptr, false);
    inputs.push_back({row["name"].get<std::string>(), TextOf(row, request, config), row["expected"]});
  }
  return inputs;
}

}  // namespace tunefit::test
