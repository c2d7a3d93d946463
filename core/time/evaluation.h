#pragma once

#include <vector>

#include "core/memory/traced_rank.h"
#include "core/model/hardware.h"
#include "core/time/efficiencies.h"
#include "core/time/links.h"

namespace tunefit {

/// TIM-36  Seconds of one evaluation of a traced job, whose rows are as long as those of `workload`: a pass without
/// gradients over each batch of its examples, by the slowest rank; in grpo and ppo examples are prompts, whose
/// completions are written first. 0 where the workload does not evaluate, or nobody says over how many examples.
double EvaluationSeconds(const Workload& workload, const std::vector<TracedRank>& job, const Gpu& gpu,
                         const Fabric& fabric, const Efficiencies& efficiencies);

}  // namespace tunefit
