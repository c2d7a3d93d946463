#pragma once

#include <string>

#include "core/codec/catalog.h"

namespace tunefit::validation {

/// Prints live bytes of every modelled run beside what was measured, a JSON row a line, for fit_overheads.py.
/// The program's exit code: 0.
int Dump(const std::string& path, const Catalog& catalog);

}  // namespace tunefit::validation
