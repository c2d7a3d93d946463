#pragma once

#include <span>
#include <string_view>

namespace tunefit {

/// The modules that PEFT's IA3 takes for a model type where nobody names them, and those among them whose input is
/// scaled. Facts of one file of PEFT's, whichever stack runs it.
struct Ia3Modules {
  std::string_view model_type;
  std::span<const std::string_view> targets;
  std::span<const std::string_view> feedforward;
};

/// Null for a type that PEFT does not know: it then wants both to be named.
const Ia3Modules* FindIa3Modules(std::string_view model_type);

}  // namespace tunefit
