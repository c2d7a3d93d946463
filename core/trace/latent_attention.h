#pragma once

#include "core/trace/attention.h"

namespace tunefit {

LatentAttentionModule MakePart(ModuleFactory& factory, const LatentAttention& attention, Place place);

MixerResult Forward(Tracer& tracer, const LatentAttentionModule& module, const LayerContext& context,
                    const Value& hidden);

}  // namespace tunefit
