#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/codec/catalog.h"
#include "core/time/step_time.h"
#include "tests/validation/rows.h"
#include "tests/validation/statistics.h"

namespace tunefit::validation {

/// A run whose speed somebody published, counted.
struct TimedRow {
  std::string id, gpu, method, layout, dtype;
  Source source;
  Workload workload;
  const Gpu* card = nullptr;
  Wiring wiring;
  StepCounts counts;
  double seconds = 0;  ///< of one optimizer step, as published
  double weight = 1;   ///< in the fit: rows of one source together weigh the root of their number
};

/// Rows of quality A and B with a throughput or step time. Those that the core refuses are named on standard error.
std::vector<TimedRow> ReadTimedRows(const std::vector<std::string>& paths, const Catalog& catalog);

/// The estimate of a row's step under these constants.
StepTime TimeOf(const TimedRow& row, const Efficiencies& efficiencies);

/// The same in seconds, with its range.
Range SecondsOf(const TimedRow& row, const Efficiencies& efficiencies);

/// The published step against the estimate and its range.
Sample Compare(const TimedRow& row, const Efficiencies& efficiencies);

/// Every source's rows against the constants that the others give without it, by its key. The search begins at
/// `fitted`.
std::map<std::string, std::vector<Sample>> LeaveOut(const std::vector<TimedRow>& rows, const Efficiencies& fitted);

/// Fits catalog/efficiencies.json and prints it; errors by group, and of sources left out, on standard error.
int FitTime(const std::vector<std::string>& paths, const Catalog& catalog);

}  // namespace tunefit::validation
