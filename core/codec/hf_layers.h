#pragma once

#include <cstdint>
#include <vector>

#include "core/codec/hf_reading.h"
#include "core/model/architecture.h"

namespace tunefit {

/// The layers of a model in order, equal stretches together: which have a sliding window, which have experts. An
/// explicit list in the config goes before the family's rule.
std::vector<LayerRun> ReadLayerRuns(const HfReading& reading, const HfSizes& sizes);

/// Runs of equal periods that together are `layers`, an index into `kinds` for each layer. Takes the period that covers
/// most, the shorter of two that cover as much.
std::vector<LayerRun> FoldLayers(const std::vector<Block>& kinds, const std::vector<std::size_t>& layers);

}  // namespace tunefit
