#include "core/codec/request_recipe.h"

#include "core/codec/request_words.h"

namespace tunefit {

// words::kQuantization is in the order of QuantizationKind, which begins with kNone.

std::string_view QuantizationWord(QuantizationKind kind) {
  if (kind == QuantizationKind::kNone) return {};
  return words::kQuantization[static_cast<std::size_t>(kind) - 1];
}

QuantizationKind ReadQuantizationKind(std::string_view word) {
  for (std::size_t i = 0; i < words::kQuantization.size(); ++i) {
    if (words::kQuantization[i] == word) return static_cast<QuantizationKind>(i + 1);
  }
  return QuantizationKind::kNone;
}

bool HasGroups(QuantizationKind kind) {
  return kind == QuantizationKind::kGptq || kind == QuantizationKind::kAwq || kind == QuantizationKind::kHqq;
}

std::int64_t UsualGroupSize(QuantizationKind kind) {
  return kind == QuantizationKind::kHqq ? 64 : 128;  // HqqConfig; GPTQConfig, AwqConfig
}

}  // namespace tunefit
