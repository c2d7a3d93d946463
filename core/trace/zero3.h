#pragma once

#include "core/trace/sharding.h"

namespace tunefit {

/// DeepSpeed's stage 3 (partition_parameters.py, partitioned_param_coordinator.py, stage3.py): every parameter is cut
/// flat, gathered into a tensor of its own when its module runs and the next ones ahead of it, and freed after it.
/// Gradients leave autograd for a bucket that lives throughout; a rank keeps its part of them in a flat buffer that
/// lives as long. Layers stand for the modules within them.
class Zero3Units : public ShardedUnits {
 public:
  using ShardedUnits::ShardedUnits;

  void BeforeForward(std::int32_t unit) override;
  void AfterForward(std::int32_t unit) override;
  void EndForward() override {}
  void BeforeBackward(std::int32_t unit) override;
  void AfterBackward(std::int32_t unit) override;
  void EndBackward() override;
  void BeginGeneration() override;
  void EndGeneration() override;

 private:
  void Fetch(Unit& unit);
  bool StaysWhole(std::int32_t unit, bool with_gradients) const override;
  Stream StreamOfWhole() const override { return Stream::kGather; }
  double ShardElements(const WeightShape& shape, double ranks) const override;

  bool all_gathered_ = false;  ///< and no hook runs
};

}  // namespace tunefit
