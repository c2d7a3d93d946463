#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/tracer.h"

namespace tunefit {

/// Layers run again as a whole, all or every n-th; not so where only the core of attention does.
bool ChecksLayers(const Workload& workload);

/// Layer number `index`, counted from 0, runs again in backward.
bool ChecksLayer(const Workload& workload, std::int64_t index);

/// What a checkpointed layer of this workload keeps, and how it runs again.
CheckpointRule LayerRule(const Workload& workload);

/// MEM-71  Runs whose layers are also alike in being checkpointed or not: with every n-th layer checkpointed the period
/// is a multiple of n, and what is left over is a run of its own.
std::vector<LayerRun> InStepWithCheckpoints(const std::vector<LayerRun>& runs, const Workload& workload);

/// MEM-70  Layer inputs on their way to and from the host, and those that stay on the card: blocks of their size until
/// the layers' backward begins. Nothing unless checkpoints are offloaded. `hidden` is the first layer's input.
void HoldOffloadBlocks(Tracer& tracer, const Workload& workload, const Value& hidden);

}  // namespace tunefit
