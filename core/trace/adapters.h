#pragma once

#include <functional>

#include "core/trace/modules.h"

namespace tunefit {

/// The product of a matrix and what its adapter adds to it, in PEFT's order of operations. `base` is the product alone.
Value AdaptedForward(Tracer& tracer, const LinearModule& module, Value base, const Value& x);

/// The same of a matrix that projects to several parts, some of them adapted.
Value AdaptedParts(Tracer& tracer, const LinearModule& module, const Value& base, const Value& x);

/// Rows of a table of that width with what its adapter adds to them; `ids` chose them.
Value AdaptedRows(Tracer& tracer, const Adapter& adapter, const Value& ids, Value rows, double width);

/// Multiplies by a matrix alone.
using Product = std::function<Value(const Value&)>;

/// The product of a matrix with IA3's vector before or after it, in PEFT's order of operations.
Value RescaledForward(Tracer& tracer, const LinearModule& module, const Product& base, const Value& x);

}  // namespace tunefit
