#pragma once

#include "core/codec/hf_config.h"
#include "core/codec/json_reader.h"

namespace tunefit {

/// Reads `quantization_config` of a Hugging Face config into `result.quantization`, or, where the method is not
/// modelled, its name into `result.other_quantization`.
void ReadStoredQuantization(const ObjectReader& config, HfConfig& result);

}  // namespace tunefit
