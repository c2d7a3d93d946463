#pragma once

#include "core/model/workload.h"

namespace tunefit {

/// PAR-30  What one of the ranks that share every matrix holds, as Megatron cuts it: query, key, value, gate and up by
/// columns, output and down by rows, the vocabulary's tables by rows; norms and tables of positions are whole. Heads,
/// key/value heads, groups and widths divide among the ranks: `Validate` of a workload sees to it. The vocabulary is
/// padded to a multiple of `vocabulary_multiple` on each rank. Each expert is cut like an MLP.
Architecture ShareOfTensors(const Architecture& architecture, std::int64_t ranks, std::int64_t vocabulary_multiple);

/// PAR-31  What one stage of a pipeline trains: its layers, the first stage with the embeddings, the last with the
/// final norm, the head and the loss. Layers are dealt out as evenly as they go, earlier stages first.
Workload StageOf(const Workload& workload, std::int64_t stage);

/// The workload of one rank: its stage of the pipeline, its share of every matrix.
Workload RankOf(const Workload& workload, std::int64_t stage);

}  // namespace tunefit
