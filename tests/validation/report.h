#pragma once

#include <string>
#include <vector>

#include "tests/validation/bars.h"
#include "tests/validation/findings.h"
#include "tests/validation/time_findings.h"

namespace tunefit::validation {

/// The accuracy report that the page shows (README.md has its fields): equal rows and catalog give equal bytes.
/// `date` is the catalog's.
std::string WriteReport(const AllRows& rows, const Findings& findings, const TimeFindings& time,
                        const std::vector<Bar>& bars, const std::string& date);

}  // namespace tunefit::validation
