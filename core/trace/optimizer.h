#pragma once

#include "core/model/workload.h"
#include "core/trace/step.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// Adds what the optimizer holds between steps and within its own, for every trained weight of the step.
void AddOptimizer(Step& step, const Workload& workload);

/// What data parallelism keeps for gradients beside autograd's own: DistributedDataParallel copies each into buckets
/// that live as long as the wrapper (reducer.cpp; gradient_as_bucket_view is false unless asked for), DeepSpeed's stage
/// 3 has a flat buffer of its part and a bucket.
void AddGradientBuffers(Step& step, const Workload& workload);

/// Every trained parameter has states from the first step on. torch's optimizers pass over a parameter that has no
/// gradient; DeepSpeed's and Megatron's hold flat buffers of all that trains.
bool MakesStatesAtOnce(const Workload& workload);

/// Gradients leave the card while backward runs: for this rank's buffer on the host.
bool OffloadsGradients(const Workload& workload);

/// What becomes of gradients: applied at once where it is asked for or the optimizer's own way (LOMO), added to fp32
/// buffers where the stack does so for master copies.
GradientFate GradientsAfterBackward(const Workload& workload);

/// Bytes that the update of one trained weight takes for a moment.
double UpdateBytes(const Step& step, const Workload& workload, const Resident& resident);

}  // namespace tunefit
