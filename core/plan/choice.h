#pragma once

#include <cstdint>

#include "core/model/parallel.h"
#include "core/model/workload.h"

// What a plan decides: everything about a run that the request leaves open.

namespace tunefit {

/// How much of a model learns, and over which weights: a later one can learn whatever an earlier one can. How much that
/// matters depends on the data, so none of them is taken for a better or a worse answer than another.
enum class TunedBy : std::uint8_t {
  kQlora,  ///< adapters over four-bit weights
  kLora,   ///< adapters over weights as they are
  kFull,   ///< every weight
};
inline constexpr int kTunedByCount = 3;

/// How the GPUs of a job divide the model and its data.
struct Layout {
  std::int64_t gpus = 1;
  Strategy strategy = Strategy::kNone;
  std::int64_t tensor = 1, pipeline = 1, context = 1, expert = 1;
  bool offloads_optimizer = false, offloads_parameters = false;  ///< to the host's memory

  /// Ranks that take rows of their own.
  constexpr std::int64_t rows() const { return gpus / (tensor * pipeline * context); }
  constexpr bool offloads() const { return offloads_optimizer || offloads_parameters; }
  bool operator==(const Layout&) const = default;
};

/// Sequences at a time, and how often before an update.
struct MicroBatch {
  std::int64_t per_device = 1;
  std::int64_t gradient_accumulation = 1;

  bool operator==(const MicroBatch&) const = default;
};

struct PlanChoice {
  TunedBy method = TunedBy::kFull;
  std::int64_t stack = 0;  ///< its place in Space::stacks
  Layout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
  MicroBatch batch;
};

}  // namespace tunefit
