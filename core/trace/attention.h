#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

/// The output of a mixer, and attention's probabilities where its kernel returns them: eager attention's caller holds
/// them to the end of the layer.
struct MixerResult {
  Value output;
  Value probabilities;
};

MixerResult Forward(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden);

}  // namespace tunefit
