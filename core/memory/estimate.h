#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/memory/overheads.h"
#include "core/memory/traced_rank.h"
#include "core/model/hardware.h"
#include "core/model/workload.h"
#include "core/trace/moment.h"
#include "core/trace/training_step.h"

namespace tunefit {

/// Bytes of live tensors on the GPU at the moments of a step. Rounded per storage as CUDA's caching allocator rounds.
struct Phases {
  double static_bytes = 0;   ///< weights, adapters and buffers before the first step
  double between_steps = 0;  ///< after optimizer.step() and zero_grad()
  double after_forward = 0;
  double peak_forward = 0;
  double after_backward = 0;
  double peak_backward = 0;
  double peak_optimizer = 0;
  double peak_step = 0;  ///< the largest of the peaks
  double load = 0;       ///< while the weights are read
  double rollout = 0;    ///< while completions are generated and scored in the training process; 0 where none are
  double evaluate = 0;   ///< an evaluation between steps; 0 where none is asked for
  double merge = 0;      ///< while an adapter is merged into its base; 0 where there is none, or no way to
  double save = 0;       ///< while the result is written
};

/// One kind of storage alive at the peak, equal ones together.
struct LedgerItem {
  std::string name;  ///< as the library names it, layers as *: "model.layers.*.mlp.act_fn: input"
  Dtype dtype = Dtype::kFp32;
  std::string shape;  ///< in words of the request: "tokens x 14336"
  std::int64_t count = 0;
  double bytes = 0;  ///< of all of them
};

/// A line of the breakdown at the peak.
struct TermBytes {
  Term term = Term::kWeights;
  double bytes = 0;
  std::vector<LedgerItem> items;  ///< largest first
};

struct TimelinePoint {
  Moment moment = Moment::kForward;
  std::int64_t layer = -1;  ///< -1 outside the layers
  double bytes = 0;         ///< live at the end of the point
  double peak_bytes = 0;    ///< the most within it
};

/// What a parameter costs in each role, on average, for the recipe said aloud. Bytes, without rounding.
struct RecipeBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer_states = 0;
  double optimizer_transient = 0;
  double frozen = 0;  ///< a frozen parameter of the quantized or plain base; 0 when nothing is frozen
};

/// Bytes of a machine's memory that the run takes for all of its GPUs, beyond the processes themselves: at most, by
/// part.
struct HostBytes {
  double checkpoints = 0;       ///< MEM-70 layer inputs that wait for backward, pinned
  double parameters = 0;        ///< MEM-130 this rank's shards
  double gradients = 0;         ///< MEM-130 what the update on the host reads
  double optimizer_states = 0;  ///< MEM-130 moments, and master weights where there are any
  double buffers = 0;           ///< MEM-131 through which these travel to the card or to disk, pinned
  double nvme = 0;              ///< MEM-131 on the machine's disks: no part of its memory

  double total() const { return checkpoints + parameters + gradients + optimizer_states + buffers; }
};

struct MemoryEstimate {
  Phases phases;
  HostBytes host;
  Moment peak_moment = Moment::kBackward;
  double loss_bytes = 0;  ///< what the loss adds to the forward pass at its highest: logits and what becomes of them
  double disk_bytes = 0;  ///< MEM-114 of one checkpoint: what was trained and the optimizer's states
  double simulated_reserved = 0;  ///< what the simulated allocator holds, before the spread of measured runs
  Range allocated, reserved, device;
  std::vector<Overhead> overheads;
  std::vector<TermBytes> terms;         ///< sums exactly to phases.peak_step; empty in a summary
  std::vector<TimelinePoint> timeline;  ///< empty unless asked for
  TrainedParameters parameters;
  RecipeBytes recipe;
};

class Reserves;

enum class Detail : std::uint8_t { kSummary, kFull };

enum class Verdict : std::uint8_t { kFits, kTight, kDoesNotFit };

/// `fits` when the whole range is within the card, `does_not_fit` when all of it is over, else `tight`.
Verdict JudgeFit(const Range& device, double usable_bytes);

/// MEM-0  The memory of one training step on one GPU. The workload must be valid (`Validate` without errors).
/// `gpu` may be null: the context's range is then the widest the overheads know.
MemoryEstimate EstimateMemory(const Workload& workload, const Gpu* gpu, const Overheads& overheads, Detail detail);

/// The same of a job that was traced already.
MemoryEstimate EstimateMemory(const Workload& workload, const std::vector<TracedRank>& job, const Gpu* gpu,
                              const Overheads& overheads, Detail detail);

/// Of the busiest GPU of a traced job: what EstimateMemory says of it, and no more.
struct DeviceUse {
  Range device;
  double disk_bytes = 0;
};
/// `reserves` of the job's ranks at its batch, kept from card to card; made where it is empty.
DeviceUse BusiestDevice(const std::vector<TracedRank>& job, const Gpu& gpu, const Overheads& overheads,
                        std::vector<Reserves>& reserves);

/// A GPU's part of what a machine's memory holds for a traced job, whichever is the busiest.
double HostBytesPerGpu(const std::vector<TracedRank>& job);

/// Under all that BusiestDevice can say, without running the allocator: over `usable_bytes` the job does not fit.
double LeastDeviceBytes(const std::vector<TracedRank>& job, const Gpu& gpu, const Overheads& overheads);

/// What one of the GPUs that share a model holds, by its stage of the pipeline: its tensor, expert and data ranks are
/// alike.
struct RankMemory {
  std::int64_t stage = 0;  ///< from 0, which embeds the tokens
  std::int64_t layers = 0;
  std::int64_t passes_in_flight = 1;  ///< of micro-batches through its pieces, whose activations are alive at once
  Phases phases;
  Range allocated, reserved, device;
};

/// MEM-83  Every stage's, in order; of a model that is not cut the one.
std::vector<RankMemory> EstimateRanks(const Workload& workload, const Gpu* gpu, const Overheads& overheads);

/// The largest values whose verdict is `fits`, everything else kept; 0 when not even 1 fits.
struct Limits {
  std::int64_t largest_batch = 0;
  std::int64_t longest_sequence_tokens = 0;
};

/// What a request may ask for at most: no limit is offered beyond it.
struct SearchBounds {
  std::int64_t sequences = 0;  ///< in a micro-batch
  std::int64_t length = 0;     ///< tokens of a sequence
  std::int64_t tokens = 0;     ///< of a micro-batch
};

/// Searches by replaying one trace. Lengths beyond the model's context, where it is known, are not offered.
Limits FindLimits(const Workload& workload, const Gpu& gpu, const Overheads& overheads, const SearchBounds& bounds);

}  // namespace tunefit
