#pragma once

#include <string>
#include <vector>

namespace tunefit {

/// A value that the request left open, and where the value taken came from.
struct Assumption {
  std::string field;   ///< dotted path in the request
  std::string value;   ///< the value taken, as JSON text
  const char* reason;  ///< `stack_default`, `model_config`, `class_default`, `core_default`
};

using Assumptions = std::vector<Assumption>;

}  // namespace tunefit
