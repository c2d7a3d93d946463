#pragma once

#include <cstdint>
#include <vector>

#include "core/model/workload.h"

namespace tunefit {

/// PAR-30  What one of the ranks that share every matrix holds, as Megatron cuts it: query, key, value, gate and up by
/// columns, output and down by rows, the vocabulary's tables by rows; norms and tables of positions are whole. Heads,
/// key/value heads, groups and widths divide among the ranks: `Validate` of a workload sees to it. The vocabulary is
/// padded to a multiple of `vocabulary_multiple` on each rank. Each expert is cut like an MLP, among ranks of its own
/// number.
Architecture ShareOfTensors(const Architecture& architecture, std::int64_t ranks, std::int64_t expert_ranks,
                            std::int64_t vocabulary_multiple);

/// PAR-31  What one stage of a pipeline trains: its layers, the first stage with the embeddings, the last with the
/// final norm, the head and the loss. Layers are dealt out as evenly as they go, earlier stages first; with
/// interleaving in as many pieces a stage, in turn.
Workload StageOf(const Workload& workload, std::int64_t stage);

/// Stages of which one is the busiest: the first, the last, which holds the logits, and of those between with the same
/// layers the first, which holds the most micro-batches. In order.
std::vector<std::int64_t> StagesToCompare(const Workload& workload);

/// The workload of one rank: its stage of the pipeline, its share of every matrix, its experts.
Workload RankOf(const Workload& workload, std::int64_t stage);

}  // namespace tunefit
