#pragma once

#include <optional>

#include "core/trace/modules.h"

namespace tunefit {

/// What stands on an encoder: a masked language model's head over all tokens, or a classifier over the first.
struct EncoderHead {
  LinearModule dense;
  std::optional<NormModule> norm;
  LinearModule output;
};

/// Declares the head of the class that the task loads: AutoModelForMaskedLM, or AutoModelForSequenceClassification
/// where the architecture has labels. `table` is the token table that the masked language model's output shares.
EncoderHead MakeEncoderHead(ModuleFactory& factory, const Architecture& architecture, const Value& table);

/// From the last hidden states to the loss. Ends the forward pass, as TraceLoss does.
Value TraceEncoderLoss(Tracer& tracer, const Workload& workload, const EncoderHead& head, const Value& hidden,
                       const Value& labels);

}  // namespace tunefit
