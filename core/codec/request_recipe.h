#pragma once

#include <string_view>

#include "core/model/recipe.h"

// The words of the contract for what core/model/recipe.h names, both ways.

namespace tunefit {

/// The kind of a word among words::modelled::kMethod; kFull for any other.
MethodKind ReadMethodKind(std::string_view word);

/// The dtype of a word among words::kPrecision.
Dtype ReadDtype(std::string_view word);

/// "gptq"; empty for none.
std::string_view QuantizationWord(QuantizationKind kind);

/// The kind of a word among words::kQuantization.
QuantizationKind ReadQuantizationKind(std::string_view word);

/// The groups of a packed format matter, and the request may state them: GPTQ, AWQ, HQQ.
bool HasGroups(QuantizationKind kind);

/// Weights that share a scale where nobody says it: what the formats' own configs take.
std::int64_t UsualGroupSize(QuantizationKind kind);

/// The update rule of a word among words::modelled::kOptimizer, and whether it updates within backward by its name.
struct OptimizerWord {
  Optimizer optimizer = Optimizer::kAdamwFused;
  bool layerwise = false;
};
OptimizerWord ReadOptimizer(std::string_view word);

/// GaLore and APOLLO have a rank.
bool HasRank(Optimizer optimizer);

}  // namespace tunefit
