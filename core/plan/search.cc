#include "core/plan/search.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/cost/rented.h"
#include "core/memory/device_bytes.h"
#include "core/memory/moments.h"
#include "core/time/links.h"

namespace tunefit {
namespace {

/// Tensor ranks meet twice in every layer: only a link of their own makes that worth while.
bool LinksRanks(const Supply& supply, const Layout& layout, const Workload& workload) {
  if (layout.tensor == 1) return true;
  if (supply.gpus_per_machine < layout.tensor) return false;
  Parallel parallel = workload.parallel;
  parallel.gpus_per_node = supply.gpus_per_machine;
  const Fabric fabric = FabricOf(*supply.gpu, parallel, supply.wiring, 0);
  return !fabric.by_host && fabric.domain_gpus >= layout.tensor;
}

bool RunsOn(const Gpu& gpu, const Workload& workload) {
  const bool multiplies = ComputesIn(gpu, workload.precision.compute) || workload.precision.compute == Dtype::kFp32;
  const bool attends = workload.attention != AttentionKernel::kFlash || RunsFlashAttention2(gpu);
  return HasRates(gpu) && multiplies && attends;
}

/// Intel's cards are left out: no published run says how far an estimate of theirs can be trusted.
bool IsOf(const Gpu& gpu, const StackSpace& stack) {
  return gpu.vendor == "NVIDIA" || (gpu.vendor == "AMD" && !stack.is_of_nvidia);
}

double CostOf(const Supply& supply, double seconds) {
  if (supply.by == Acquisition::kBuy) return supply.price.expected;
  return RentCost(Exactly(seconds), supply.price.expected).expected;
}

double GpusOfMachine(const Supply& supply) {
  return static_cast<double>(std::min(supply.gpus, supply.gpus_per_machine));
}

/// Whether a shape fits a card with so many sequences, as far as that was found out.
class Fits {
 public:
  struct Known {
    std::size_t batch;
    const Gpu* gpu;
    DeviceUse use;
  };

  /// More sequences need no less, and a smaller card of the same kind has no more.
  bool IsRuledOut(std::size_t batch, const Gpu& gpu) const {
    return std::any_of(known_.begin(), known_.end(), [&](const Known& known) {
      return batch >= known.batch && gpu.architecture == known.gpu->architecture &&
             gpu.usable_bytes <= known.gpu->usable_bytes &&
             JudgeFit(known.use.device, known.gpu->usable_bytes) == Verdict::kDoesNotFit;
    });
  }
  const DeviceUse* Find(std::size_t batch, const Gpu& gpu) const {
    for (const Known& known : known_) {
      if (known.batch == batch && known.gpu->usable_bytes == gpu.usable_bytes &&
          known.gpu->architecture == gpu.architecture && known.gpu->vendor == gpu.vendor) {
        return &known.use;
      }
    }
    return nullptr;
  }
  const DeviceUse& Add(std::size_t batch, const Gpu& gpu, const DeviceUse& use) {
    known_.push_back({batch, &gpu, use});
    return known_.back().use;
  }

 private:
  std::vector<Known> known_;
};

}  // namespace

Search::Search(PlanSubject& subject, Space space, const Wishes& wishes, const Dataset& dataset,
               const Knowledge& knowledge, bool prunes)
    : subject_(subject),
      space_(std::move(space)),
      wishes_(wishes),
      dataset_(dataset),
      knowledge_(knowledge),
      prunes_(prunes),
      shapes_(ShapesOf(space_)),
      front_(prunes ? kAlike : Tolerance()) {}

bool Search::Advance() {
  while (next_ < shapes_.size()) {
    const Shape& shape = shapes_[next_++];
    const auto batches = static_cast<std::int64_t>(MicroBatchesOf(space_, shape.layout).size());
    if (batches == 0) continue;
    const std::vector<Supply>& supplies = subject_.SuppliesOf(shape.layout.gpus);
    seen_ += batches * static_cast<std::int64_t>(supplies.size());
    const std::vector<const Supply*> live = LiveSupplies(shape, supplies);
    if (live.empty()) continue;
    TryShape(shape, live);
    return true;
  }
  return false;
}

bool Search::IsWorthIt(const Worth& worth) const {
  if (wishes_.most_seconds && worth.seconds > *wishes_.most_seconds) return false;
  if (wishes_.most_cost && worth.cost > *wishes_.most_cost) return false;
  return !prunes_ || !front_.Covers(worth);
}

Search::Bound& Search::BoundOf(const Shape& shape) {
  for (Bound& bound : bounds_) {
    if (bound.method == shape.method && bound.stack == shape.stack && bound.checkpointing == shape.checkpointing) {
      return bound;
    }
  }
  Bound& bound = bounds_.emplace_back();
  bound.method = shape.method;
  bound.stack = shape.stack;
  bound.checkpointing = shape.checkpointing;
  const std::vector<MicroBatch> batches = MicroBatchesOf(space_, Layout());
  if (batches.empty()) return bound;
  std::optional<Workload> workload =
      subject_.WorkloadOf({shape.method, shape.stack, Layout(), shape.checkpointing, batches.front()});
  if (!workload) return bound;
  bound.traces.emplace(std::move(*workload), batches);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const TracedShape& traced = bound.traces->At(i);
    bound.counts.push_back(CountJob(traced.workload, traced.job, dataset_));
  }
  return bound;
}

/// Of one GPU that holds whatever it is given. Nothing is known where no library runs that: then nothing is ruled out.
double Search::LeastSeconds(Bound& bound, const Supply& supply) {
  if (!bound.traces) return 0;
  const auto place = static_cast<std::size_t>(supply.gpu_place);
  if (bound.seconds.size() <= place) bound.seconds.resize(place + 1, -1);
  double& least = bound.seconds[place];
  if (least >= 0) return least;
  least = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < bound.counts.size(); ++i) {
    const TracedShape& traced = bound.traces->At(i);
    const TimeEstimate time =
        EstimateTime(traced.workload, traced.job, bound.counts[i], *supply.gpu, Wiring(), *knowledge_.efficiencies);
    least = std::min(least, time.total_seconds->expected);
  }
  return least;
}

std::vector<const Supply*> Search::LiveSupplies(const Shape& shape, const std::vector<Supply>& supplies) {
  std::vector<const Supply*> live;
  Bound& bound = BoundOf(shape);
  for (const Supply& supply : supplies) {
    if (supply.by == Acquisition::kRent ? !wishes_.rents : !wishes_.buys) continue;
    if (!HasRates(*supply.gpu) || !IsOf(*supply.gpu, space_.stacks[static_cast<std::size_t>(shape.stack)])) continue;
    if (bound.traces && !RunsOn(*supply.gpu, bound.traces->workload())) continue;
    const double seconds = prunes_ ? LeastSeconds(bound, supply) / static_cast<double>(supply.gpus) : 0;
    if (IsWorthIt({supply.by, shape.method, true, supply.price_is_whole, seconds, CostOf(supply, seconds)}))
      live.push_back(&supply);
  }
  return live;
}

void Search::TryShape(const Shape& shape, const std::vector<const Supply*>& supplies) {
  const std::vector<MicroBatch> batches = MicroBatchesOf(space_, shape.layout);
  std::optional<Workload> workload =
      subject_.WorkloadOf({shape.method, shape.stack, shape.layout, shape.checkpointing, batches.front()});
  if (!workload) return;
  std::vector<const Supply*> linked;
  for (const Supply* supply : supplies) {
    if (RunsOn(*supply->gpu, *workload) && LinksRanks(*supply, shape.layout, *workload)) linked.push_back(supply);
  }
  if (linked.empty()) return;
  ShapeTraces traces(std::move(*workload), batches);
  AddFitting(shape, traces, TimeOf(shape, traces, linked));
}

/// Candidates that would be worth it, if they fit, and that are not too large at first sight: cheapest first.
std::vector<Search::Open> Search::TimeOf(const Shape& shape, ShapeTraces& traces,
                                         const std::vector<const Supply*>& supplies) {
  std::vector<Open> open;
  for (std::size_t i = 0; i < traces.batches().size(); ++i) AddTimed(shape, traces.At(i), supplies, open);
  std::sort(open.begin(), open.end(), [](const Open& a, const Open& b) {
    return std::tie(a.worth.cost, a.worth.seconds, a.batch, a.supply) <
           std::tie(b.worth.cost, b.worth.seconds, b.batch, b.supply);
  });
  return open;
}

void Search::AddTimed(const Shape& shape, TracedShape& traced, const std::vector<const Supply*>& supplies,
                      std::vector<Open>& open) {
  Workload& workload = traced.workload;
  const double disk_bytes = CheckpointDiskBytes(traced.job.front().step, workload);
  const double host_bytes_per_gpu = HostBytesPerGpu(traced.job);
  std::optional<JobCounts> counts;
  for (const Supply* supply : supplies) {
    const Gpu& gpu = *supply->gpu;
    if (LeastDeviceBytes(traced.job, gpu, *knowledge_.overheads) > gpu.usable_bytes) continue;
    if (host_bytes_per_gpu * GpusOfMachine(*supply) > supply->host_bytes) continue;
    if (!counts) counts = CountJob(workload, traced.job, dataset_);
    workload.parallel.gpus_per_node = supply->gpus_per_machine;
    TimeEstimate time = EstimateTime(workload, traced.job, *counts, gpu, supply->wiring, *knowledge_.efficiencies);
    AddOutsideSteps(time, workload, dataset_, disk_bytes, *knowledge_.outside);
    ++computed_;
    const double seconds = time.total_seconds->expected;
    const Worth worth{supply->by, shape.method, true, supply->price_is_whole, seconds, CostOf(*supply, seconds)};
    if (IsWorthIt(worth)) open.push_back({supply, traced.batch, worth});
  }
}

void Search::AddFitting(const Shape& shape, ShapeTraces& traces, const std::vector<Open>& open) {
  Fits fits;
  for (const Open& one : open) {
    const Gpu& gpu = *one.supply->gpu;
    if (!IsWorthIt(one.worth) || (prunes_ && fits.IsRuledOut(one.batch, gpu))) continue;
    TracedShape& traced = traces.At(one.batch);
    const DeviceUse* use = fits.Find(one.batch, gpu);
    if (use == nullptr) {
      std::vector<Reserves>& reserves = traces.ReservesAt(one.batch);
      use = &fits.Add(one.batch, gpu, BusiestDevice(traced.job, gpu, *knowledge_.overheads, reserves));
    }
    // What is expected to be over the card is no offer, whatever its range.
    if (use->device.expected > gpu.usable_bytes) continue;
    const Candidate candidate = CandidateOf(shape, traced, traces.batches()[one.batch], *one.supply, *use);
    if (IsWorthIt(WorthOf(candidate))) front_.Add(candidate);
  }
}

/// Its checkpoints are those of the busiest GPU, which only the allocator tells: hence the time anew.
Candidate Search::CandidateOf(const Shape& shape, TracedShape& traced, const MicroBatch& batch, const Supply& supply,
                              const DeviceUse& use) const {
  Candidate candidate;
  candidate.choice = {shape.method, shape.stack, shape.layout, shape.checkpointing, batch};
  candidate.supply = supply;
  candidate.device = use.device;
  candidate.verdict = JudgeFit(use.device, supply.gpu->usable_bytes);
  Workload& workload = traced.workload;
  workload.parallel.gpus_per_node = supply.gpus_per_machine;
  TimeEstimate time =
      EstimateTime(workload, traced.job, *supply.gpu, supply.wiring, *knowledge_.efficiencies, dataset_);
  AddOutsideSteps(time, workload, dataset_, use.disk_bytes, *knowledge_.outside);
  candidate.seconds = *time.total_seconds;
  const bool buys = supply.by == Acquisition::kBuy;
  candidate.cost = buys ? supply.price : RentCost(candidate.seconds, supply.price.expected);
  return candidate;
}

}  // namespace tunefit
