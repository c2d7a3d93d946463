#pragma once

#include <cstdint>
#include <optional>

#include "core/memory/overheads.h"
#include "core/model/workload.h"
#include "core/time/outside_steps.h"
#include "core/time/step_time.h"

// From a step to a run over a data set.

namespace tunefit {

/// What is trained on. One of `examples` and `tokens` is there.
struct Dataset {
  std::optional<double> examples;
  std::optional<double> mean_tokens;  ///< of an example; else tokens / examples, else it is as long as a sequence
  std::optional<double> tokens;       ///< in all
  double epochs = 1;
};

/// The steps of a run, and the tokens that they compute.
struct RunLength {
  double steps = 0;
  double computed_tokens = 0;  ///< of all steps, padding included
  double trained_tokens = 0;   ///< of the data
  double filled_tokens = 0;    ///< of the data, every unpacked row counted as a whole sequence
  double row_tokens = 0;       ///< of a row, padding included, on average
  double waited_tokens = 0;  ///< of the row that a micro-batch takes as long as, on average: GPUs wait for the longest
};

/// TIM-30  Whole steps for every epoch. Packed and padding-free batches are filled with tokens; else every example
/// takes a row of its own, and a longer one is cut. Rows are padded to the sequence length, or where the stack pads to
/// the longest, to that of their micro-batch (TIM-32). The GPUs that meet in a micro-batch (sharded parameters) or in a
/// step wait for the longest of all their rows; over more micro-batches chance evens out, by the square root of their
/// number. In grpo and ppo the data are prompts (TIM-42). A run has one step at least. Nothing
/// where neither examples nor tokens are known.
std::optional<RunLength> LengthOf(const Dataset& dataset, const Workload& workload);

/// What a request's time comes to.
struct TimeEstimate {
  StepTime step;               ///< of rows of the whole sequence length
  Range step_seconds;          ///< of it
  double tokens_per_step = 0;  ///< of all GPUs, padding included
  double model_flops_utilization = 0;
  double hardware_flops_utilization = 0;
  std::optional<RunLength> run;
  StepTime run_step;  ///< of rows as the run has them, on average; `step` where no run is known
  Range run_step_seconds;
  double evaluation_seconds = 0;        ///< of one; 0 where none is known
  std::optional<OutsideSteps> outside;  ///< where a run is known
  std::optional<Range> total_seconds;   ///< of the run, from its start to its end
};

/// What a job does in a step and in a run, counted once for whatever cards it may run on.
struct JobCounts {
  StepCounts step;
  std::optional<RunLength> run;
  Workload at_run;                     ///< with rows as the run has them, on average; only where a run is known
  std::optional<StepCounts> run_step;  ///< of such rows; nothing where they are as long as a sequence
};

JobCounts CountJob(const Workload& workload, const std::vector<TracedRank>& job, const Dataset& dataset);

/// TIM-0  The time of a traced and counted job on its GPUs: of a step, and of a run's steps.
TimeEstimate EstimateTime(const Workload& workload, const std::vector<TracedRank>& job, const JobCounts& counts,
                          const Gpu& gpu, const Wiring& wiring, const Efficiencies& efficiencies);

/// The same of a job that was not counted yet.
TimeEstimate EstimateTime(const Workload& workload, const std::vector<TracedRank>& job, const Gpu& gpu,
                          const Wiring& wiring, const Efficiencies& efficiencies, const Dataset& dataset);

/// Adds what a run waits for outside its steps to an estimate that has a run. `checkpoint_bytes` of one save (MEM-114),
/// which the machines that the model is divided among write together.
void AddOutsideSteps(TimeEstimate& estimate, const Workload& workload, const Dataset& dataset, double checkpoint_bytes,
                     const OutsideRates& rates);

/// TIM-14 of a run, which is known: of its time, in which the GPUs compute. An evaluation keeps them as busy as a step;
/// of the cards of a device_map one works at a time.
double BusyShare(const TimeEstimate& estimate, const Parallel& parallel);

/// The rate of its matrix units is known.
bool HasRates(const Gpu& gpu);

}  // namespace tunefit
