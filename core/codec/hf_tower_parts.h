#pragma once

#include <cstdint>
#include <string_view>

#include "core/codec/hf_reading.h"
#include "core/model/vision.h"

// What the readers of towers for images share.

namespace tunefit {

// Far beyond any tower, and small enough that products of them are counted without overflow.
inline constexpr std::int64_t kPatchLimit = 10000;
inline constexpr std::int64_t kFewLimit = 100;
inline constexpr std::int64_t kColours = 3;

/// How one class names the parts of a block.
struct BlockNames {
  const char *query, *key, *value, *output;  ///< no key and value where one matrix gives all three
  const char *gate, *up, *down;              ///< no gate where there is none
};

struct BlockRules {
  BlockNames names;
  NormKind norm = NormKind::kLayerNorm;
  Rotary rotary = Rotary::kNone;
  bool attention_bias = true;
  bool mlp_bias = true;
  Activation activation = Activation::kGelu;
};

/// A size that the tower's class needs.
std::int64_t NeedOfTower(const HfReading& vision, std::string_view key, std::int64_t limit = kSizeLimit);

Block MakeTowerBlock(const BlockRules& rules, std::int64_t hidden, std::int64_t heads, std::int64_t width);

/// The sizes that every tower has, and its blocks.
VisionTower ReadTowerBlocks(const HfReading& vision, std::string_view layers_key, std::string_view heads_key,
                            const BlockRules& rules);

/// From the pixels of one patch, over so many frames of a film.
LinearShape ReadPatches(const HfReading& vision, const VisionTower& tower, std::int64_t side, std::int64_t frames);

/// Patches of an image of the size that the positions were learned for.
std::int64_t ReadPatchCount(const HfReading& vision, std::int64_t side);

}  // namespace tunefit
