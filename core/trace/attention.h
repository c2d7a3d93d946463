#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

/// The output of attention, and the probabilities where the kernel returns them: eager attention's caller holds them to
/// the end of the layer.
struct AttentionResult {
  Value output;
  Value probabilities;
};

AttentionResult Forward(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                        const Value& hidden);

}  // namespace tunefit
