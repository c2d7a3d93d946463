#pragma once

#include "core/memory/estimate.h"

namespace tunefit {

/// What a parameter of the traced step costs in each role, on average.
RecipeBytes RecipeOf(const Step& step, const Workload& workload);

}  // namespace tunefit
