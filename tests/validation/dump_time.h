#pragma once

#include <string>

#include "core/codec/catalog.h"

namespace tunefit::validation {

/// Prints what a step of every modelled run computes beside how long it took, a JSON row a line, for fit_time.py. The
/// program's exit code: 0.
int DumpTime(const std::string& path, const Catalog& catalog);

}  // namespace tunefit::validation
