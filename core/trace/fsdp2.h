#pragma once

#include "core/trace/sharding.h"

namespace tunefit {

/// torch.distributed.fsdp.fully_shard on every layer and on the root, as _fsdp_param_group.py and _fsdp_collectives.py
/// (torch 2.4 to 2.14) do it: an all-gather into one buffer, copied out into a tensor for each parameter; gradients
/// copied into one buffer that is reduced and scattered. In order of the calls, which is what torch's counters follow.
class Fsdp2Units : public ShardedUnits {
 public:
  Fsdp2Units(Tracer& tracer, const Workload& workload);

  void BeforeForward(std::int32_t unit) override;
  void AfterForward(std::int32_t unit) override;
  void EndForward() override;
  void BeforeBackward(std::int32_t unit) override;
  void AfterBackward(std::int32_t unit) override;
  void EndBackward() override;

 private:
  Stream StreamOfWhole() const override { return Stream::kCompute; }
  bool StaysWhole(std::int32_t /*unit*/, bool /*with_gradients*/) const override { return !reshards_; }
  double ShardElements(const WeightShape& shape, double ranks) const override;
  void Gather(Unit& unit);
  void Reduce(const Unit& unit);

  const bool has_replicas_;            ///< a mesh of two dimensions (hybrid sharding)
  StorageId copied_out_ = kNoStorage;  ///< the forward pass frees a gathered buffer after the next one is copied out
  StorageId reducing_ = kNoStorage;    ///< the input of the last reduce-scatter, freed before the next one
};

}  // namespace tunefit
