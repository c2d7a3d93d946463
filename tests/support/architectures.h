#pragma once

#include <cstdint>

#include "core/model/architecture.h"
#include "core/model/workload.h"

namespace tunefit::test {

/// Sizes of a Llama-shaped model.
struct LlamaSizes {
  std::int64_t hidden = 4096;
  std::int64_t intermediate = 14336;
  std::int64_t layers = 32;
  std::int64_t heads = 32;
  std::int64_t kv_heads = 8;
  std::int64_t head_dim = 128;
  std::int64_t vocabulary = 128256;
  bool tied = false;
};

/// One to work out by hand: 64 wide, 4 heads of 16, an MLP of 128.
constexpr LlamaSizes SmallSizes(std::int64_t layers = 2, std::int64_t vocabulary = 100, bool tied = false) {
  return {.hidden = 64,
          .intermediate = 128,
          .layers = layers,
          .heads = 4,
          .kv_heads = 4,
          .head_dim = 16,
          .vocabulary = vocabulary,
          .tied = tied};
}

/// Llama 3.1 8B unless told otherwise.
Architecture MakeLlama(const LlamaSizes& sizes = {});

/// A tower of three blocks for images, 8 wide, in Siglip's manner, with a projector to states 4,096 wide.
VisionTower MakeTower();

/// Sizes of a T5-shaped encoder-decoder.
struct T5Sizes {
  std::int64_t hidden = 256;
  std::int64_t heads = 4;
  std::int64_t head_dim = 64;
  std::int64_t intermediate = 1024;
  std::int64_t layers = 6;
  std::int64_t decoder_layers = 6;
  std::int64_t vocabulary = 1000;
  bool gated = false;
  bool tied = true;
};

Architecture MakeT5(const T5Sizes& sizes = {});

/// Sizes of a decoder of Gemma 3n's kind.
struct StreamSizes {
  std::int64_t hidden = 64;
  std::int64_t layers = 6;
  std::int64_t borrowers = 2;  ///< of the layers, the last: they read earlier ones' keys and values
  std::int64_t sparse = 2;     ///< the first
};

/// Four streams, 4 heads of 16 for 2 of keys, an MLP of 96, low-rank paths of 16, embeddings of 32 for each layer;
/// every other layer has a window.
Architecture MakeGemma3n(const StreamSizes& sizes = {});

/// Full bf16 fine-tuning without autocast, flash attention, packed, one sequence of 2,048 tokens.
Workload MakeWorkload(const LlamaSizes& sizes = {});

}  // namespace tunefit::test
