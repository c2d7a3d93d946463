#pragma once

#include <string>
#include <vector>

#include "tests/validation/findings.h"

namespace tunefit::validation {

/// A promise of DESIGN.md section 7 or of the issue, beside what the rows say.
struct Bar {
  std::string id;    ///< "allocated median", "verdicts tight": as thresholds.json names those that must hold
  double value = 0;  ///< a share
  double limit = 0;
  bool at_least = false;  ///< the value must reach the limit, not stay under it

  bool met() const { return at_least ? value >= limit : value <= limit; }
};

std::vector<Bar> CheckBars(const AllRows& rows, const Findings& findings);

}  // namespace tunefit::validation
