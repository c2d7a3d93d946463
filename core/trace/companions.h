#pragma once

#include <optional>

#include "core/trace/model.h"

namespace tunefit {

/// The models that a task keeps beside the trained one.
struct Companions {
  Workload reference_workload, reward_workload, value_workload;
  std::optional<TracedModel> reference;  ///< a frozen copy, where the workload has one
  std::optional<TracedModel> reward;     ///< ppo: frozen, with a head of one score
  std::optional<TracedModel> value;      ///< ppo: trained in full, with a head of one score
};

/// Declares them, and what a colocated engine holds. `companions` must outlive the trace and not move.
void MakeCompanions(Tracer& tracer, const Workload& workload, Unrolling unrolling, Companions& companions);

/// A model's head on all tokens, or on the last ones of each sequence where the task asks for no more; as accelerate
/// returns it, in fp32 after a forward pass under autocast. Ends that pass.
Value ReturnedLogits(Tracer& tracer, const TracedModel& model, const Value& hidden);

/// torch.no_grad for the life of the object; PEFT's disable_adapter too where the reference is the model itself.
class WithoutGradients {
 public:
  explicit WithoutGradients(Tracer& tracer, bool disables_adapters = false)
      : tracer_(tracer), gradients_(tracer.gradients()), adapters_disabled_(tracer.adapters_disabled) {
    tracer_.SetGradients(false);
    tracer_.adapters_disabled = disables_adapters;
  }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;
  ~WithoutGradients() {
    tracer_.SetGradients(gradients_);
    tracer_.adapters_disabled = adapters_disabled_;
  }

 private:
  Tracer& tracer_;
  bool gradients_, adapters_disabled_;  ///< as they were
};

}  // namespace tunefit
