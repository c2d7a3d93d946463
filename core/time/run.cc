#include "core/time/run.h"

#include <algorithm>
#include <cmath>

#include "core/model/parameters.h"
#include "core/time/evaluation.h"
#include "core/time/row_length.h"

namespace tunefit {

namespace {

/// The rows of data, before they are shared out.
struct Rows {
  double examples = 0;  ///< of an epoch
  double mean = 0;      ///< tokens of an example, a longer one cut
  double trained = 0;   ///< tokens of an epoch
};

std::optional<Rows> RowsOf(const Dataset& dataset, double length) {
  if (!dataset.tokens && !dataset.examples) return {};
  double mean = length;
  if (dataset.mean_tokens) {
    mean = *dataset.mean_tokens;
  } else if (dataset.tokens && dataset.examples && *dataset.examples > 0) {
    mean = *dataset.tokens / *dataset.examples;
  }
  Rows rows;
  rows.mean = std::min(mean, length);
  rows.examples = dataset.examples ? *dataset.examples : *dataset.tokens / rows.mean;
  rows.trained = dataset.tokens ? *dataset.tokens : *dataset.examples * rows.mean;
  return rows;
}

void FillRowLengths(const Workload& workload, double mean, RunLength& run) {
  const Batch& batch = workload.batch;
  const auto length = static_cast<double>(batch.sequence_length);
  run.row_tokens = run.waited_tokens = length;
  if (batch.packing != Packing::kNone || !workload.habits.pads_to_longest) return;
  const Parallel& parallel = workload.parallel;
  const std::int64_t rows = SequencesOf(workload.task, batch);
  run.row_tokens = LongestOf(rows, mean, length);
  const double longest_of_all = LongestOf(rows * parallel.RowRanks(), mean, length);
  const std::int64_t averaged = GathersParameters(parallel) ? 1 : batch.gradient_accumulation;
  run.waited_tokens = run.row_tokens + (longest_of_all - run.row_tokens) / std::sqrt(static_cast<double>(averaged));
}

/// TIM-42  Whole sequences: the data are their prompts, which an epoch's last step drops where they do not fill it
/// (trl/trainer/utils.py, RepeatSampler; ppo_trainer.py, train, which counts episodes over all epochs).
std::optional<RunLength> LengthOfRollouts(const Dataset& dataset, const Workload& workload) {
  if (!dataset.tokens && !dataset.examples) return {};
  const Rollout& rollout = workload.rollout;
  const Batch& batch = workload.batch;
  const double of_one = dataset.mean_tokens.value_or(static_cast<double>(rollout.prompt_length));
  const double prompts = dataset.examples ? *dataset.examples : std::ceil(*dataset.tokens / of_one);
  const auto completions =
      static_cast<double>(batch.per_device * batch.gradient_accumulation * workload.parallel.DataRanks());
  const auto iterations = static_cast<double>(rollout.iterations);
  RunLength run;
  if (workload.task == Task::kPpo) {
    run.steps = iterations * std::ceil(std::max(1.0, std::floor(dataset.epochs * prompts)) / completions);
  } else {
    const double prompts_of_step = completions / static_cast<double>(rollout.generations);
    run.steps =
        std::max(1.0, std::ceil(dataset.epochs * iterations * std::max(1.0, std::floor(prompts / prompts_of_step))));
  }
  run.row_tokens = run.waited_tokens = static_cast<double>(batch.sequence_length);
  run.computed_tokens = run.trained_tokens = run.filled_tokens = run.steps * completions * run.row_tokens;
  return run;
}

/// The same run with rows of another length.
Workload WithLength(Workload workload, double tokens) {
  workload.batch.sequence_length = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::llround(tokens)));
  return workload;
}

/// Machines that each hold a part of the model or of its states, and write it.
double WritingMachines(const Parallel& parallel) {
  const bool is_divided = ShardsParameters(parallel.strategy) || ShardsStatesOnly(parallel.strategy);
  const std::int64_t shares = std::max(is_divided ? parallel.Shards() : 1, parallel.expert);
  const std::int64_t parts = std::min(parallel.gpus, parallel.tensor * parallel.pipeline * shares);
  const std::int64_t machines = (parts + parallel.gpus_per_node - 1) / parallel.gpus_per_node;
  return static_cast<double>(machines);
}

}  // namespace

std::optional<RunLength> LengthOf(const Dataset& dataset, const Workload& workload) {
  const Batch& batch = workload.batch;
  const Parallel& parallel = workload.parallel;
  const auto length = static_cast<double>(batch.sequence_length);
  if (HasRollout(workload.task)) return LengthOfRollouts(dataset, workload);
  const std::optional<Rows> rows = RowsOf(dataset, length);
  if (!rows) return {};
  RunLength run;
  FillRowLengths(workload, rows->mean, run);
  // A pair of answers is two sequences.
  const double sequences_of_each =
      static_cast<double>(SequencesOf(workload.task, batch)) / static_cast<double>(batch.per_device);
  const auto examples_per_step =
      static_cast<double>(batch.per_device * batch.gradient_accumulation * parallel.RowRanks());
  const bool packed = batch.packing != Packing::kNone;
  const double rows_of_epoch = packed ? rows->trained / length : rows->examples;
  run.steps = std::max(1.0, std::ceil(dataset.epochs * std::ceil(rows_of_epoch / examples_per_step)));
  run.computed_tokens = run.steps * examples_per_step * sequences_of_each * run.row_tokens;
  run.trained_tokens = rows->trained * dataset.epochs;
  run.filled_tokens = packed ? run.trained_tokens : rows->examples * dataset.epochs * sequences_of_each * length;
  return run;
}

JobCounts CountJob(const Workload& workload, const std::vector<TracedRank>& job, const Dataset& dataset) {
  JobCounts counts;
  counts.step = CountStep(workload, job);
  counts.run = LengthOf(dataset, workload);
  if (!counts.run) return counts;
  counts.at_run = WithLength(workload, counts.run->waited_tokens);
  if (counts.at_run.batch.sequence_length != workload.batch.sequence_length) {
    counts.run_step = CountStep(counts.at_run, job);
  }
  return counts;
}

TimeEstimate EstimateTime(const Workload& workload, const std::vector<TracedRank>& job, const JobCounts& counts,
                          const Gpu& gpu, const Wiring& wiring, const Efficiencies& efficiencies) {
  TimeEstimate estimate;
  const double network = efficiencies.Of(gpu).network_bytes_per_second;
  const Fabric fabric = FabricOf(gpu, workload.parallel, wiring, network);
  estimate.step = TimeStep(counts.step, workload, gpu, fabric, efficiencies);
  estimate.step_seconds = RangeOf(estimate.step, efficiencies);
  estimate.tokens_per_step = counts.step.tokens;
  const double peak = PrintedRate(gpu, workload.precision.fp8_products ? Dtype::kFp8 : workload.precision.compute);
  const auto gpus = static_cast<double>(workload.parallel.gpus);
  estimate.model_flops_utilization = Utilization(counts.step.model_flops, estimate.step.seconds, gpus, peak);
  estimate.hardware_flops_utilization = Utilization(counts.step.hardware_flops, estimate.step.seconds, gpus, peak);
  estimate.run = counts.run;
  estimate.run_step = estimate.step;
  if (!counts.run) return estimate;
  if (counts.run_step) estimate.run_step = TimeStep(*counts.run_step, counts.at_run, gpu, fabric, efficiencies);
  estimate.run_step_seconds = RangeOf(estimate.run_step, efficiencies);
  estimate.total_seconds = estimate.run_step_seconds * estimate.run->steps;
  estimate.evaluation_seconds = EvaluationSeconds(counts.at_run, job, gpu, fabric, efficiencies);
  return estimate;
}

TimeEstimate EstimateTime(const Workload& workload, const std::vector<TracedRank>& job, const Gpu& gpu,
                          const Wiring& wiring, const Efficiencies& efficiencies, const Dataset& dataset) {
  return EstimateTime(workload, job, CountJob(workload, job, dataset), gpu, wiring, efficiencies);
}

void AddOutsideSteps(TimeEstimate& estimate, const Workload& workload, const Dataset& dataset, double checkpoint_bytes,
                     const OutsideRates& rates) {
  if (!estimate.total_seconds || estimate.total_seconds->low <= 0) return;
  RunFiles files;
  files.model = ServedBytes(workload.architecture);
  files.checkpoint = checkpoint_bytes / WritingMachines(workload.parallel);
  estimate.outside = OutsideStepsOf(*estimate.total_seconds, files, dataset.epochs, workload.parallel.gpus, rates);
  const double evaluated = std::ceil(dataset.epochs) * estimate.evaluation_seconds;
  estimate.outside->evaluation = estimate.run_step_seconds * (evaluated / estimate.run_step_seconds.expected);
  estimate.total_seconds = *estimate.total_seconds + estimate.outside->total();
}

double BusyShare(const TimeEstimate& estimate, const Parallel& parallel) {
  double seconds = estimate.run_step_seconds.expected * estimate.run->steps;
  if (estimate.outside) seconds += estimate.outside->evaluation.expected;
  const double cards = IsPlaced(parallel) ? static_cast<double>(parallel.gpus) : 1;
  return BusyShare(estimate.run_step) * seconds / (cards * estimate.total_seconds->expected);
}

bool HasRates(const Gpu& gpu) { return std::max(gpu.peak.fp16, gpu.peak.bf16) > 0; }

}  // namespace tunefit
