#pragma once

#include <vector>

#include "core/codec/hf_reading.h"
#include "core/model/architecture.h"

namespace tunefit {

/// The layers of a model of several streams (Gemma 3n, transformers' configuration_gemma3n.py): which slide is known;
/// widths and the sparsity of the first matrix's output may differ by layer, and the last ones read earlier ones' keys
/// and values. `block` is a layer with attention and MLP.
std::vector<LayerRun> ReadStreamLayers(const HfReading& reading, const HfSizes& sizes, const Block& block,
                                       const std::vector<bool>& slides, std::int64_t window);

/// What the model has before and after them.
void ReadStreams(HfReading& reading, const HfSizes& sizes, Architecture& model);

}  // namespace tunefit
