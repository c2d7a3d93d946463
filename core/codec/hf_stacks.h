#pragma once

#include "core/codec/hf_reading.h"
#include "core/model/architecture.h"

namespace tunefit {

/// The layers of an encoder-decoder: those that read the source, and those that attend to them.
void ReadStacks(HfReading& reading, const HfSizes& sizes, Architecture& architecture);

}  // namespace tunefit
