#pragma once

#include <cstdint>
#include <variant>

namespace tunefit {

/// A matrix of the model as its library holds it. `name` is its module's path within a layer, as much of it as tells
/// modules apart ("q_proj", "attn.c_proj"): LoRA's target_modules select by its end. Weights are out_features x
/// in_features, the bias out_features.
struct LinearShape {
  const char* name = "";
  std::int64_t in_features = 0;
  std::int64_t out_features = 0;
  bool bias = false;

  bool operator==(const LinearShape&) const = default;
};

enum class NormKind : std::uint8_t {
  kRmsNorm,          ///< Llama's: fp32 inside, cast back, then times the weight
  kRmsNormUnitGain,  ///< Gemma's: fp32 inside, times (1 + weight) in fp32, then cast back
  kLayerNorm,        ///< torch.nn.LayerNorm with weight and bias
};

enum class Activation : std::uint8_t {
  kSilu,
  kGeluTanh,  ///< one fused operation (gelu_pytorch_tanh)
  kGeluNew,   ///< written out in elementwise operations (GPT-2's gelu_new)
};

/// How a module projects to queries, keys and values.
enum class QkvLayout : std::uint8_t {
  kSeparate,  ///< q, k and v are matrices of their own
  kFused,     ///< one matrix, split afterwards (GPT-2 c_attn, InternLM2 wqkv, Qwen 1 c_attn)
};

struct Attention {
  QkvLayout layout = QkvLayout::kSeparate;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  /// kSeparate: q, k, v, output. kFused: qkv, (unused), (unused), output.
  LinearShape query, key, value, output;
  bool rotary = true;          ///< rotary positions on q and k
  bool head_norm = false;      ///< an RMS norm of head_dim on every q and k head (Qwen3)
  bool score_softcap = false;  ///< tanh soft-capping of the scores, in eager attention (Gemma 2)
  std::int64_t window = 0;     ///< tokens of a sliding window; 0 for none
  double dropout = 0;          ///< of the attention probabilities, as the config sets it

  bool operator==(const Attention&) const = default;
};

struct Mlp {
  bool gated = true;  ///< activation(gate) x up, then down; else down(activation(up))
  LinearShape gate, up, down;
  Activation activation = Activation::kSilu;

  bool operator==(const Mlp&) const = default;
};

/// What mixes the tokens of a sequence, and what then works on each token by itself. A new kind is one more
/// alternative: its shapes here, `ForEachMatrix` and `CountBlock`, its module and forward pass in core/trace.
using Mixer = std::variant<Attention>;
using FeedForward = std::variant<Mlp>;

/// Where the norms of a layer stand, and how its two parts join the residual stream.
enum class Arrangement : std::uint8_t {
  kPreNorm,       ///< x + part(norm(x)), twice (Llama, GPT-2)
  kSandwichNorm,  ///< x + norm(part(norm(x))), twice (Gemma 2)
};

/// One layer of a decoder.
struct Block {
  Arrangement arrangement = Arrangement::kPreNorm;
  NormKind norm = NormKind::kRmsNorm;
  Mixer mixer;
  FeedForward feed_forward;
  double residual_dropout = 0;   ///< GPT-2: dropout on the output of attention and of the MLP
  bool scales_residual = false;  ///< Granite: outputs are multiplied by residual_multiplier

  bool operator==(const Block&) const = default;
};

/// Calls `visit` for every matrix of a layer that an adapter may sit on, in the order of the library's modules.
template <typename Visit>
void ForEachMatrix(const Attention& attention, Visit visit) {
  visit(attention.query);
  if (attention.layout == QkvLayout::kSeparate) {
    visit(attention.key);
    visit(attention.value);
  }
  visit(attention.output);
}

template <typename Visit>
void ForEachMatrix(const Mlp& mlp, Visit visit) {
  if (mlp.gated) visit(mlp.gate);
  visit(mlp.up);
  visit(mlp.down);
}

template <typename Visit>
void ForEachMatrix(const Block& block, Visit visit) {
  std::visit([&visit](const auto& mixer) { ForEachMatrix(mixer, visit); }, block.mixer);
  std::visit([&visit](const auto& feed_forward) { ForEachMatrix(feed_forward, visit); }, block.feed_forward);
}

}  // namespace tunefit
