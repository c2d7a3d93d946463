#pragma once

#include <vector>

#include "core/model/workload.h"
#include "core/trace/step.h"

namespace tunefit {

/// Passes without gradients outside the training step, which a run's peaks know too: `step` has no backward section.
/// They have a batch of their own.
struct Pass {
  Moment moment = Moment::kRollout;
  Step step;
  double sequences = 0;  ///< at once
  double length = 0;     ///< tokens of a sequence
  double data = 0;       ///< those among them that are no virtual ones; 0: all
  double kept = 0;       ///< what Axis::kKept counts of a sequence
};

/// The passes of a workload: the rollout before the step, an evaluation between steps. None for most.
std::vector<Pass> TracePasses(const Workload& workload);

/// MEM-115  A forward pass and its loss over the evaluation's batch, beside what training holds between two steps. Of a
/// workload that evaluates.
Pass TraceEvaluationPass(const Workload& workload);

/// MEM-111  Generation by `model.generate` with its cache, where the training process generates: in grpo the prompts'
/// pass, then the cache at its longest (Axis::kKept counts whole sequences); in ppo the cache beside the scores of
/// every generated token, and then those scores beside the passes of reference, value and reward models. All
/// completions that the training steps until the next rollout share are generated at once. Of a sharded model
/// DeepSpeed's stage 3 gathers all for that, FSDP the root and one layer after the other, fully_shard one layer after
/// the other.
Pass TraceRollout(const Workload& workload);

/// Of one GPU's completions, those that the training process generates and scores together: in grpo all of them, in ppo
/// no more than local_rollout_forward_batch_size.
std::int64_t CompletionsAtOnce(const Workload& workload);

/// A pass of the policy without gradients and without a cache, up to the choice of one more token for each sequence:
/// read at the length of a prompt it is that of all prompts, at a length of one token that of every later token but for
/// the keys and values before it. `Axis::kKept` is not asked for.
Step TraceNextToken(const Workload& workload);

/// ppo: the passes of reference, value and reward models over completions (TraceRollout's, without the generation).
Step TraceScores(const Workload& workload);

/// An adapter that stage 3 divides is merged for another engine with all parameters gathered.
bool GathersForEngine(const Workload& workload);

/// MEM-111  That moment: trl/generation/vllm_generation.py, sync_weights.
Pass TraceHandover(const Workload& workload);

}  // namespace tunefit
