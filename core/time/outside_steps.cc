#include "core/time/outside_steps.h"

#include <algorithm>
#include <cmath>

namespace tunefit {
namespace {

/// One case: all at their best, as expected, or at their worst.
struct Case {
  double steps = 0;
  double storage = 1;
  double between = 1;
  double restart = 0;
};

struct Waits {
  double start = 0, saving = 0, lost = 0, saves = 0, interruptions = 0;
};

/// Of a run's time. So many GPUs that nearly all of it is lost are not run as one job that starts anew.
constexpr double kMostLost = 0.9;

Waits WaitsOf(const Case& one, const RunFiles& files, double epochs) {
  Waits waits;
  waits.start = files.model / one.storage;
  const double save = files.checkpoint / one.storage;
  double window = one.steps / std::max(1.0, std::ceil(epochs));
  if (save > 0) window = std::min(window, std::sqrt(2 * save * one.between));
  waits.saves = one.steps / window;
  waits.saving = waits.saves * save;
  // What is lost takes time in which machines fail again.
  const double work = one.steps + waits.saving;
  const double elapsed = work / (1 - std::min(kMostLost, (one.restart + window / 2) / one.between));
  waits.interruptions = elapsed / one.between;
  waits.lost = elapsed - work;
  return waits;
}

}  // namespace

OutsideSteps OutsideStepsOf(const Range& steps_seconds, const RunFiles& files, double epochs, std::int64_t gpus,
                            const OutsideRates& rates) {
  const Range& storage = rates.storage_bytes_per_second;
  const Range between = rates.gpu_seconds_between_interruptions * (1 / static_cast<double>(gpus));
  const Range& restart = rates.restart_seconds;
  const Waits best = WaitsOf({steps_seconds.low, storage.high, between.high, restart.low}, files, epochs);
  const Waits middle =
      WaitsOf({steps_seconds.expected, storage.expected, between.expected, restart.expected}, files, epochs);
  const Waits worst = WaitsOf({steps_seconds.high, storage.low, between.low, restart.high}, files, epochs);
  OutsideSteps outside;
  outside.start = {best.start, middle.start, worst.start};
  outside.saving = {best.saving, middle.saving, worst.saving};
  outside.lost = {best.lost, middle.lost, worst.lost};
  outside.saves = middle.saves;
  outside.interruptions = middle.interruptions;
  return outside;
}

}  // namespace tunefit
