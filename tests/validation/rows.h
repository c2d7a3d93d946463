#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/codec/catalog.h"
#include "core/memory/estimate.h"

namespace tunefit::validation {

/// A run that somebody measured, beside what the core says of its request.
struct Row {
  std::string id, quality, model, method, stack, source, statistic;
  bool modelled = false;
  std::string refusal;  ///< the first issue, where it is not modelled
  bool out_of_memory = false;
  bool varied = false;  ///< lengths vary from batch to batch
  double measured_bytes = 0;
  double usable_bytes = 0;
  std::map<std::string, double> phases;  ///< measured live bytes by phase
  double parameters = 0, trainable_parameters = 0;
  std::int64_t counted_parameters = 0;
  MemoryEstimate estimate;
};

/// Reads a file of rows ({"id", "request", "measured", ...} a line) and estimates each.
std::vector<Row> ReadRows(const std::string& path, const Catalog& catalog);

/// The estimate's phase of that name.
double PhaseOf(const Phases& phases, const std::string& name);

/// The estimate that a row's statistic is compared with; null where it is none of ours.
const Range* RangeOf(const Row& row);

}  // namespace tunefit::validation
