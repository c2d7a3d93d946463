#pragma once

#include <vector>

#include "tests/validation/bars.h"
#include "tests/validation/time_findings.h"

namespace tunefit::validation {

/// The promises on time.
std::vector<Bar> CheckTimeBars(const TimeFindings& findings);

}  // namespace tunefit::validation
