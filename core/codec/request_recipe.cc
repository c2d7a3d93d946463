#include "core/codec/request_recipe.h"

#include "core/codec/request_words.h"

namespace tunefit {
namespace {

struct OptimizerName {
  std::string_view word;
  Optimizer optimizer;
};

constexpr OptimizerName kOptimizers[] = {
    {"adamw_torch", Optimizer::kAdamwForeach},
    {"adamw_torch_fused", Optimizer::kAdamwFused},
    {"adamw_apex_fused", Optimizer::kAdamwFused},
    {"adamw_hf", Optimizer::kAdamwLoop},
    {"adamw_anyprecision", Optimizer::kAdamwAnyPrecision},
    {"adamw_torch_8bit", Optimizer::kAdamwTorchao8bit},
    {"adamw_torch_4bit", Optimizer::kAdamwTorchao4bit},
    {"adamw_bnb_8bit", Optimizer::kAdamw8bit},
    {"adamw_8bit", Optimizer::kAdamw8bit},
    {"paged_adamw_32bit", Optimizer::kPagedAdamw32bit},
    {"paged_adamw_8bit", Optimizer::kPagedAdamw8bit},
    {"ademamix", Optimizer::kAdemamix},
    {"ademamix_8bit", Optimizer::kAdemamix8bit},
    {"paged_ademamix_32bit", Optimizer::kPagedAdemamix32bit},
    {"paged_ademamix_8bit", Optimizer::kPagedAdemamix8bit},
    {"lion_32bit", Optimizer::kLion32bit},
    {"lion_8bit", Optimizer::kLion8bit},
    {"paged_lion_32bit", Optimizer::kPagedLion32bit},
    {"paged_lion_8bit", Optimizer::kPagedLion8bit},
    {"rmsprop_bnb", Optimizer::kRmspropBnb32bit},
    {"rmsprop_bnb_32bit", Optimizer::kRmspropBnb32bit},
    {"rmsprop_bnb_8bit", Optimizer::kRmspropBnb8bit},
    {"adafactor", Optimizer::kAdafactor},
    {"sgd", Optimizer::kSgd},
    {"adagrad", Optimizer::kAdagrad},
    {"rmsprop", Optimizer::kRmsprop},
    {"galore_adamw", Optimizer::kGaloreAdamw},
    {"galore_adamw_8bit", Optimizer::kGaloreAdamw8bit},
    {"galore_adafactor", Optimizer::kGaloreAdafactor},
    {"apollo_adamw", Optimizer::kApolloAdamw},
    {"muon", Optimizer::kMuon},
    {"adam_mini", Optimizer::kAdamMini},
    {"lomo", Optimizer::kLomo},
    {"adalomo", Optimizer::kAdalomo},
    {"grokadamw", Optimizer::kGrokadamw},
    {"schedule_free_adamw", Optimizer::kScheduleFreeAdamw},
    {"schedule_free_radam", Optimizer::kScheduleFreeAdamw},
    {"schedule_free_sgd", Optimizer::kScheduleFreeSgd},
    {"stable_adamw", Optimizer::kStableAdamw},
};

constexpr std::string_view kLayerwise = "_layerwise";

}  // namespace

OptimizerWord ReadOptimizer(std::string_view word) {
  OptimizerWord read;
  if (word.size() > kLayerwise.size() && word.substr(word.size() - kLayerwise.size()) == kLayerwise) {
    word.remove_suffix(kLayerwise.size());
    read.layerwise = true;
  }
  for (const OptimizerName& known : kOptimizers) {
    if (known.word == word) read.optimizer = known.optimizer;
  }
  return read;
}

bool HasRank(Optimizer optimizer) {
  return optimizer == Optimizer::kGaloreAdamw || optimizer == Optimizer::kGaloreAdamw8bit ||
         optimizer == Optimizer::kGaloreAdafactor || optimizer == Optimizer::kApolloAdamw;
}

// words::modelled::kMethod is in the order of MethodKind.

MethodKind ReadMethodKind(std::string_view word) {
  for (std::size_t i = 0; i < words::modelled::kMethod.size(); ++i) {
    if (words::modelled::kMethod[i] == word) return static_cast<MethodKind>(i);
  }
  return MethodKind::kFull;
}

Dtype ReadDtype(std::string_view word) {
  for (const Dtype dtype : {Dtype::kFp32, Dtype::kBf16, Dtype::kFp16}) {
    if (word == DtypeName(dtype)) return dtype;
  }
  return Dtype::kFp8;
}

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
