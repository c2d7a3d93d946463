#pragma once

#include "core/trace/decoder.h"

namespace tunefit {

/// What a router answers. Its caller holds the logits until the block returns.
struct Routing {
  Value logits;
  Value weights;  ///< of each token's experts
  Value indices;  ///< which experts; empty where they are drawn without a gradient
};

/// The experts of each token and their weights. `tokens` is the hidden states by tokens.
Routing Route(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& tokens);

}  // namespace tunefit
