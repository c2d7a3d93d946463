#include "tests/support/small_catalogs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/support/files.h"

namespace tunefit::test {

using Json = nlohmann::json;

Json ReadSmallCatalog(const std::string& name) {
  return Json::parse(ReadFile(TUNEFIT_SOURCE_DIR "/tests/catalog/" + name), nullptr, false);
}

namespace {

/// The rows of architectures that the small catalog's GPUs have, and the one for any.
Json RowsOfItsGpus(const Json& rows, const Json& catalog) {
  std::set<Json> architectures = {""};
  for (const Json& gpu : catalog.value("gpus", Json::array())) {
    if (gpu.is_object()) architectures.insert(gpu.value("architecture", Json()));
  }
  Json kept = Json::array();
  for (const Json& row : rows) {
    if (architectures.count(row["architecture"]) > 0) kept.push_back(row);
  }
  return kept;
}

}  // namespace

std::string Completed(Json catalog) {
  static const Json whole = Json::parse(ReadFile(TUNEFIT_CATALOG), nullptr, false);
  for (const auto& [constants, list] : {std::pair{"overheads", "contexts"}, {"efficiencies", "architectures"}}) {
    if (catalog.contains(constants)) continue;
    catalog[constants] = whole[constants];
    catalog[constants][list] = RowsOfItsGpus(whole[constants][list], catalog);
  }
  const Json sources = catalog.value("sources", Json::array());
  const Json first = sources.is_array() && !sources.empty() ? sources[0].value("id", Json("table")) : Json("table");
  if (!catalog.contains("outside_steps")) {
    catalog["outside_steps"] = whole["outside_steps"];
    for (auto& [name, figure] : catalog["outside_steps"].items()) figure["sources"] = Json::array({first});
  }
  if (catalog.contains("formulas")) return catalog.dump();
  catalog["formulas"] = whole["formulas"];
  for (Json& formula : catalog["formulas"]) formula["sources"] = Json::array({first});
  return catalog.dump();
}

std::string Dotted(std::string path) {
  for (std::size_t at = path.find('['); at != std::string::npos; at = path.find('[')) {
    path[at] = '.';
    path.erase(path.find(']', at), 1);
  }
  return path;
}

bool HasIssue(const Issues& issues, const std::string& code, const std::string& field) {
  return std::any_of(issues.begin(), issues.end(),
                     [&](const Issue& issue) { return issue.code == code && issue.field == field; });
}

std::string Listed(const Issues& issues) {
  std::string text;
  for (const Issue& issue : issues) text += issue.code + " " + issue.field + ": " + issue.message + "\n";
  return text;
}

}  // namespace tunefit::test
