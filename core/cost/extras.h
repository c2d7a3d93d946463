#pragma once

#include <vector>

#include "core/cost/pricing.h"

namespace tunefit {

enum class ExtraKind : std::uint8_t { kTrials, kFailedRuns, kDataWork };

/// "trials", "failed_runs", "data_work".
std::string_view ExtraKindName(ExtraKind kind);

/// What a project pays beside the compute of the run that counts. Only what the request asks for.
struct ExtraCost {
  ExtraKind kind = ExtraKind::kTrials;
  Range cost;
};

/// COST-40  Runs before the one that counts: trials · compute.
/// COST-41  Compute that is lost to failures: share · compute.
/// COST-42  People's work on the data: hours · rate.
/// The first two are left out where the compute has no price (0).
std::vector<ExtraCost> ExtrasOf(const Pricing& pricing, const Range& compute);

}  // namespace tunefit
