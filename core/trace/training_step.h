#pragma once

#include <cstdint>

#include "core/model/workload.h"
#include "core/trace/step.h"

namespace tunefit {

/// kFolded traces the first period of a run and one more that stands for all others; kAll traces every layer, which a
/// test compares it with.
enum class Unrolling : std::uint8_t { kFolded, kAll };

/// Trained parameters of the whole model, those of its adapters apart. Exact.
struct TrainedParameters {
  std::int64_t adapters = 0;
  std::int64_t trainable = 0;
};
TrainedParameters CountTrainedParameters(const Workload& workload);

/// Traces one training step of a valid workload: model, loss, backward, optimizer. Sizes stay symbolic in batch and
/// length, so one step serves every batch.
Step TraceTrainingStep(const Workload& workload, Unrolling unrolling = Unrolling::kFolded);

}  // namespace tunefit
