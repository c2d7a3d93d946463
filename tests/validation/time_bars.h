#pragma once

#include <vector>

#include "tests/validation/bars.h"
#include "tests/validation/fit_time.h"

namespace tunefit::validation {

/// The promises on time, over rows of quality A and B with a speed, under the catalog's constants.
std::vector<Bar> CheckTimeBars(const std::vector<TimedRow>& rows, const Efficiencies& efficiencies);

}  // namespace tunefit::validation
