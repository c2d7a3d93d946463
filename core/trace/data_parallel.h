#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/trace/model.h"
#include "core/trace/sharding.h"

namespace tunefit {

// What libraries of data parallelism put around the passes of a step, whatever its task.

/// The dtype of the autocast region that the forward pass runs in, where there is one.
std::optional<Dtype> AutocastOf(const Workload& workload);

/// Gradients of earlier micro-batches are on the card as autograd made them, and new ones are added to them.
bool AddsToGradients(const Workload& workload);

/// What becomes of the gradients of the weights that are declared from here on.
void DecideGradients(Tracer& tracer, const Workload& workload);

/// The dtype of what a model computes outside autocast: parameters gathered from shards come in the compute dtype.
Dtype DtypeAtWork(const Workload& workload);

/// A model as its strategy wraps it. From here on the tracer's hooks are its own; they live in `units`, which is null
/// where parameters are not sharded.
TracedModel MakeWrapped(Tracer& tracer, const Workload& workload, Unrolling unrolling,
                        std::unique_ptr<ShardedUnits>& units);

/// The output of a model whose forward pass ends here; `x` itself where it is not sharded.
Value LeaveModel(Tracer& tracer, const TracedModel& model, const Value& x);

/// DeepSpeed's stages 1 and 2 reduce gradients by way of buffers, which this makes; alive as long as the values are.
std::vector<Value> ReductionBuckets(Tracer& tracer, const Workload& workload);

/// All that outlives a step: the optimizer's states, buffers of gradients, and of these and of the `shards` of all
/// models what waits on the host.
void AddLasting(Step& step, const Workload& workload, const std::vector<StorageId>& shards);

}  // namespace tunefit
