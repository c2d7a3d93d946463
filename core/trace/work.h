#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/model/dtype.h"
#include "core/trace/size.h"

// What a step computes, beside what it keeps: read by core/time. Sizes are symbolic in batch and length, as those of
// storages are, and of one rank.

namespace tunefit {

/// Why something is computed: the conventions of utilization count these apart.
enum class Effort : std::uint8_t {
  kForward,
  kRecompute,  ///< a checkpointed module that runs again
  kBackward,
};

/// A batch of matrix products, by the elements of both operands and of the result in all: with batch B these are m x k,
/// k x n and m x n each, so that m = sqrt(a out / (b B)) and so on.
struct Matmul {
  Size batches, a, b, out;
  Dtype dtype = Dtype::kBf16;
  Effort effort = Effort::kForward;
};

/// Which keys a query of a fused attention kernel attends to.
struct AttentionSpan {
  std::int64_t window = 0;  ///< tokens; 0: all
  bool causal = true;
};

/// A fused attention kernel, whose scores are never written out: two products forward, five backward.
struct FusedScores {
  Size query;  ///< elements
  Size out;
  AttentionSpan span;
  Dtype dtype = Dtype::kBf16;
  Effort effort = Effort::kForward;
};

/// Ranks that send each other something.
enum class Group : std::uint8_t {
  kData,    ///< that hold shards or copies of the same weights
  kTensor,  ///< that share every matrix
  kExpert,  ///< that share the experts
};

/// Bytes that every rank of a group ends up with, or sends once around: an all-gather, a reduce-scatter, an all-to-all;
/// twice where a sum comes back to all. Those of the residual stream stand for their mirror images in backward, too.
struct Transfer {
  Group group = Group::kData;
  Size elements;
  double bytes_per_element = 0;
  Effort effort = Effort::kForward;
};

/// What one repetition of a section computes.
struct Work {
  std::array<double, kAxisCount> bytes{};  ///< read and written by all but products and fused attention, by axis
  double kernels = 0;                      ///< launched, these included
  std::int32_t first_matmul = 0, end_matmul = 0;
  std::int32_t first_scores = 0, end_scores = 0;
  std::int32_t first_transfer = 0, end_transfer = 0;
};

/// Of all sections of a step, one after another.
struct WorkList {
  std::vector<Work> sections;
  std::vector<Matmul> matmuls;
  std::vector<FusedScores> scores;
  std::vector<Transfer> transfers;
};

}  // namespace tunefit
