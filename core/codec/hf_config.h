#pragma once

#include <optional>
#include <string>

#include "core/codec/assumption.h"
#include "core/codec/json_reader.h"
#include "core/model/architecture.h"
#include "core/model/workload.h"

namespace tunefit {

/// What a Hugging Face config.json says.
struct HfConfig {
  Architecture architecture;
  /// The quantization that the checkpoint is stored in.
  std::optional<Quantization> quantization;
  /// The checkpoint's quantization method where it is another one ("compressed-tensors"); empty otherwise.
  std::string other_quantization;
  /// What the config leaves to its class and that changes the count or the memory.
  Assumptions assumptions;
};

/// Reads a config of one of the modelled families. Unknown keys are ignored, null is as good as absent, the alternative
/// names of other families are understood. The answer may only be used when no error was added to the reader's issues:
/// `missing_field`, `not_modelled` {value} (the model_type, or an activation), `heads_do_not_divide`,
/// `model_too_large` {value, high}, and those of the reader. Quantization never changes the counted parameters.
HfConfig ReadHfConfig(const ObjectReader& config);

/// Most parameters of a model; sizes beyond it are refused, so that no count overflows.
inline constexpr double kParameterLimit = 1e14;

}  // namespace tunefit
