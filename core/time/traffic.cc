#include "core/time/traffic.h"

#include "core/model/parallel.h"

namespace tunefit {
namespace {

/// Sums `part(storage, elements)` over all weights that train.
template <typename Part>
double SumTrained(const Step& step, Part part) {
  double sum = 0;
  for (const Resident& weight : step.trained) {
    const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
    sum += part(storage, static_cast<double>(weight.count) * storage.elements.coefficient);
  }
  return sum;
}

/// Over those of which other ranks hold copies: an expert may have no other rank.
template <typename Part>
double SumShared(const Parallel& parallel, const Step& step, Part part) {
  return SumTrained(step, [&](const Storage& storage, double elements) {
    return ShardsOf(parallel, storage) > 1 ? part(storage, elements) : 0;
  });
}

bool ReducesInFp32(const Workload& workload) {
  return workload.habits.master_gradients == MasterGradients::kFp32Buffer;
}

Reduction ReductionUnderDdp(const Workload& workload, const Step& step) {
  const bool in_fp32 = ReducesInFp32(workload);
  return {.bytes = 2 * SumShared(workload.parallel, step, [&](const Storage& storage, double elements) {
                     return elements * (in_fp32 ? 4.0 : BytesPerElement(storage.dtype));
                   })};
}

Reduction ReductionOfStates(const Workload& workload, const Step& step) {
  const Parallel& parallel = workload.parallel;
  const double trained = SumShared(parallel, step, [](const Storage&, double elements) { return elements; });
  if (ReducesInFp32(workload)) return {.bytes = (4 + kBytesOfWeight) * trained};
  const double passes =
      parallel.strategy == Strategy::kZero2 ? static_cast<double>(workload.batch.gradient_accumulation) : 1;
  const double gradients = 2 * BytesPerElement(workload.precision.compute) * trained * passes;
  const double weights = kBytesOfWeight * trained;
  if (parallel.zero.overlap_comm) return {.bytes = gradients, .waited_bytes = weights};
  return {.waited_bytes = gradients + weights};
}

}  // namespace

Reduction ReductionOf(const Workload& workload, const Step& step) {
  const Parallel& parallel = workload.parallel;
  if (parallel.DataRanks() <= 1) return {};
  if (ShardsStatesOnly(parallel.strategy)) return ReductionOfStates(workload, step);
  if (parallel.strategy == Strategy::kDdp) return ReductionUnderDdp(workload, step);
  if (!ShardsParameters(parallel.strategy) || parallel.Replicas() <= 1) return {};
  const double share = CountElements(step, step.trained) / static_cast<double>(parallel.Shards());
  return {.bytes = 2 * BytesPerElement(parallel.reduce_dtype) * share};
}

double UpdatedElements(const Workload& workload, const Step& step) {
  const Parallel& parallel = workload.parallel;
  if (!ShardsStatesOnly(parallel.strategy)) return CountElements(step, step.trained);
  return SumTrained(step,
                    [&](const Storage& storage, double elements) { return elements / ShardsOf(parallel, storage); });
}

}  // namespace tunefit
