#pragma once

#include <string>
#include <vector>

#include "core/model/hardware.h"

namespace tunefit {

/// An estimate with the interval that should hold 90 of 100 real runs. Bytes.
struct Range {
  double low = 0;
  double expected = 0;
  double high = 0;
};

/// All three the same: what is known exactly.
constexpr Range Exactly(double value) { return {value, value, value}; }

/// A step from live tensors to what the driver shows. `id`: "library_workspace", "live_spread" (how far measured runs
/// lie from the estimate of live bytes; expected 0, low below), "allocator_slack", "cuda_context",
/// "collective_buffers", "paged_optimizer_states".
struct Overhead {
  std::string id;
  Range bytes;
};

/// The empirical part: from live tensors to allocated, reserved and device bytes. Fitted by a script from named runs
/// (tests/validation/overhead_runs.json names them), never typed in by hand.
struct Overheads {
  /// How far measured max_memory_allocated lies below and above live peak and workspaces: shares of the live peak.
  double allocated_low_fraction = 0, allocated_high_fraction = 0;
  /// How far measured max_memory_reserved lies below and above the simulated allocator's: shares of it.
  double reserved_low_fraction = 0, reserved_high_fraction = 0;
  /// And further above where a loss over whole logits scatters large blocks: a share of what the loss adds to the
  /// forward pass.
  double reserved_high_of_loss = 0;
  /// The driver's context and kernels on the card, outside torch's counters.
  struct Context {
    std::string architecture;  ///< of the GPU; empty for any
    Range bytes;
  };
  std::vector<Context> contexts;
  /// Beside it where GPUs work together: NCCL's channels and its kernels' memory, outside torch's counters.
  Range collectives;
};

/// MEM-30  What torch counts for cuBLAS: a workspace in each thread that multiplies (the forward's and autograd's), by
/// the GPU's generation (ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize). Bytes of one; `gpu` may be null.
double BlasWorkspaceBytes(const Gpu* gpu);

Range operator+(const Range& a, const Range& b);
Range operator*(const Range& range, double factor);

/// The driver's context on a GPU of this architecture; over all known ones where it is empty or unknown.
Range ContextOf(const Overheads& overheads, const std::string& architecture);

}  // namespace tunefit
