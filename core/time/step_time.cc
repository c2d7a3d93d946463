#include "core/time/step_time.h"

#include <algorithm>

#include "core/memory/moments.h"
#include "core/model/parallel.h"
#include "core/time/clock.h"
#include "core/time/traffic.h"

namespace tunefit {
namespace {

/// An update reads a gradient and a weight and writes the weight; states come and go (torch/optim/adam.py).
constexpr double kUpdateBytesPerElement = 8;

/// Gradients go to the host and this rank's weights come back; shards of parameters come for every pass.
double OffloadBytes(const Workload& workload, const Step& step, const Axes& axes) {
  const Parallel& parallel = workload.parallel;
  const auto micro_batches = static_cast<double>(workload.batch.gradient_accumulation);
  double bytes = 0;
  if (parallel.offloads_optimizer()) {
    bytes += SumResidents(step, step.host.gradients, axes) + kBytesOfWeight * UpdatedElements(workload, step);
  }
  if (parallel.offloads_parameters()) bytes += 2 * micro_batches * SumResidents(step, step.host.parameters, axes);
  return bytes + 2 * micro_batches * SumResidents(step, step.host_checkpoints, axes);
}

Flops AllFlops(const MicroBatchWork& work) {
  Flops sum;
  for (const Flops* flops : {&work.matmul, &work.matmul_fp32, &work.matmul_fp8, &work.attention}) {
    sum.forward += flops->forward;
    sum.recompute += flops->recompute;
    sum.backward += flops->backward;
  }
  return sum;
}

Bound BoundOf(const StepTime& time) {
  const double traffic = time[TimeTerm::kTensor] + time[TimeTerm::kExpert] + time[TimeTerm::kData] +
                         time[TimeTerm::kBubble] + time[TimeTerm::kOffload] + time.generation.waited_seconds();
  if (traffic >= 0.1 * time.seconds) return Bound::kTraffic;
  const double launched = time[TimeTerm::kLaunch] + time.generation.launch_seconds;
  if (launched >= 0.1 * time.seconds) return Bound::kHost;
  const double compute = time[TimeTerm::kMatmul] + time[TimeTerm::kAttention] + time[TimeTerm::kRecompute];
  return compute >= 0.6 * time.seconds ? Bound::kCompute : Bound::kMemory;
}

StepTime TimeRank(const RankCounts& rank, double micro_batches, const GenerationTime& generation,
                  const Workload& workload, const Clock& clock, const Efficiencies& efficiencies) {
  StepTime time;
  clock.AddMicroBatch(rank.work, time);
  double micro_batch = 0;
  for (double& term : time.terms) {
    micro_batch += term;
    term *= micro_batches;
  }
  const Parallel& parallel = workload.parallel;
  At(time, TimeTerm::kBubble) =
      micro_batch * static_cast<double>(parallel.pipeline - 1) / static_cast<double>(parallel.interleave);
  const double computed = micro_batch * micro_batches + time[TimeTerm::kBubble];
  const double hides_reduction = parallel.strategy == Strategy::kZero2 ? computed : computed / micro_batches;
  At(time, TimeTerm::kData) = clock.Waited(clock.GatherSeconds(micro_batches * rank.work.gathered_bytes), computed) +
                              clock.Waited(clock.ReduceSeconds(rank.reduction.bytes), hides_reduction) +
                              clock.ReduceSeconds(rank.reduction.waited_bytes);
  At(time, TimeTerm::kOffload) =
      clock.OffloadSeconds(rank.offload_bytes + PagedTraffic(rank.paged_bytes, rank.live_bytes, clock.card_bytes()));
  At(time, TimeTerm::kOptimizer) = clock.MemorySeconds(2 * rank.state_bytes + kUpdateBytesPerElement * rank.updated);
  At(time, TimeTerm::kStep) = efficiencies[Constant::kStepSeconds];
  At(time, TimeTerm::kGeneration) = generation.seconds;
  time.generation = generation;
  for (const double term : time.terms) time.seconds += term;
  time.bound = BoundOf(time);
  return time;
}

/// Of the cards of one process, whose loop is one. Each updates its own layers while the host goes on to the next.
void AddCard(const StepTime& card, StepTime& step) {
  step.seconds = 0;
  for (int i = 0; i < kTimeTermCount; ++i) {
    const auto term = static_cast<TimeTerm>(i);
    const bool at_once = term == TimeTerm::kOptimizer || term == TimeTerm::kStep;
    At(step, term) = at_once ? std::max(step[term], card[term]) : step[term] + card[term];
    step.seconds += step[term];
  }
  step.bound = BoundOf(step);
}

double Rate(const MatrixRates& rates, Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp8:
      return rates.fp8;
    case Dtype::kFp16:
      return rates.fp16;
    case Dtype::kBf16:
      return rates.bf16;
    default:
      return rates.fp32;
  }
}

double LiveBytes(const Replay& replay) { return std::max(replay.peak_forward.bytes, replay.peak_backward.bytes); }

/// The lengths to count at need not be those that the rank was replayed at.
double LiveBytes(const TracedRank& rank, const Axes& axes) {
  return axes == rank.axes ? LiveBytes(rank.replay) : LiveBytes(ReplayStep(rank.step, axes));
}

}  // namespace

StepCounts CountStep(const Workload& workload, const std::vector<TracedRank>& job) {
  const Parallel& parallel = workload.parallel;
  StepCounts counts;
  counts.micro_batches = static_cast<double>(workload.batch.gradient_accumulation);
  // Completions are scored once, whatever number of steps trains on them.
  const double reference_share = HasRollout(workload.task) ? 1 / static_cast<double>(workload.rollout.iterations) : 1;
  if (HasRollout(workload.task)) counts.rollout = CountRollout(workload);
  for (const TracedRank& rank : job) {
    const Axes axes = AxesOf(rank.step, rank.workload, workload.batch);
    RankCounts one;
    one.work = WorkOf(rank.step, axes, static_cast<double>(parallel.context), reference_share);
    one.state_bytes = rank.replay.optimizer_states;
    one.updated = UpdatedElements(workload, rank.step);
    one.reduction = ReductionOf(workload, rank.step);
    one.offload_bytes = OffloadBytes(workload, rank.step, axes);
    one.paged_bytes = SumResidents(rank.step, rank.step.paged_states, axes);
    if (one.paged_bytes > 0) one.live_bytes = LiveBytes(rank, axes);
    counts.ranks.push_back(one);
  }
  const double sequences = static_cast<double>(SequencesOf(workload.task, workload.batch));
  counts.tokens = sequences * static_cast<double>(workload.batch.sequence_length) * counts.micro_batches *
                  static_cast<double>(parallel.RowRanks());
  double model = 0;
  double hardware = 0;
  for (const RankCounts& rank : counts.ranks) {
    const Flops flops = AllFlops(rank.work);
    model += flops.once();
    hardware += flops.total();
  }
  const double alike =
      IsPlaced(parallel) ? 1 : static_cast<double>(parallel.gpus) / static_cast<double>(counts.ranks.size());
  const double ranks_of_each = counts.micro_batches * alike;
  counts.model_flops = model * ranks_of_each;
  counts.hardware_flops = hardware * ranks_of_each;
  return counts;
}

StepTime TimeStep(const StepCounts& counts, const Workload& workload, const Gpu& gpu, const Fabric& fabric,
                  const Efficiencies& efficiencies) {
  const Clock clock(workload, gpu, fabric, efficiencies);
  GenerationTime generation;
  if (counts.rollout) generation = TimeGeneration(*counts.rollout, workload, gpu, fabric, efficiencies);
  StepTime step;
  for (const RankCounts& rank : counts.ranks) {
    const StepTime time = TimeRank(rank, counts.micro_batches, generation, workload, clock, efficiencies);
    if (IsPlaced(workload.parallel)) {
      AddCard(time, step);
    } else if (time.seconds > step.seconds) {
      step = time;
    }
  }
  return step;
}

double PrintedRate(const Gpu& gpu, Dtype dtype) {
  if (const double rate = Rate(gpu.peak, dtype); rate > 0) return rate;
  if (dtype == Dtype::kFp8) return PrintedRate(gpu, Dtype::kBf16);
  const double in_16_bits = std::max(gpu.peak.fp16, gpu.peak.bf16);
  // Cards whose fp32 rate nobody prints: A100 has 19.5 beside 312, H100 67 beside 989.
  if (dtype == Dtype::kFp32) return in_16_bits / 16;
  return in_16_bits;
}

double MatrixRate(const Gpu& gpu, Dtype dtype, double unmeasured_share) {
  // Both 16-bit types run at one rate on every card that has both.
  const bool alike = dtype == Dtype::kFp16 && gpu.peak.fp16 == gpu.peak.bf16;
  const auto known = [&](const MatrixRates& rates) {
    const double own = Rate(rates, dtype);
    return own == 0 && alike ? rates.bf16 : own;
  };
  if (const double best = known(gpu.measured); best > 0) return best;
  if (dtype == Dtype::kFp8 && gpu.peak.fp8 == 0) return MatrixRate(gpu, Dtype::kBf16, unmeasured_share);
  const double share = known(gpu.kin_share);
  return PrintedRate(gpu, dtype) * (share > 0 ? share : unmeasured_share);
}

double Utilization(double flops, double seconds, double gpus, double peak_flops_per_second) {
  const double possible = seconds * gpus * peak_flops_per_second;
  return possible > 0 ? flops / possible : 0;
}

double BusyShare(const StepTime& time) {
  if (time.seconds <= 0) return 0;
  const double busy = time[TimeTerm::kMatmul] + time[TimeTerm::kAttention] + time[TimeTerm::kRecompute] +
                      time[TimeTerm::kMemory] + time[TimeTerm::kOptimizer] + time.generation.busy_seconds;
  return busy / time.seconds;
}

const Efficiencies::Architecture& Efficiencies::Of(const Gpu& gpu) const {
  static const Architecture kAny;
  const std::string_view architecture = CapabilityMajor(gpu) == 12 ? "Ada" : std::string_view(gpu.architecture);
  const auto is_it = [&](const Architecture& known) { return known.name == architecture; };
  const auto found = std::find_if(architectures.begin(), architectures.end(), is_it);
  if (found != architectures.end()) return *found;
  return architectures.empty() ? kAny : architectures.front();
}

Range RangeOf(const StepTime& time, const Efficiencies& efficiencies) {
  const Spread& spread = efficiencies.spreads[static_cast<std::size_t>(time.bound)];
  return {time.seconds * (1 - spread.low), time.seconds, time.seconds * (1 + spread.high)};
}

}  // namespace tunefit
