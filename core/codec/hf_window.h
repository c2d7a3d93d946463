#pragma once

#include <cstdint>
#include <vector>

#include "core/codec/hf_family.h"
#include "core/codec/json_reader.h"
#include "core/model/architecture.h"

namespace tunefit {

/// The layers of a model whose blocks differ by their sliding window only: `block` repeated, with the window on the
/// layers that have one. An explicit `layer_types` list goes before the family's rule.
std::vector<LayerRun> ReadLayerRuns(const ObjectReader& config, const Family& family, const Block& block,
                                    std::int64_t layers);

}  // namespace tunefit
