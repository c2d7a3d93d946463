#pragma once

#include <cstdint>
#include <string_view>

#include "core/codec/hf_reading.h"
#include "core/model/layer.h"

namespace tunefit {

Attention ReadAttention(const HfReading& reading, const HfSizes& sizes);

/// A dense MLP of that width, with the class's names and biases.
Mlp ReadMlp(const HfReading& reading, std::int64_t hidden, std::int64_t width);

/// Attention and a dense MLP as all layers of the class begin: experts, other mixers and what single layers have of
/// their own are for the caller.
Block ReadBlock(const HfReading& reading, const HfSizes& sizes);

Activation ReadActivation(const HfReading& reading);

/// A probability under that key, the class's default where it is absent; 0 where the class has no such key.
double ReadDropout(const HfReading& reading, std::string_view key);

/// Soft-capping is on by default in the classes that have it, and off where the config says null.
bool ReadSoftcap(const HfReading& reading, std::string_view key);

}  // namespace tunefit
