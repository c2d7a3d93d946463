#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

/// The output of a mixer, and attention's probabilities where its kernel returns them: eager attention's caller holds
/// them to the end of the layer.
struct MixerResult {
  Value output;
  Value probabilities;
  Value scores = {};  ///< what only lives until the output is projected
};

/// Queries, keys and values as heads, ready for a kernel.
struct Heads {
  Value query, key, value;
  Dtype hidden = Dtype::kBf16;  ///< of the states they were projected from
  bool by_heads = false;        ///< queries lie head by head in memory, as joined ones do, and so will the output
  Value gate{};                 ///< multiplies the output, after its sigmoid; empty where there is none
  Value relative_table{};       ///< what a kRelative bias is looked up in; empty where the bias is there
  bool crosses = false;         ///< keys and values are the encoder's
  Value sinks{};                ///< a score for every head that no key has; empty where there are none
};

AttentionModule MakePart(ModuleFactory& factory, const Attention& attention, Place place);

/// Scores, probabilities and their product with the values, by the workload's kernel.
MixerResult Attend(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads);

MixerResult Forward(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden);

/// The same with keys and values of the encoder's output.
MixerResult ForwardCross(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                         const Value& hidden);

/// DeBERTa's attention as a whole: its matrices project distances, too.
MixerResult ForwardDisentangled(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                                const Value& hidden);

/// Attention with a trained bias for every distance (T5Attention), written out. The first layer that asks makes it.
MixerResult AttendRelative(Tracer& tracer, const Attention& attention, const LayerContext& context, const Heads& heads);

}  // namespace tunefit
