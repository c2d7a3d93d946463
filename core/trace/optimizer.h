#pragma once

#include "core/model/workload.h"
#include "core/trace/step.h"

namespace tunefit {

/// Adds what the optimizer holds between steps and within its own, for every trained weight of the step.
void AddOptimizer(Step& step, const Workload& workload);

}  // namespace tunefit
