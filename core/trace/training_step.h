#pragma once

#include "core/model/workload.h"
#include "core/trace/step.h"

namespace tunefit {

/// Layers traced at each end of a run before the rest is taken as equal; tests trace all of them instead.
enum class Unrolling { kEnds, kAll };

/// Traces one training step of a valid workload: model, loss, backward, optimizer. Sizes stay symbolic in batch and
/// length, so one step serves every batch.
Step TraceTrainingStep(const Workload& workload, Unrolling unrolling = Unrolling::kEnds);

}  // namespace tunefit
