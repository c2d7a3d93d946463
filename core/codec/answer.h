#pragma once

#include <optional>
#include <vector>

#include "core/codec/advice.h"
#include "core/codec/catalog.h"
#include "core/codec/market.h"
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
  AdviceReport advice;                ///< of AdviseOn, where the request asked for it
};

/// The answer to a reading without errors; without a market it has no cost. The cost's remarks go among the reading's.
Answer AnswerTo(RequestReading& reading, const Catalog& catalog, const Market* market);

}  // namespace tunefit
