#include "core/memory/estimate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/memory/device_bytes.h"
#include "core/memory/ledger.h"
#include "core/memory/moments.h"
#include "core/memory/recipe_bytes.h"
#include "core/memory/traced_rank.h"
#include "core/model/ranks.h"
#include "core/trace/training_step.h"

namespace tunefit {
namespace {

Phases PhasesOf(const Replay& replay) {
  Phases phases;
  phases.static_bytes = replay.weights + replay.weight_copies + replay.gradient_buffers;
  phases.between_steps = phases.static_bytes + replay.optimizer_states + replay.carried_gradients;
  phases.after_forward = replay.after_forward;
  phases.peak_forward = replay.peak_forward.bytes;
  phases.after_backward = replay.after_backward;
  phases.peak_backward = replay.peak_backward.bytes;
  phases.peak_optimizer = replay.after_backward + replay.optimizer_transient;
  phases.peak_step = std::max({phases.peak_forward, phases.peak_backward, phases.peak_optimizer});
  return phases;
}

/// The passes' own peaks, and the step's where one of them is higher.
void AddPasses(Phases& phases, const std::vector<Pass>& passes) {
  for (const Pass& pass : passes) {
    const double peak = ReplayStep(pass.step, AxesOf(pass)).peak_forward.bytes;
    (pass.moment == Moment::kRollout ? phases.rollout : phases.evaluate) = peak;
    phases.peak_step = std::max(phases.peak_step, peak);
  }
}

std::vector<TimelinePoint> TimelineOf(const Step& step, const Replay& replay) {
  std::vector<TimelinePoint> timeline;
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const Section& section = step.sections[i];
    const SectionBytes& bytes = replay.sections[i];
    const double change = (bytes.after - bytes.before) / static_cast<double>(section.repeats);
    const double above = bytes.peak - bytes.before - std::max(0.0, change) * static_cast<double>(section.repeats - 1);
    const std::int64_t direction = section.moment == Moment::kBackward ? -1 : 1;
    for (std::int64_t k = 0; k < section.repeats; ++k) {
      const double before = bytes.before + change * static_cast<double>(k);
      const std::int64_t layer = section.layer < 0 ? -1 : section.layer + direction * k * section.layers;
      timeline.push_back({section.moment, layer, before + change, before + above});
    }
  }
  return timeline;
}

double LossBytes(const Step& step, const Replay& replay) {
  double bytes = 0;
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const SectionBytes& section = replay.sections[i];
    if (step.sections[i].moment == Moment::kLoss) bytes = std::max(bytes, section.peak - section.before);
  }
  return bytes;
}

Moment PeakMoment(const Step& step, const Replay& replay, const Phases& phases) {
  if (phases.peak_step == phases.rollout) return Moment::kRollout;
  if (phases.peak_step == phases.evaluate) return Moment::kEvaluate;
  if (phases.peak_step == phases.peak_optimizer) return Moment::kOptimizer;
  if (phases.peak_step == phases.peak_backward) return Moment::kBackward;
  const std::int32_t section = replay.peak_forward.section;
  return section < 0 ? Moment::kForward : step.sections[static_cast<std::size_t>(section)].moment;
}

/// Of micro-batches through a rank's pieces, whose activations are alive at once.
std::int64_t PassesInFlight(const Step& step) {
  return std::accumulate(step.in_flight.begin(), step.in_flight.end(), std::int64_t{0});
}

/// The busiest GPU stands for all of its machine.
HostBytes HostBytesOf(const Step& step, const Axes& axes, const Parallel& parallel) {
  const auto gpus = static_cast<double>(std::min(parallel.gpus, parallel.gpus_per_node));
  HostBytes host;
  const auto pieces = static_cast<double>(step.in_flight.size());  // of the same layers, but for one
  host.checkpoints =
      gpus * static_cast<double>(PassesInFlight(step)) * SumResidents(step, step.host_checkpoints, axes) / pieces;
  host.parameters = gpus * SumResidents(step, step.host.parameters, axes);
  host.gradients = gpus * SumResidents(step, step.host.gradients, axes);
  host.optimizer_states = gpus * SumResidents(step, step.host.states, axes);
  host.buffers = gpus * SumResidents(step, step.host.buffers, axes);
  host.nvme = gpus * (SumResidents(step, step.nvme.parameters, axes) + SumResidents(step, step.nvme.gradients, axes) +
                      SumResidents(step, step.nvme.states, axes));
  return host;
}

/// Phases, overheads and ranges: all that depends on batch and length.
MemoryEstimate EstimateBytes(const TracedRank& rank, const Gpu* gpu, const Overheads& overheads, Reserves& reserves) {
  MemoryEstimate estimate;
  estimate.phases = PhasesOf(rank.replay);
  AddPasses(estimate.phases, rank.passes);
  estimate.phases.load = LoadPeak(rank.step, rank.workload, rank.axes);
  estimate.phases.merge = MergePeak(rank.step, rank.workload, rank.axes);
  estimate.phases.save = estimate.phases.between_steps;
  estimate.loss_bytes = LossBytes(rank.step, rank.replay);
  estimate.disk_bytes = CheckpointDiskBytes(rank.step, rank.workload);
  estimate.host = HostBytesOf(rank.step, rank.axes, rank.workload.parallel);
  AddOverheads(estimate, rank, gpu, overheads, reserves);
  return estimate;
}

MemoryEstimate EstimateBytes(const TracedRank& rank, const Gpu* gpu, const Overheads& overheads) {
  Reserves reserves;
  return EstimateBytes(rank, gpu, overheads, reserves);
}

/// The largest value in 1..most for which `fits` holds, given that it holds below any value it holds for; 0 for none.
template <typename Fits>
std::int64_t LargestThatFits(std::int64_t most, Fits fits) {
  if (most < 1 || !fits(1)) return 0;
  std::int64_t good = 1;
  std::int64_t bad = most + 1;
  while (good * 2 < bad && fits(good * 2)) good *= 2;
  bad = std::min(bad, good * 2);
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

/// Exact and of the whole model, also where the traced rank holds a part of it.
TrainedParameters CountTrained(const Workload& workload, const Step& step) {
  if (IsWhole(workload)) return {step.adapter_parameters, step.trained_parameters};
  return CountTrainedParameters(workload);
}

/// MEM-83  The rank that fills its card most; of equal ones the first.
const TracedRank& FindBusiest(const std::vector<TracedRank>& job, const Gpu* gpu, const Overheads& overheads,
                              std::vector<Reserves>& reserves, MemoryEstimate& estimate) {
  reserves.resize(job.size());
  const TracedRank* busiest = &job.front();
  estimate = EstimateBytes(*busiest, gpu, overheads, reserves.front());
  for (std::size_t i = 1; i < job.size(); ++i) {
    MemoryEstimate other = EstimateBytes(job[i], gpu, overheads, reserves[i]);
    if (other.device.expected <= estimate.device.expected) continue;
    busiest = &job[i];
    estimate = std::move(other);
  }
  return *busiest;
}

}  // namespace

Verdict JudgeFit(const Range& device, double usable_bytes) {
  if (device.high <= usable_bytes) return Verdict::kFits;
  return device.low > usable_bytes ? Verdict::kDoesNotFit : Verdict::kTight;
}

MemoryEstimate EstimateMemory(const Workload& workload, const Gpu* gpu, const Overheads& overheads, Detail detail) {
  return EstimateMemory(workload, TraceJob(workload), gpu, overheads, detail);
}

MemoryEstimate EstimateMemory(const Workload& workload, const std::vector<TracedRank>& job, const Gpu* gpu,
                              const Overheads& overheads, Detail detail) {
  MemoryEstimate estimate;
  std::vector<Reserves> reserves;
  const TracedRank& rank = FindBusiest(job, gpu, overheads, reserves, estimate);
  estimate.peak_moment = PeakMoment(rank.step, rank.replay, estimate.phases);
  estimate.parameters = CountTrained(workload, rank.step);
  estimate.recipe = RecipeOf(rank.step, rank.workload);
  // Cards that hold unlike parts: the busiest does not stand for the others.
  if (IsPlaced(workload.parallel)) estimate.disk_bytes = CheckpointDiskBytes(TraceTrainingStep(workload), workload);
  if (detail == Detail::kSummary) return estimate;
  const PeakPoint& peak =
      estimate.peak_moment == Moment::kBackward ? rank.replay.peak_backward : rank.replay.peak_forward;
  estimate.terms = ListAliveAtPeak(rank.step, rank.axes, estimate.peak_moment, peak, workload.architecture.layer_path);
  estimate.timeline = TimelineOf(rank.step, rank.replay);
  for (const Pass& pass : rank.passes) {
    if (pass.moment != estimate.peak_moment) continue;
    const Replay own = ReplayStep(pass.step, AxesOf(pass));
    estimate.terms =
        ListAliveAtPeak(pass.step, AxesOf(pass), pass.moment, own.peak_forward, workload.architecture.layer_path);
  }
  return estimate;
}

DeviceUse BusiestDevice(const std::vector<TracedRank>& job, const Gpu& gpu, const Overheads& overheads,
                        std::vector<Reserves>& reserves) {
  MemoryEstimate estimate;
  FindBusiest(job, &gpu, overheads, reserves, estimate);
  return {estimate.device, estimate.disk_bytes};
}

double HostBytesPerGpu(const std::vector<TracedRank>& job) {
  double most = 0;
  for (const TracedRank& rank : job) {
    const Parallel& parallel = rank.workload.parallel;
    const auto in_machine = static_cast<double>(std::min(parallel.gpus, parallel.gpus_per_node));
    most = std::max(most, HostBytesOf(rank.step, rank.axes, parallel).total() / in_machine);
  }
  return most;
}

double LeastDeviceBytes(const std::vector<TracedRank>& job, const Gpu& gpu, const Overheads& overheads) {
  double most = 0;
  for (const TracedRank& rank : job) {
    Phases phases = PhasesOf(rank.replay);
    AddPasses(phases, rank.passes);
    most = std::max(most, AllocatedBytes(phases.peak_step, &gpu, overheads).low);
  }
  return most + ContextOf(overheads, gpu.architecture).low;
}

std::vector<RankMemory> EstimateRanks(const Workload& workload, const Gpu* gpu, const Overheads& overheads) {
  std::vector<RankMemory> ranks;
  for (Workload& share : AllRanks(workload)) {
    const TracedRank rank = TraceRank(std::move(share));
    const MemoryEstimate estimate = EstimateBytes(rank, gpu, overheads);
    ranks.push_back({static_cast<std::int64_t>(ranks.size()), rank.workload.architecture.layers(),
                     PassesInFlight(rank.step), estimate.phases, estimate.allocated, estimate.reserved,
                     estimate.device});
  }
  return ranks;
}

Limits FindLimits(const Workload& workload, const Gpu& gpu, const Overheads& overheads, const SearchBounds& bounds) {
  std::vector<TracedRank> ranks = TraceJob(workload);
  const auto fits = [&](const Batch& batch) {
    return std::all_of(ranks.begin(), ranks.end(), [&](TracedRank& rank) {
      SetBatch(rank, batch);
      return JudgeFit(EstimateBytes(rank, &gpu, overheads).device, gpu.usable_bytes) == Verdict::kFits;
    });
  };
  const Batch& asked = workload.batch;
  const std::int64_t most_sequences =
      std::min(bounds.sequences, bounds.tokens / (asked.sequence_length * SequencesOf(workload.task, {})));
  std::int64_t most_length = std::min(bounds.length, bounds.tokens / SequencesOf(workload.task, asked));
  for (const std::int64_t made_for : {workload.architecture.context_tokens, workload.architecture.position_rows}) {
    if (made_for > 0) most_length = std::min(most_length, made_for - workload.method.virtual_tokens);
  }
  Limits limits;
  limits.largest_batch = LargestThatFits(most_sequences, [&](std::int64_t sequences) {
    Batch batch = asked;
    batch.per_device = sequences;
    return fits(batch);
  });
  limits.longest_sequence_tokens = LargestThatFits(most_length, [&](std::int64_t tokens) {
    Batch batch = asked;
    batch.sequence_length = tokens;
    return fits(batch);
  });
  return limits;
}

}  // namespace tunefit
