#pragma once

#include <cstdint>

#include "core/trace/model.h"

// What a model does before its layers: embeddings, positions, masks.

namespace tunefit {

/// Width of the token table.
std::int64_t TableWidth(const Architecture& architecture);

/// The tables, and what stands between them and the layers.
void MakeEmbeddings(ModuleFactory& factory, const Workload& workload, TracedModel& model);

/// Tokens that the data has: all, unless virtual ones come before them.
Axis TokensOfData(const Workload& workload);

/// Rows of the token table for the data's ids.
Value ReadTable(Tracer& tracer, const TracedModel& model, const Value& ids);

/// PEFT's prompt tuning: learned rows before those of every sequence. The forward pass around the model's own holds
/// both until the loss is there.
struct PromptedRows {
  Value prompts, rows;
};
PromptedRows PutPromptsBefore(Tracer& tracer, const TracedModel& model, Value rows);

/// The labels that the loss compares with: before those of the data some for virtual tokens, which it leaves out.
Value LabelsOfAll(Tracer& tracer, const Workload& workload, const Value& labels);

/// What the class makes of the table's rows before its layers.
Value EmbedTokens(Tracer& tracer, const TracedModel& model, Value rows);

/// The table of distances as the layers read it; empty where there is none.
Value DistanceTable(Tracer& tracer, const TracedModel& model);

/// Rotary tables, position ids and masks that the model makes before its layers.
LayerContext MakeContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden);

}  // namespace tunefit
