#include "core/cost/extras.h"

#include <array>

namespace tunefit {

std::string_view ExtraKindName(ExtraKind kind) {
  static constexpr std::array<std::string_view, 3> kNames = {"trials", "failed_runs", "data_work"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<ExtraCost> ExtrasOf(const Pricing& pricing, const Range& compute) {
  std::vector<ExtraCost> extras;
  const bool has_compute = compute.high > 0;
  if (pricing.trials && has_compute) {
    extras.push_back({ExtraKind::kTrials, compute * static_cast<double>(*pricing.trials)});
  }
  if (pricing.failed_share && has_compute) {
    extras.push_back({ExtraKind::kFailedRuns, compute * *pricing.failed_share});
  }
  if (pricing.data_work) {
    extras.push_back({ExtraKind::kDataWork, Exactly(pricing.data_work->hours * pricing.data_work->rate_per_hour)});
  }
  return extras;
}

}  // namespace tunefit
