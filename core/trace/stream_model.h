#pragma once

#include "core/trace/model.h"

// What Gemma 3n does before and after its layers, whose hidden states are several streams.

namespace tunefit {

StreamsModule MakeStreams(ModuleFactory& factory, const Workload& workload);

/// Rows of the table that has an embedding for every layer.
Value ReadLayerTable(Tracer& tracer, const StreamsModule& module, const Value& ids);

/// They and what the token's own embedding says of them, together.
Value ProjectLayerInputs(Tracer& tracer, const StreamsModule& module, const Value& embeddings, const Value& rows);

/// Names of the forward pass that hold what they were last given while the layers run.
struct StreamNames {
  Dtype dtype = Dtype::kBf16;  ///< of the token's embedding
  Value target;                ///< the magnitude of the first stream
  Value projected;             ///< the last of the others, as its matrix made it
  Value scaled;                ///< and with that magnitude
  Value magnitude;
  std::vector<Value> parts;
};

/// The streams that the first layer gets.
Value EnterStreams(Tracer& tracer, const StreamsModule& module, const Value& embeddings, StreamNames& names);

/// From the streams of the last layer to the normalized hidden states.
Value LeaveStreams(Tracer& tracer, const StreamsModule& module, Value hidden, StreamNames& names);

}  // namespace tunefit
