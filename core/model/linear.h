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
  /// Written as x @ weight.T + bias instead of a call of torch.nn.functional.linear (Falcon): autocast caches no copy
  /// of a view.
  bool by_hand = false;
  /// Kept out of quantization, and in fp32 where the model is loaded in fp16 (transformers' _keep_in_fp32_modules).
  bool stays_wide = false;
  /// Its class computes with the weight itself, so that nobody can pack it (Gemma 3n's coefficients).
  bool stays_plain = false;
  /// A side is a handful of numbers: adapters of any rank sit on it.
  bool any_rank = false;

  bool operator==(const LinearShape&) const = default;
};

enum class NormKind : std::uint8_t {
  kRmsNorm,            ///< Llama's: fp32 inside, cast back, then times the weight
  kRmsNormUnitGain,    ///< Gemma's: fp32 inside, times (1 + weight) in fp32, then cast back
  kRmsNormFp32Gain,    ///< OLMo 2's and gpt-oss's: fp32 inside, times the weight in fp32, then cast back
  kRmsNormPromoted,    ///< T5's: statistics in fp32, which the product takes over; cast to 16 bits only for 16-bit
                       ///< weights
  kRmsNormBare,        ///< in fp32, without parameters, cast back (Llama 4's queries and keys)
  kRmsNormPower,       ///< Gemma 3n's: fp32 inside, the root as a power, times the weight in fp32, then cast back
  kRmsNormPowerBare,   ///< the same without a weight (its values)
  kLayerNorm,          ///< torch.nn.LayerNorm with weight and bias
  kLayerNormNoBias,    ///< the same kernel with a weight only (MPT, ModernBERT)
  kLayerNormBare,      ///< the same kernel in fp32, without parameters (OLMo 1)
  kLayerNormUnitGain,  ///< the same kernel with 1 + weight, and a bias (Nemotron's LayerNorm1P)
  kLayerNormWritten,   ///< written out in fp32, a weight only (Cohere)
};

enum class Activation : std::uint8_t {
  kSilu,
  kGelu,         ///< one fused operation that keeps its input: exact or by tanh
  kGeluNew,      ///< written out in elementwise operations (GPT-2's gelu_new)
  kGeluFast,     ///< another way of writing it out (GPT-NeoX-20B's gelu_fast)
  kGeluByHand,   ///< a function that keeps its input and works through temporaries (BLOOM)
  kQuickGelu,    ///< x * sigmoid(1.702 x)
  kRelu,         ///< keeps its output
  kReluSquared,  ///< Nemotron
  kXielu,        ///< Apertus: two branches on x, two trained scalars
};

}  // namespace tunefit
