#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

StreamLayerModule MakeStreamLayer(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place);

/// One layer over several streams of hidden states (Gemma 3n). `own` is its part of the embeddings for layers.
Value ForwardStreams(Tracer& tracer, const LayerModule& layer, const LayerContext& context, const Value& hidden,
                     const Value& own);

}  // namespace tunefit
