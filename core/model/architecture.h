#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/issue.h"

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

/// One decoder layer. Norms before attention and MLP always; the two `after` norms only where the family has them.
struct Block {
  NormKind norm = NormKind::kRmsNorm;
  bool norms_after = false;  ///< Gemma 2: a second norm on the output of attention and of the MLP
  Attention attention;
  Mlp mlp;
  double residual_dropout = 0;   ///< GPT-2: dropout on the output of attention and of the MLP
  bool scales_residual = false;  ///< Granite: outputs are multiplied by residual_multiplier

  bool operator==(const Block&) const = default;
};

/// A run of layers: the period is repeated `repeats` times. Alternating kinds of layers are a period of two.
struct LayerRun {
  std::vector<Block> period;
  std::int64_t repeats = 0;
};

/// A decoder-only language model as its library builds it. Plain data; `Validate` says what must hold.
struct Architecture {
  std::string model_type;  ///< Hugging Face's name of the class, e.g. "llama"
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;      ///< rows of the embedding as stored
  std::int64_t context_tokens = 0;  ///< max_position_embeddings; 0 when the config does not say
  std::int64_t position_rows = 0;   ///< rows of a learned position table; 0 with rotary positions
  bool tied_head = false;           ///< the output head is the embedding
  bool scales_embedding = false;    ///< embeddings are multiplied by a constant (Gemma, Granite)
  bool scales_logits = false;       ///< logits are divided by a constant (Granite)
  bool logits_softcap = false;      ///< tanh soft-capping of the logits (Gemma 2)
  double embedding_dropout = 0;     ///< GPT-2: dropout after the embeddings
  NormKind final_norm = NormKind::kRmsNorm;
  std::vector<LayerRun> runs;
  /// Prefix of module paths in reports: "model.layers.*" or "transformer.h.*".
  const char* layer_path = "model.layers.*";

  std::int64_t layers() const;
};

/// Faults of an architecture: sizes below one, heads that do not divide, a period that is empty. `field` is the
/// config's key. Empty when the architecture can be counted and traced.
Issues Validate(const Architecture& architecture);

}  // namespace tunefit
