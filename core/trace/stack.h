#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/trace/decoder.h"
#include "core/trace/training_step.h"

namespace tunefit {

/// A stretch of a model's layers that is traced once: `repeats` periods in a row are equal to it.
struct Stretch {
  std::vector<LayerModule> layers;
  std::int64_t first_layer = 0;
  std::int64_t repeats = 1;
  std::int64_t piece = 0;  ///< of the pipeline stage
};

/// Layers one after the other, and the norm at their end. An encoder-decoder has two such stacks.
struct LayerStack {
  std::vector<LayerRun> runs;  ///< the layers point into it
  std::vector<Stretch> stretches;
  std::optional<NormModule> final_norm;
};

/// Declares the weights of the layers; `first_layer` is the number of the first. The final norm is the caller's.
LayerStack MakeStack(Tracer& tracer, ModuleFactory& factory, const Workload& workload,
                     const std::vector<LayerRun>& runs, std::int64_t first_layer, Unrolling unrolling);

/// From the first layer's input to the normalized output of the last.
Value RunStack(Tracer& tracer, const Workload& workload, const LayerStack& stack, LayerContext& context, Value hidden,
               Moment moment);

}  // namespace tunefit
