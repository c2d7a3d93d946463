#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/trace/data_parallel.h"

namespace tunefit {

/// A model beside the trained one, as TRL prepares it.
struct Companion {
  Workload workload;
  std::unique_ptr<ShardedUnits> units;
  std::optional<TracedModel> model;
};

/// The models that a task keeps beside the trained one.
struct Companions {
  Companion reference;  ///< a frozen copy, where the workload has one
  Companion reward;     ///< ppo: frozen, with a head of one score
  Companion value;      ///< ppo: trained in full, with a head of one score

  /// Of all of them and of the trained model, whose units are given.
  std::vector<StorageId> Shards(const ShardedUnits* trained) const;
};

/// Declares them, and what a colocated engine holds. `companions` must outlive the trace and not move.
void MakeCompanions(Tracer& tracer, const Workload& workload, Unrolling unrolling, Companions& companions);

/// For the life of the object the tracer runs `model`: with the hooks of its shards, under autocast where it is.
class RunsModel {
 public:
  RunsModel(Tracer& tracer, const TracedModel& model)
      : tracer_(tracer), units_(tracer.units()), autocast_(tracer.autocast()) {
    tracer_.ShardWith(model.units);
    if (!model.workload->precision.autocast) tracer_.SetAutocast(std::nullopt);
  }
  RunsModel(const RunsModel&) = delete;
  RunsModel& operator=(const RunsModel&) = delete;
  ~RunsModel() {
    tracer_.ShardWith(units_);
    tracer_.SetAutocast(autocast_);
  }

 private:
  Tracer& tracer_;
  ShardedUnits* units_;
  std::optional<Dtype> autocast_;
};

/// A model's head on all tokens, or on the last ones of each sequence where the task asks for no more; as accelerate
/// returns it, in fp32 after a forward pass under autocast. Ends that pass and leaves the model.
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
