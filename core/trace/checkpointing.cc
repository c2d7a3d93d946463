#include "core/trace/checkpointing.h"

#include <algorithm>
#include <numeric>

namespace tunefit {

bool ChecksLayers(const Workload& workload) {
  const bool core_only = workload.checkpointing == Checkpointing::kSelective &&
                         workload.habits.selective_checkpoint == SelectiveCheckpoint::kCoreAttention;
  return workload.checkpointing != Checkpointing::kNone && !core_only;
}

bool ChecksLayer(const Workload& workload, std::int64_t index) {
  return ChecksLayers(workload) && (index + 1) % workload.checkpoint_every == 0;
}

CheckpointRule LayerRule(const Workload& workload) {
  const Habits& habits = workload.habits;
  CheckpointRule rule{.recompute = habits.recompute, .to_host = workload.checkpointing == Checkpointing::kOffload};
  // A compiled graph runs to its end.
  if (workload.compile && rule.recompute == Recompute::kStopsEarly) rule.recompute = Recompute::kWhole;
  if (workload.checkpointing == Checkpointing::kSelective) {
    rule.keeps_attention = true;
    rule.keeps_odd_products = habits.selective_checkpoint == SelectiveCheckpoint::kAllButEverySecondProduct;
  }
  return rule;
}

std::vector<LayerRun> InStepWithCheckpoints(const std::vector<LayerRun>& runs, const Workload& workload) {
  const std::int64_t every = workload.checkpoint_every;
  if (every <= 1 || !ChecksLayers(workload)) return runs;
  std::vector<LayerRun> result;
  for (const LayerRun& run : runs) {
    const auto period = static_cast<std::int64_t>(run.period.size());
    const std::int64_t layers = period * run.repeats;
    const std::int64_t joint = std::max<std::int64_t>(1, std::lcm(period, every));
    const auto add = [&](std::int64_t length, std::int64_t repeats) {
      if (length == 0 || repeats == 0) return;
      LayerRun& part = result.emplace_back();
      part.repeats = repeats;
      part.piece = run.piece;
      for (std::int64_t i = 0; i < length; ++i) part.period.push_back(run.period[static_cast<std::size_t>(i % period)]);
    };
    add(joint, layers / joint);
    add(layers % joint, 1);
  }
  return result;
}

void HoldOffloadBlocks(Tracer& tracer, const Workload& workload, const Value& hidden) {
  if (workload.checkpointing != Checkpointing::kOffload || !tracer.gradients()) return;
  tracer.scope = {"offloaded checkpoints", Term::kCheckpoints, false};
  const std::int64_t checkpoints = workload.architecture.layers() / workload.checkpoint_every;
  const std::int64_t blocks = std::min(workload.habits.offload_blocks_on_card, checkpoints);
  for (std::int64_t i = 0; i < blocks; ++i) {
    tracer.HoldUntilLayersReturn(tracer.Empty(tracer.SizeOf(hidden), tracer.DtypeOf(hidden), "layer input"));
  }
}

}  // namespace tunefit
