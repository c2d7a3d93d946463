#pragma once

#include <optional>
#include <string>

#include "core/codec/catalog.h"
#include "core/codec/request.h"
#include "core/cost/cost_report.h"
#include "core/memory/estimate.h"
#include "core/time/run.h"
#include "core/time/scaling.h"

namespace tunefit {

/// What the core answered to a request without errors.
struct Answer {
  MemoryEstimate memory;
  std::vector<RankMemory> ranks;      ///< where the request asked for them
  std::optional<Limits> limits;       ///< where the request asked for them and names a GPU
  std::optional<TimeEstimate> time;   ///< where the request names a GPU, and the run's time is modelled
  std::vector<ScalingPoint> scaling;  ///< where the request asked for it, and the run's time is modelled
  std::optional<CostReport> cost;     ///< where hours are known, and the catalog's second part has been read
  std::optional<DiskUse> disk;        ///< the same
};

/// The report of a request with an error among its issues: status, issues, and nothing else that is not null.
std::string WriteInvalidReport(const Issues& issues);

/// The report of an answered request, as wasm/tunefit.d.ts describes it. The same request gives the same bytes on every
/// platform, in every locale, whatever the order of its keys: the keys stand in a fixed order, bytes are whole numbers.
std::string WriteReport(const RequestReading& reading, const Answer& answer, const Catalog& catalog);

/// `{"status", "issues"}`, the answer of Init.
std::string WriteStatus(const Issues& issues);

}  // namespace tunefit
