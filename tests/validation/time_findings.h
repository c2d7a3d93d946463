#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/validation/findings.h"
#include "tests/validation/fit_time.h"

namespace tunefit::validation {

/// Rows of quality A and B with a speed, beside the time that the core estimates of each.
struct TimeFindings {
  std::vector<TimedRow> rows;
  std::vector<Range> estimates;  ///< of each row, seconds of an optimizer step
  Summary all;
  Summary left_out;  ///< each source under the constants that the others give; empty before LeaveSourcesOut
  /// Dimension ("generation", "method", "source") to group ("Hopper") to its summary.
  std::map<std::string, Summaries> by;
};

TimeFindings FindOutTime(std::vector<TimedRow> rows, const Efficiencies& efficiencies);

/// Fits once a source, which takes seconds.
void LeaveSourcesOut(TimeFindings& findings, const Efficiencies& efficiencies);

}  // namespace tunefit::validation
