#pragma once

#include <cstdint>

#include "core/model/architecture.h"
#include "core/model/dtype.h"

namespace tunefit {

/// MEM-121  Bytes of the keys and values that generation keeps of one sequence of `tokens`: for each attention layer a
/// key and a value a token, by key/value heads and head dimension, and no more tokens than its window. Training keeps
/// none. Source: transformers' cache_utils.py, DynamicCache and SlidingWindowLayer.
double KvCacheBytes(const Architecture& architecture, Dtype dtype, std::int64_t tokens);

}  // namespace tunefit
