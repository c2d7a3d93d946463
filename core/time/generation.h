#pragma once

#include "core/model/hardware.h"
#include "core/model/workload.h"
#include "core/time/compute.h"
#include "core/time/efficiencies.h"
#include "core/time/links.h"

// Seconds in which the completions of grpo and ppo come about.

namespace tunefit {

/// How a rollout's completions come about on one GPU, or on those of an engine apart, before any efficiency.
struct RolloutCounts {
  MicroBatchWork prompts;     ///< a pass over the prompts of what is generated together (vLLM: one a group)
  MicroBatchWork token;       ///< a pass over one token of each of these completions
  double cache_bytes = 0;     ///< of keys and values that such a pass moves, at their average length
  double tokens = 0;          ///< passes over one token, after that over the prompts
  double times = 0;           ///< all that, until every completion is there
  double gathered_bytes = 0;  ///< of weights that data ranks gather before it, once
  double gathers = 0;         ///< tensors among them
  double handed_bytes = 0;    ///< of weights in 16 bits that another engine is handed
  MicroBatchWork scores;      ///< ppo: passes of the other models over completions that are scored together
  double scored_times = 0;
};

/// TIM-40  Of a workload that generates. `transformers` generates all that the training process holds together, over
/// its shards as they are wrapped; stage 3 of ZeRO gathers all weights once. vLLM runs the whole model in 16 bits,
/// adapters merged, reads the prompts of a group once, and as many completions together as its memory has keys and
/// values for.
RolloutCounts CountRollout(const Workload& workload);

struct GenerationTime {
  double seconds = 0;
  double busy_seconds = 0;    ///< of these, in which a GPU that trains computes
  double launch_seconds = 0;  ///< in which it waits for the host to launch

  /// In which it waits for weights on their way, or for another engine.
  double waited_seconds() const { return seconds - busy_seconds - launch_seconds; }
};

/// TIM-41  Of one optimizer step: the rollout's over all steps that train on its completions. A pass over a token takes
/// as long as its products or their operands on their way from memory, whichever is more, and the keys and values; in
/// the training process never less than its launches. Over the GPUs of an engine apart that divides evenly.
GenerationTime TimeGeneration(const RolloutCounts& counts, const Workload& workload, const Gpu& gpu,
                              const Fabric& fabric, const Efficiencies& efficiencies);

}  // namespace tunefit
