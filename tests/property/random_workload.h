#pragma once

#include <random>
#include <string>

#include "core/model/workload.h"

namespace tunefit::test {

/// A valid random model of the families that are modelled, under a random recipe.
Workload RandomWorkload(std::mt19937& random);

/// What the workload is, in a line, for a failing test.
std::string Describe(const Workload& workload);

}  // namespace tunefit::test
