#pragma once

#include <cstdint>

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

}  // namespace tunefit
