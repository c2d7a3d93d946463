#pragma once

#include "core/model/workload.h"
#include "core/time/step_time.h"

namespace tunefit {

inline double& At(StepTime& time, TimeTerm term) { return time.terms[static_cast<std::size_t>(term)]; }

/// What the rates and shares of one card come to. It refers to what it is made of, which must outlive it.
class Clock {
 public:
  Clock(const Workload& workload, const Gpu& gpu, const Fabric& fabric, const Efficiencies& efficiencies);

  /// One micro-batch, without the pipeline.
  void AddMicroBatch(const MicroBatchWork& work, StepTime& time) const;
  /// Of matrix products with nothing else in the way.
  double ProductSeconds(const MicroBatchWork& work) const;
  double LaunchSeconds(const MicroBatchWork& work) const;
  double MemorySeconds(double bytes) const;
  double OffloadSeconds(double bytes) const;
  double card_bytes() const { return gpu_.usable_bytes; }
  /// Of what ranks that hold shards or copies of the same weights send each other.
  double GatherSeconds(double bytes) const;
  /// Around all ranks that hold copies of the same weights, or of the same shards.
  double ReduceSeconds(double bytes) const;
  /// To so many GPUs outside the job, over its link where its machine or rack has room for them, else over the network.
  double SendSeconds(double bytes, std::int64_t others) const;
  /// A pass without gradients, of which `computed` are the parts: with the wait for the weights that it gathers.
  double WithGathers(const MicroBatchWork& work, const StepTime& computed) const;
  /// Of seconds of traffic, those that `computed` seconds do not hide.
  double Waited(double traffic, double computed) const;

 private:
  /// Of a bandwidth as printed.
  double Achieved(double bytes_per_second) const;

  const Parallel& parallel_;
  const Gpu& gpu_;
  const Fabric& fabric_;
  const Efficiencies& efficiencies_;
  double rate_ = 1, rate_fp32_ = 1, rate_fp8_ = 1, attention_rate_ = 1;
};

}  // namespace tunefit
