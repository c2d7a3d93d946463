#pragma once

#include "core/trace/data_parallel.h"

namespace tunefit {

/// The model's own loss: all tasks but those of TRL's trainers. An encoder's classifier is its class's own, too.
bool HasPlainLoss(const Workload& workload);

/// Inputs, the model's forward pass and its loss, as transformers' classes and the pre-training stacks have them.
class PlainPass {
 public:
  PlainPass(Tracer& tracer, const Workload& workload, const TracedModel& model);

  /// A stage that is not the last ends in the hidden states that it sends on.
  Value Loss(Moment moment);
  /// A checkpointed layer's arguments live until its recomputation is done.
  void EndContext() { context_ = {}; }

 private:
  Tracer& tracer_;
  const Workload& workload_;
  const TracedModel& model_;
  Value ids_, padding_, labels_;
  Value all_labels_;  ///< those of the tokens that a prompt adds among them
  LayerContext context_;
};

}  // namespace tunefit
