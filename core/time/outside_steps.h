#pragma once

#include <cstdint>

#include "core/memory/overheads.h"

// What a run waits for outside its steps.

namespace tunefit {

/// Measured elsewhere: catalog/outside_steps.json.
struct OutsideRates {
  Range storage_bytes_per_second;  ///< of each machine, reading and writing
  Range gpu_seconds_between_interruptions;
  Range restart_seconds;  ///< from a failure until steps are made again
};

/// The files of a run, in bytes, that one machine reads or writes.
struct RunFiles {
  double model = 0;       ///< read once
  double checkpoint = 0;  ///< written at every save
};

/// All in seconds, but for the counts.
struct OutsideSteps {
  Range start;               ///< the model is read
  Range evaluation;          ///< an evaluation at the end of every epoch
  Range saving;              ///< checkpoints are written, and the steps wait
  Range lost;                ///< restarts, and steps that are made again
  double saves = 0;          ///< expected
  double interruptions = 0;  ///< expected

  Range total() const { return start + evaluation + saving + lost; }
};

/// TIM-33 to 35  A run saves at the end of every epoch, and where it is long as often as costs least: every
/// sqrt(2 · time of a save · time between interruptions) (Young 1974). Each interruption costs a restart and half of
/// the time between saves, in which others may fall; no more than nine tenths of the time are lost. `steps_seconds` is
/// all steps' time, over 0.
OutsideSteps OutsideStepsOf(const Range& steps_seconds, const RunFiles& files, double epochs, std::int64_t gpus,
                            const OutsideRates& rates);

}  // namespace tunefit
