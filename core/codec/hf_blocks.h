#pragma once

#include <vector>

#include "core/codec/hf_reading.h"
#include "core/model/architecture.h"

namespace tunefit {

/// The layers of a pruned model whose `block_configs` says each layer's parts (Nemotron-NAS, remote code
/// configuration_decilm.py): attention with heads / `n_heads_in_group` key/value heads, an MLP of two thirds of
/// `ffn_mult` x hidden, rounded up to 256; `no_op` for a part that is gone. `block` is a layer with all parts.
std::vector<LayerRun> ReadPrunedLayers(const HfReading& reading, const HfSizes& sizes, const Block& block);

}  // namespace tunefit
