#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

MlpModule MakeMlp(ModuleFactory& factory, const Mlp& mlp, Place place);

Value Forward(Tracer& tracer, const MlpModule& module, const LayerContext& context, const Value& hidden);

/// transformers' activation function of that name. `scalars` are trained ones of the activation itself.
Value Activate(Tracer& tracer, Activation activation, Value x, const ActivationScalars& scalars = {});

}  // namespace tunefit
