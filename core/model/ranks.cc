#include "core/model/ranks.h"

#include <cstdint>

#include "core/model/device_map.h"
#include "core/model/share.h"

namespace tunefit {

bool IsWhole(const Workload& workload) {
  return !workload.parallel.IsCut() && !IsPlaced(workload.parallel) && workload.habits.vocabulary_multiple == 1;
}

std::vector<Workload> AllRanks(const Workload& workload) {
  std::vector<Workload> ranks;
  if (IsPlaced(workload.parallel)) {
    for (const DevicePlace& place : PlaceOnDevices(workload)) ranks.push_back(DeviceOf(workload, place));
    return ranks;
  }
  for (std::int64_t stage = 0; stage < workload.parallel.pipeline; ++stage) ranks.push_back(RankOf(workload, stage));
  return ranks;
}

std::vector<Workload> RanksToCompare(const Workload& workload) {
  if (IsWhole(workload)) return {workload};
  if (IsPlaced(workload.parallel)) return AllRanks(workload);
  std::vector<Workload> ranks;
  for (const std::int64_t stage : StagesToCompare(workload)) ranks.push_back(RankOf(workload, stage));
  return ranks;
}

}  // namespace tunefit
