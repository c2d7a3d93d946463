#pragma once

#include <cstdint>

#include "core/model/linear.h"

namespace tunefit {

/// A convolution over a few neighbouring tokens, one filter a channel.
struct DepthwiseConvolution {
  std::int64_t channels = 0;
  std::int64_t taps = 0;
  bool bias = false;

  bool operator==(const DepthwiseConvolution&) const = default;
};

/// Mamba's first form (Jamba): input-dependent decay for each channel and state.
struct Mamba1 {
  std::int64_t inner = 0;  ///< channels
  std::int64_t state = 0;  ///< numbers of state a channel
  std::int64_t step_rank = 0;
  DepthwiseConvolution convolution;
  LinearShape in, parameters, step, out;

  bool operator==(const Mamba1&) const = default;
};

/// Mamba's second form (Nemotron-H, Granite 4): one decay a head.
struct Mamba2 {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t state = 0;
  std::int64_t groups = 0;  ///< heads of a group share the input and output projections of the state
  std::int64_t chunk = 0;   ///< tokens that are worked on as a matrix
  DepthwiseConvolution convolution;
  LinearShape in, out;

  std::int64_t inner() const { return heads * head_dim; }
  bool operator==(const Mamba2&) const = default;
};

/// Gated delta rule (Qwen3-Next, Qwen3.5): linear attention whose state forgets by a gate and is corrected by a delta.
struct GatedDelta {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  DepthwiseConvolution convolution;
  /// Qwen3-Next projects q, k, v and the output gate at once and both small gates at once; Qwen3.5 each apart.
  bool joined = true;
  LinearShape qkvz, gates;          ///< joined
  LinearShape qkv, z, beta, decay;  ///< apart
  LinearShape out;

  bool operator==(const GatedDelta&) const = default;
};

/// MiniMax-Text's lightning attention: linear attention with a fixed decay a head, block by block.
struct LightningAttention {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t block = 0;  ///< tokens that are worked on as a matrix
  LinearShape qkv, out, gate;

  bool operator==(const LightningAttention&) const = default;
};

/// LFM2's mixer: a gated convolution over a few tokens.
struct ShortConvolution {
  DepthwiseConvolution convolution;
  LinearShape in, out;

  bool operator==(const ShortConvolution&) const = default;
};

template <typename Visit>
void ForEachMatrix(const Mamba1& mamba, Visit visit) {
  visit(mamba.in);
  visit(mamba.parameters);
  visit(mamba.step);
  visit(mamba.out);
}

template <typename Visit>
void ForEachMatrix(const Mamba2& mamba, Visit visit) {
  visit(mamba.in);
  visit(mamba.out);
}

template <typename Visit>
void ForEachMatrix(const GatedDelta& delta, Visit visit) {
  if (delta.joined) {
    visit(delta.qkvz);
    visit(delta.gates);
  } else {
    visit(delta.qkv);
    visit(delta.z);
    visit(delta.beta);
    visit(delta.decay);
  }
  visit(delta.out);
}

template <typename Visit>
void ForEachMatrix(const LightningAttention& attention, Visit visit) {
  visit(attention.qkv);
  visit(attention.out);
  visit(attention.gate);
}

template <typename Visit>
void ForEachMatrix(const ShortConvolution& mixer, Visit visit) {
  visit(mixer.in);
  visit(mixer.out);
}

}  // namespace tunefit
