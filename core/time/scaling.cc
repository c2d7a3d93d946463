#include "core/time/scaling.h"

#include <algorithm>
#include <optional>

#include "core/memory/traced_rank.h"
#include "core/model/issue.h"
#include "core/time/run.h"

namespace tunefit {
namespace {

constexpr std::int64_t kMostGpus = 1024;

/// Ascending, each once.
std::vector<std::int64_t> GpuCounts(const Parallel& parallel) {
  std::vector<std::int64_t> counts;
  // One process has the cards of its machine.
  const std::int64_t most = parallel.strategy == Strategy::kDeviceMap ? parallel.gpus_per_node : kMostGpus;
  for (std::int64_t gpus = parallel.tensor * parallel.pipeline; gpus <= most; gpus *= 2) counts.push_back(gpus);
  const auto place = std::lower_bound(counts.begin(), counts.end(), parallel.gpus);
  if (place == counts.end() || *place != parallel.gpus) counts.insert(place, parallel.gpus);
  return counts;
}

/// Nothing where the layout does not fill so many.
std::optional<Workload> OnGpus(Workload workload, std::int64_t gpus) {
  Parallel& parallel = workload.parallel;
  parallel.gpus = gpus;
  if (parallel.strategy == Strategy::kNone && parallel.DataRanks() > 1) parallel.strategy = Strategy::kDdp;
  if (HasError(Validate(workload))) return {};
  return workload;
}

}  // namespace

std::vector<ScalingPoint> ScalingOf(const Workload& workload, const Gpu& gpu, const Wiring& wiring,
                                    const Efficiencies& efficiencies) {
  std::vector<ScalingPoint> points;
  for (const std::int64_t gpus : GpuCounts(workload.parallel)) {
    const std::optional<Workload> run = OnGpus(workload, gpus);
    if (!run) continue;
    const TimeEstimate time = EstimateTime(*run, TraceJob(*run), gpu, wiring, efficiencies, {});
    ScalingPoint point{gpus, time.tokens_per_step / time.step.seconds, 1};
    if (!points.empty()) {
      const ScalingPoint& fewest = points.front();
      point.efficiency = point.tokens_per_second / static_cast<double>(gpus) /
                         (fewest.tokens_per_second / static_cast<double>(fewest.gpus));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace tunefit
