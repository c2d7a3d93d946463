#pragma once

#include "core/trace/modules.h"

namespace tunefit {

/// The product of a matrix and what its adapter adds to it, in PEFT's order of operations. `base` is the product alone.
Value AdaptedForward(Tracer& tracer, const LinearModule& module, Value base, const Value& x);

}  // namespace tunefit
