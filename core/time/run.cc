#include "core/time/run.h"

#include <algorithm>
#include <cmath>

namespace tunefit {

std::optional<RunLength> LengthOf(const Dataset& dataset, const Workload& workload, double tokens_per_step) {
  const auto length = static_cast<double>(workload.batch.sequence_length);
  const double per_example = std::min(dataset.mean_tokens.value_or(length), length);
  RunLength run;
  if (dataset.tokens) {
    run.trained_tokens = *dataset.tokens * dataset.epochs;
  } else if (dataset.examples) {
    run.trained_tokens = *dataset.examples * per_example * dataset.epochs;
  } else {
    return {};
  }
  double filled = run.trained_tokens;
  if (workload.batch.packing == Packing::kNone) {
    const double examples = dataset.examples ? *dataset.examples * dataset.epochs : run.trained_tokens / per_example;
    filled = examples * length;
  }
  // A pair of answers is two sequences.
  filled *=
      static_cast<double>(SequencesOf(workload.task, workload.batch)) / static_cast<double>(workload.batch.per_device);
  run.steps = std::ceil(filled / tokens_per_step);
  run.computed_tokens = run.steps * tokens_per_step;
  return run;
}

TimeEstimate EstimateTime(const Workload& workload, const std::vector<TracedRank>& job, const Gpu& gpu,
                          const Wiring& wiring, const Efficiencies& efficiencies, const Dataset& dataset) {
  TimeEstimate estimate;
  const StepCounts counts = CountStep(workload, job);
  const double network = efficiencies.Of(gpu).network_bytes_per_second;
  const Fabric fabric = FabricOf(gpu, workload.parallel, wiring, network);
  estimate.step = TimeStep(counts, workload, gpu, fabric, efficiencies);
  estimate.step_seconds = RangeOf(estimate.step, efficiencies);
  estimate.tokens_per_step = counts.tokens;
  const double peak = PrintedRate(gpu, workload.precision.fp8_products ? Dtype::kFp8 : workload.precision.compute);
  const auto gpus = static_cast<double>(workload.parallel.gpus);
  estimate.model_flops_utilization = Utilization(counts.model_flops, estimate.step.seconds, gpus, peak);
  estimate.hardware_flops_utilization = Utilization(counts.hardware_flops, estimate.step.seconds, gpus, peak);
  estimate.run = LengthOf(dataset, workload, counts.tokens);
  if (estimate.run) estimate.total_seconds = estimate.step_seconds * estimate.run->steps;
  return estimate;
}

bool HasRates(const Gpu& gpu) { return std::max(gpu.peak.fp16, gpu.peak.bf16) > 0; }

bool IsTimed(const Workload& workload) {
  return workload.task != Task::kGrpo && workload.task != Task::kPpo && !IsPlaced(workload.parallel);
}

}  // namespace tunefit
