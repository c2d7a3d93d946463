#pragma once

#include <vector>

#include "core/trace/model.h"

namespace tunefit {

/// A step of a task that runs more than the model and its loss once: other models beside the trained one, passes
/// without gradients, log-probabilities in place of cross entropy. The order of passes, and what a step still holds
/// when the next one begins, are those of TRL's trainers (huggingface/trl at 1.10.0.dev0, July 2026).
Step TraceTaskStep(const Workload& workload, Unrolling unrolling);

/// The same passes up to the loss, without what follows it; one rank's shards of all models.
std::vector<StorageId> RunTask(Tracer& tracer, const Workload& workload);

/// The forward pass and the loss of any task without gradients, as an evaluation runs them.
Step TraceEvaluation(const Workload& workload);

}  // namespace tunefit
