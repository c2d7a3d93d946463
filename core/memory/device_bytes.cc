#include "core/memory/device_bytes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/memory/moments.h"
#include "core/memory/reserved.h"

namespace tunefit {
namespace {

/// The most a card shows: its own memory, or what cannot be given back where that is more.
Range Capped(const Range& wish, const Range& need, double room) {
  return {std::min(wish.low, std::max(need.low, room)), std::min(wish.expected, std::max(need.expected, room)),
          std::min(wish.high, std::max(need.high, room))};
}

/// MEM-120  The simulated allocator with the spread of measured runs around it, further above it where logits are
/// large. Never below what is allocated.
Range ReservedRange(const MemoryEstimate& estimate, const Overheads& overheads, const SimulatedReserve& simulated) {
  const double usually = simulated.usually;
  const Range range{
      std::min(usually * (1 - overheads.reserved_low_fraction), simulated.at_least), usually,
      usually * (1 + overheads.reserved_high_fraction) + overheads.reserved_high_of_loss * estimate.loss_bytes};
  return {std::max(range.low, estimate.allocated.low), range.expected, std::max(range.high, estimate.allocated.high)};
}

/// MEM-123  Where lengths vary a batch longer than all before asks for new blocks: those kept from shorter ones are too
/// small for it, and stay beside. Each goes half of the way that is left to the longest, on average; these come before
/// it, as shares of its length.
constexpr std::array<double, 3> kShorterBatches = {0.5, 0.75, 0.875};

/// Of the step at one or more lengths, the one asked for last.
std::vector<AllocatorPlan> StepPlans(const TracedRank& rank) {
  std::vector<AllocatorPlan> plans;
  Batch batch = rank.workload.batch;
  const auto longest = static_cast<double>(batch.sequence_length);
  if (batch.Varies() && !rank.workload.habits.loss.longest_first) {
    for (const double share : kShorterBatches) {
      batch.sequence_length = std::max<std::int64_t>(1, static_cast<std::int64_t>(share * longest));
      plans.emplace_back(rank.step, AxesOf(rank.step, rank.workload, batch));
    }
  }
  plans.emplace_back(rank.step, rank.axes);
  return plans;
}

Range LibraryBytes(const Gpu* gpu) { return Exactly(2 * BlasWorkspaceBytes(gpu)); }

Range LiveSpread(double live_bytes, const Overheads& overheads) {
  return {-overheads.allocated_low_fraction * live_bytes, 0, overheads.allocated_high_fraction * live_bytes};
}

}  // namespace

Range AllocatedBytes(double live_bytes, const Gpu* gpu, const Overheads& overheads) {
  return Exactly(live_bytes) + LibraryBytes(gpu) + LiveSpread(live_bytes, overheads);
}

/// What the allocator holds after the step and the passes around it: at least what is allocated, which is all that is
/// known of a model too large to simulate. Only the step itself has other micro-batches waiting.
SimulatedReserve Reserves::Of(const TracedRank& rank, bool full_card, double workspace_bytes, double allocated_bytes) {
  for (const Answer& answer : answers_) {
    if (answer.full_card == full_card && answer.workspace_bytes == workspace_bytes) return answer.reserve;
  }
  if (steps_.empty()) {
    steps_ = StepPlans(rank);
    for (const Pass& pass : rank.passes) passes_.emplace_back(pass.step, AxesOf(pass));
  }
  const AllocatorUse use{rank.workload.habits.expandable_segments, full_card, workspace_bytes};
  const double waiting = rank.replay.waiting;
  double at_least = std::max(allocated_bytes, ReservedBytes({&steps_.back(), 1}, use) + waiting);
  for (const AllocatorPlan& pass : passes_) at_least = std::max(at_least, ReservedBytes({&pass, 1}, use));
  const double usually = steps_.size() == 1 ? at_least : std::max(at_least, ReservedBytes(steps_, use) + waiting);
  answers_.push_back({full_card, workspace_bytes, {usually, at_least}});
  return answers_.back().reserve;
}

void AddOverheads(MemoryEstimate& estimate, const TracedRank& rank, const Gpu* gpu, const Overheads& overheads,
                  Reserves& reserves) {
  const Workload& workload = rank.workload;
  const double live = estimate.phases.peak_step;
  const double workspace = BlasWorkspaceBytes(gpu);
  const Range driver = ContextOf(overheads, gpu != nullptr ? gpu->architecture : "");
  // Cards of one process copy to each other without NCCL.
  const bool uses_nccl = workload.parallel.gpus > 1 && !IsPlaced(workload.parallel);
  const Range collectives = uses_nccl ? overheads.collectives : Range{};
  const Range context = driver + collectives;
  const double paged_bytes = SumResidents(rank.step, rank.step.paged_states, rank.axes);
  Range paged{0, paged_bytes, paged_bytes};  // managed memory moves to the card where there is room
  estimate.allocated = AllocatedBytes(live, gpu, overheads);

  const SimulatedReserve simulated = reserves.Of(rank, false, workspace, estimate.allocated.expected);
  estimate.simulated_reserved = simulated.usually;
  estimate.reserved = ReservedRange(estimate, overheads, simulated);
  estimate.device = estimate.reserved + context + paged;
  if (gpu != nullptr && estimate.device.high > gpu->usable_bytes) {
    // Before it runs out of memory the allocator gives back every segment that is free as a whole: the holes stay.
    const SimulatedReserve least = reserves.Of(rank, true, workspace, estimate.allocated.expected);
    const Range need = ReservedRange(estimate, overheads, least);
    estimate.reserved = Capped(estimate.reserved, need, gpu->usable_bytes - context.expected);
    // Pages go back to the host before anything else fails: no need of theirs is on the card.
    estimate.device = Capped(estimate.device, need + context, gpu->usable_bytes);
    const double left = estimate.device.expected - estimate.reserved.expected - context.expected;
    paged.expected = std::clamp(left, 0.0, paged_bytes);
  }
  const double kept = estimate.reserved.expected - estimate.allocated.expected;
  const Range kept_range{std::min(kept, estimate.reserved.low - estimate.allocated.low), kept,
                         std::max(kept, estimate.reserved.high - estimate.allocated.high)};
  estimate.overheads = {{"library_workspace", LibraryBytes(gpu)},
                        {"live_spread", LiveSpread(live, overheads)},
                        {"allocator_slack", kept_range},
                        {"cuda_context", driver}};
  if (collectives.high > 0) estimate.overheads.push_back({"collective_buffers", collectives});
  if (paged_bytes > 0) estimate.overheads.push_back({"paged_optimizer_states", paged});
}

}  // namespace tunefit
