#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/model/issue.h"

namespace tunefit::test {

/// A file of tests/catalog, "minimal.json".
nlohmann::json ReadSmallCatalog(const std::string& name);

/// The text of a first part. The small ones are about rows: constants and formulas that one leaves out are the bundled
/// catalog's, of the cards that it has and with a source of its own.
std::string Completed(nlohmann::json catalog);

/// `gpus[0].memory_GiB`, as tests/catalog writes it, is `gpus.0.memory_GiB` in an issue.
std::string Dotted(std::string path);

bool HasIssue(const Issues& issues, const std::string& code, const std::string& field);

/// The issues, one a line, for a message.
std::string Listed(const Issues& issues);

}  // namespace tunefit::test
