#pragma once

#include <string>
#include <vector>

namespace tunefit {

/// A value that the request left open, and where the value taken came from.
struct Assumption {
  std::string field;   ///< dotted path in the request
  std::string value;   ///< the value taken, as JSON text
  const char* reason;  ///< as wasm/tunefit.d.ts lists them
};

using Assumptions = std::vector<Assumption>;

}  // namespace tunefit
