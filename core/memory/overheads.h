#pragma once

#include <string>
#include <vector>

namespace tunefit {

/// An estimate with the interval that should hold 90 of 100 real runs. Bytes.
struct Range {
  double low = 0;
  double expected = 0;
  double high = 0;
};

/// A step from live tensors to what the driver shows. `id`: "library_workspace", "live_spread" (how far measured runs
/// lie from the estimate of live bytes; expected 0, low below), "allocator_slack", "cuda_context",
/// "paged_optimizer_states".
struct Overhead {
  std::string id;
  Range bytes;
};

/// The empirical part: from live tensors to allocated, reserved and device bytes. Fitted by a script from named runs
/// (catalog/overheads.json names them), never typed in by hand. Fractions are of the live peak, or of what is said.
struct Overheads {
  /// allocated = live peak + workspace_bytes of the math libraries; its range is a fraction either way.
  double library_workspace_bytes = 0;
  double allocated_low_fraction = 0, allocated_high_fraction = 0;
  /// reserved = allocated + what the caching allocator keeps beside it: a share of all that comes and goes within a
  /// step (peak minus between_steps), and a share of what the loss adds on top of the forward pass: its blocks are too
  /// large for the holes the layers leave, and the layers break them up.
  struct Slack {
    Range of_moving;
    Range of_loss;
  };
  Slack slack_fixed;   ///< lengths all equal
  Slack slack_varied;  ///< lengths vary from batch to batch
  /// The driver's context and kernels on the card, outside torch's counters.
  struct Context {
    std::string architecture;  ///< of the GPU; empty for any
    Range bytes;
  };
  std::vector<Context> contexts;
};

Range operator+(const Range& a, const Range& b);
Range operator*(const Range& range, double factor);

/// The driver's context on a GPU of this architecture; over all known ones where it is empty or unknown.
Range ContextOf(const Overheads& overheads, const std::string& architecture);

}  // namespace tunefit
