#pragma once

#include "core/trace/attention.h"

namespace tunefit {

// Mixers that carry a state along the sequence, as transformers runs them where the kernels of mamba-ssm, causal-conv1d
// and flash-linear-attention are installed; lightning attention is PyTorch's own operations.

Mamba1Module MakePart(ModuleFactory& factory, const Mamba1& mamba, Place place);
Mamba2Module MakePart(ModuleFactory& factory, const Mamba2& mamba, Place place);
GatedDeltaModule MakePart(ModuleFactory& factory, const GatedDelta& delta, Place place);
LightningAttentionModule MakePart(ModuleFactory& factory, const LightningAttention& attention, Place place);
ShortConvolutionModule MakePart(ModuleFactory& factory, const ShortConvolution& mixer, Place place);

MixerResult Forward(Tracer& tracer, const Mamba1Module& module, const LayerContext& context, const Value& hidden);
MixerResult Forward(Tracer& tracer, const Mamba2Module& module, const LayerContext& context, const Value& hidden);
MixerResult Forward(Tracer& tracer, const GatedDeltaModule& module, const LayerContext& context, const Value& hidden);
MixerResult Forward(Tracer& tracer, const LightningAttentionModule& module, const LayerContext& context,
                    const Value& hidden);
MixerResult Forward(Tracer& tracer, const ShortConvolutionModule& module, const LayerContext& context,
                    const Value& hidden);

}  // namespace tunefit
