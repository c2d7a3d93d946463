#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

ExpertsModule MakeExperts(ModuleFactory& factory, const Experts& experts, Place place);

/// A mixture of experts, as the library's own block reads. How many tokens each expert gets is not known before the
/// run; together they get tokens x experts per token, and that is what the stacked form's tensors grow with.
Value Forward(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden);

}  // namespace tunefit
