#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/codec/catalog.h"
#include "core/memory/estimate.h"

namespace tunefit::validation {

/// What is known of a run.
enum class Outcome : std::uint8_t {
  kMeasured,     ///< a number of bytes, or phases
  kOutOfMemory,  ///< it did not fit on its card
  kRan,          ///< it ran on its card, and no more is said
};

/// Where a row was read. Rows of one repository are one source.
struct Source {
  std::string key;  ///< the repository, or the title where there is none
  std::string title, url, locator;
};

/// Of a row's text; "?" for a title that it does not have.
Source SourceOf(const nlohmann::json& row);

/// A run that somebody measured, beside what the core says of its request.
struct Row {
  std::string id, quality, model, method, stack, strategy, gpu, statistic;
  std::int64_t gpus = 1;
  Source source;
  std::string not_modelled;  ///< why the core refuses the request, as "code at field"; empty when it does not
  Outcome outcome = Outcome::kMeasured;
  bool quantized = false;  ///< the base is
  double measured_bytes = 0;
  bool unit_certain = true;              ///< else GB may have been 10^9 where the row has 2^30
  double usable_bytes = 0;               ///< of the card; 0 where none is stated
  std::string gpu_architecture;          ///< empty where none is stated
  double workspace_bytes = 0;            ///< of the math libraries, as the estimate has it
  std::map<std::string, double> phases;  ///< measured live bytes by phase
  double parameters = 0, trainable_parameters = 0;
  std::int64_t counted_parameters = 0;
  MemoryEstimate estimate;  ///< meaningful when `not_modelled` is empty

  bool modelled() const { return not_modelled.empty(); }
  /// Settings are known well enough for statistics.
  bool counts() const { return quality != "C"; }
  /// The allocator fills what it finds: a run this close to its card says little about what it needed.
  bool full_card() const;
};

/// A report of a public issue tracker that states too little for a request, and why.
struct UnmappedReport {
  std::string id, reason;
};

/// Reads a file of rows ({"id", "request", "measured", "source", ...} a line) and estimates each. Lines without a
/// request go to `unmapped`, which may be null where there must be none.
std::vector<Row> ReadRows(const std::string& path, const Catalog& catalog, std::vector<UnmappedReport>* unmapped);

/// The estimate's phase of that name; 0 for a name that it does not have.
double PhaseOf(const Phases& phases, const std::string& name);

/// The range that a row's statistic is compared with; a point for phases. False where the report has no such number.
bool RangeOf(const Row& row, Range& range);

}  // namespace tunefit::validation
