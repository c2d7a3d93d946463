#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/codec/hf_reading.h"
#include "core/model/layer.h"

namespace tunefit {

/// What a layer is made of, where not all layers are alike.
enum class LayerKind : std::uint8_t {
  kAttention,      ///< attention, then the feed-forward part
  kOther,          ///< the class's other mixer, then the feed-forward part
  kAttentionOnly,  ///< a layer that is one part (Nemotron-H)
  kOtherOnly,
  kMlpOnly,
  kExpertsOnly,
};

/// The mixers of a model's layers; no layers are named where every one has attention.
struct MixerPlan {
  std::optional<Mixer> other;
  std::vector<LayerKind> layers;
};

MixerPlan ReadMixers(const HfReading& reading, const HfSizes& sizes);

}  // namespace tunefit
