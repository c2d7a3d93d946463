#pragma once

#include "core/trace/sharding.h"

namespace tunefit {

/// torch.distributed.fsdp.FullyShardedDataParallel on every layer and on the root, as _flat_param.py and
/// _runtime_utils.py (torch 2.1 to 2.14) do it: the parameters of a unit are views of one flat parameter, which is
/// gathered in place; its gradient is the views' gradients joined into one. Frozen and trained parameters are units of
/// their own, as PEFT's wrapping policy has it. The next unit of backward is gathered while one is at work.
class Fsdp1Units : public ShardedUnits {
 public:
  Fsdp1Units(Tracer& tracer, const Workload& workload);

  /// A frozen unit learns from a hook on its inputs that its backward pass is over. Under reentrant checkpointing these
  /// are leaves, and the hook's handle, which FSDP keeps to the end, keeps each with its gradient
  /// (_register_post_backward_reshard_only_hook).
  bool HoldsInputs() const override { return holds_inputs_; }
  void BeforeForward(std::int32_t unit) override;
  void AfterForward(std::int32_t unit) override;
  void EndForward() override {}
  void BeginGeneration() override;
  void EndGeneration() override;
  void BeforeBackward(std::int32_t unit) override;
  void AfterBackward(std::int32_t unit) override;
  void EndBackward() override;

 private:
  Stream StreamOfWhole() const override { return Stream::kGather; }
  bool StaysWhole(std::int32_t unit, bool /*with_gradients*/) const override { return !reshards_ || unit == 0; }
  double ShardElements(const WeightShape& shape, double ranks) const override;
  void Gather(Unit& unit);
  void Reduce(Unit& unit);

  /// Only a unit whose output has a hook is gathered ahead (_get_handle_to_prefetch asks for
  /// _needs_pre_backward_unshard), and under reentrant checkpointing it gets that when its layer is run again.
  const bool prefetches_;
  const bool holds_inputs_;
  StorageId summoned_ = kNoStorage;  ///< the root's parameters during generation
};

}  // namespace tunefit
