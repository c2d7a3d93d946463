#pragma once

#include <string>

#include "core/model/architecture.h"

namespace tunefit::test {

/// The architecture of a catalog model by its id. Ends the program where the catalog lacks it.
const Architecture& PublishedModel(const std::string& id);

}  // namespace tunefit::test
