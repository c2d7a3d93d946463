#pragma once

#include <random>
#include <string>

#include "core/model/workload.h"

namespace tunefit::test {

/// Seeds that every law is checked over: 1 to this.
constexpr unsigned kLawCases = TUNEFIT_LAW_CASES;

/// A valid random model of the families that are modelled, under a random recipe.
Workload RandomWorkload(std::mt19937& random);

/// What the workload is, in a line, for a failing test.
std::string Describe(const Workload& workload);

}  // namespace tunefit::test
