#pragma once

#include <cstdint>

#include "core/trace/sharding.h"

namespace tunefit {

/// DeepSpeed's stage 3 (partition_parameters.py, partitioned_param_coordinator.py, stage3.py): every parameter is cut
/// flat, gathered into a tensor of its own when its module runs and the next ones ahead of it, and freed after it
/// unless it is used again soon. Small ones are never freed. Gradients leave autograd for a bucket that lives
/// throughout; a rank keeps its part of them in a flat buffer that lives as long. Layers stand for the modules within
/// them.
class Zero3Units : public ShardedUnits {
 public:
  Zero3Units(Tracer& tracer, const Workload& workload);

  void BeforeForward(std::int32_t unit) override;
  void AfterForward(std::int32_t unit) override;
  void EndForward() override;
  void BeforeBackward(std::int32_t unit) override;
  void AfterBackward(std::int32_t unit) override;
  void EndBackward() override;
  void BeginGeneration() override;
  void EndGeneration() override;
  std::optional<std::int64_t> FirstLayerKept() const override { return first_reused_; }

 private:
  void Fetch(Unit& unit);
  /// Elements of the layers that are whole beside one at work. Whenever a module begins, with parameters or without,
  /// the next prefetch_bucket_size of them are gathered (fetch_sub_module): there are more modules than parameters, so
  /// that the limit is what may be alive at all, max_live_parameters.
  struct Ahead {
    double of_next = 0;    ///< of the layer that comes next, parameter by parameter
    double of_others = 0;  ///< of those after it
  };
  Ahead ElementsAhead() const;
  void FetchAhead(std::int32_t unit);
  /// Frees what may be freed; with ZeRO++'s hpZ a second share of it, of fewer ranks, stays until the step.
  void LetGo(Unit& unit);
  bool StaysWhole(std::int32_t unit, bool with_gradients) const override;
  Stream StreamOfWhole() const override { return zero_.overlap_comm ? Stream::kGather : Stream::kCompute; }
  double ShardElements(const WeightShape& shape, double ranks) const override;
  bool Persists(double elements) const override;

  const ZeroSettings zero_;
  const std::int64_t first_reused_;
  StorageId ahead_ = kNoStorage;
  bool all_gathered_ = false;  ///< and no hook runs
};

/// The first of the layers whose parameters stay whole from their forward pass on, because they are used again within
/// stage 3's max_reuse_distance (__params_to_release): what runs in between counts as often as it runs.
std::int64_t FirstReusedLayer(const Workload& workload);

}  // namespace tunefit
