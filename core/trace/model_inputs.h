#pragma once

#include <cstdint>

#include "core/trace/model.h"

// What a model does before its layers: embeddings, positions, masks.

namespace tunefit {

/// Width of the token table.
std::int64_t TableWidth(const Architecture& architecture);

/// The tables, and what stands between them and the layers.
void MakeEmbeddings(ModuleFactory& factory, const Workload& workload, TracedModel& model);

Value EmbedTokens(Tracer& tracer, const TracedModel& model, const Value& ids);

/// The table of distances as the layers read it; empty where there is none.
Value DistanceTable(Tracer& tracer, const TracedModel& model);

/// Rotary tables, position ids and masks that the model makes before its layers.
LayerContext MakeContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden);

}  // namespace tunefit
