#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/validation/rows.h"
#include "tests/validation/statistics.h"

namespace tunefit::validation {

/// Every row of the referee, estimated.
struct AllRows {
  std::vector<Row> oracle;
  std::vector<Row> oracle_cuda;  ///< rows of it run again where a GPU differs (rows/README.md)
  std::vector<Row> measured;
  std::vector<Row> reports;  ///< user reports
  std::vector<UnmappedReport> unmapped;
};

using Summaries = std::map<std::string, Summary>;

/// Runs whose outcome is known: they ran on a stated card, or they ran out of its memory.
struct Verdicts {
  int ran = 0, ran_refused = 0, ran_tight = 0;
  int failed = 0, failed_passed = 0, failed_tight = 0;
  std::vector<std::string> refused, passed;  ///< ids of those judged the wrong way

  double wrong_refused() const { return ran > 0 ? static_cast<double>(ran_refused) / ran : 0; }
  double wrong_passed() const { return failed > 0 ? static_cast<double>(failed_passed) / failed : 0; }
  double tight() const {
    const int all = ran + failed;
    return all > 0 ? static_cast<double>(ran_tight + failed_tight) / all : 0;
  }
};

struct Findings {
  Summaries oracle_phases, oracle_methods, cuda_phases;
  Summaries oracle_held;  ///< rows that were not run again as a GPU does: what the thresholds hold
  int oracle_modelled = 0, cuda_modelled = 0, measured_modelled = 0, measured_counted = 0;
  std::vector<std::string> wrong_counts;  ///< oracle rows whose parameters differ
  /// Of the measured rows: dimension ("statistic", "method", "stack", "sharding", "size", "source", "kind") to group
  /// ("allocated, lora") to its summary. "kind" is statistic, stack, sharding and quantization together.
  std::map<std::string, Summaries> measured;
  Summaries reports;  ///< of user reports, by statistic
  Verdicts verdicts;
};

/// Measured rows enter a statistic when they are modelled, of quality A or B, and not of a full card (`allocated` and
/// `between_steps` always: torch counts those itself).
bool EntersStatistics(const Row& row);

Findings FindOut(const AllRows& rows);

}  // namespace tunefit::validation
