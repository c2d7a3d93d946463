#pragma once

#include "core/model/workload.h"
#include "core/trace/step.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// Adds what the optimizer holds between steps and within its own, for every trained weight of the step.
void AddOptimizer(Step& step, const Workload& workload);

/// DeepSpeed's stages 1 and 2 run the step, which reduce gradients in buckets.
bool HasReductionBuckets(const Workload& workload);

/// What data parallelism keeps for gradients beside autograd's own. DistributedDataParallel copies each into buckets
/// that live as long as the wrapper; with gradient_as_bucket_view the gradient is a view of them from then on
/// (reducer.cpp, mark_variable_ready_dense). DeepSpeed's stage 3 has a flat buffer of its part and a bucket; its stages
/// 1 and 2 have room for one gradient on its way from the host, where they offload.
void AddGradientBuffers(Step& step, const Workload& workload);

/// Every trained parameter has states from the first step on. torch's optimizers pass over a parameter that has no
/// gradient; DeepSpeed's and Megatron's hold flat buffers of all that trains.
bool MakesStatesAtOnce(const Workload& workload);

/// Gradients leave the card while backward runs: for this rank's buffer on the host.
bool OffloadsGradients(const Workload& workload);

/// What becomes of gradients: applied at once where it is asked for or the optimizer's own way (LOMO), added to fp32
/// buffers where the stack does so for master copies.
GradientFate GradientsAfterBackward(const Workload& workload);

/// The trained weight of the most elements; null where nothing trains.
const Resident* LargestTrained(const Step& step);

/// Bytes that the update of one trained weight takes for a moment.
double UpdateBytes(const Step& step, const Workload& workload, const Resident& resident);

}  // namespace tunefit
