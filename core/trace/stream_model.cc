// The order of Gemma3nTextModel.forward (transformers, modeling_gemma3n.py).
#include "core/trace/stream_model.h"

#include <utility>

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};

/// The root of the mean square of a token's states.
Value Magnitude(Tracer& tracer, const Value& x) { return tracer.Pow(tracer.Mean(tracer.Pow(x), kOnePerToken)); }

/// One more stream: `from` by a matrix, with the magnitude of the first.
void AddStream(Tracer& tracer, const LinearModule& module, const Value& from, StreamNames& names) {
  names.projected = Forward(tracer, module, from);
  const Value stream = tracer.Cast(names.projected, names.dtype);
  names.magnitude = tracer.Mean(tracer.Pow(stream), kOnePerToken);
  Value above_zero = tracer.Elementwise(names.magnitude, true, false, "maximum");
  names.magnitude = tracer.Elementwise(std::move(above_zero), false, true, "sqrt");
  names.scaled = tracer.Divide(tracer.Mul(stream, names.target), names.magnitude);
  names.parts.push_back(names.scaled);
}

/// The mean over the streams, which are joined for it.
Value MeanOf(Tracer& tracer, const StreamNames& names) {
  const Size size = tracer.SizeOf(names.parts.front());
  return tracer.Mean(tracer.Stack(names.parts), size);
}

}  // namespace

StreamsModule MakeStreams(ModuleFactory& factory, const Workload& workload) {
  const Architecture& architecture = workload.architecture;
  const Streams& streams = *architecture.streams;
  const auto linear = [&](const LinearShape& shape) {
    return factory.MakeLinear(shape, shape.name, Term::kEmbedding, {});
  };
  StreamsModule module;
  module.streams = &streams;
  module.table = factory.MakeTable(streams.rows, streams.inputs.out_features, "embed_tokens_per_layer", false);
  module.inputs = linear(streams.inputs);
  module.inputs_norm = factory.MakeNorm(architecture.final_norm, "per_layer_projection_norm", streams.width, {});
  for (std::int64_t i = 1; i < streams.count; ++i) {
    module.entries.push_back(linear(streams.entry));
    module.exits.push_back(linear(streams.exit));
  }
  module.final_norm = factory.MakeNorm(architecture.final_norm, "norm", architecture.hidden_size, {});
  return module;
}

Value ReadLayerTable(Tracer& tracer, const StreamsModule& module, const Value& ids) {
  tracer.scope = {"embed_tokens_per_layer", Term::kEmbedding, false};
  const Size size{static_cast<double>(module.streams->inputs.out_features), Axis::kTokens};
  return tracer.Scale(tracer.Embedding(ids, module.table, size));
}

Value ProjectLayerInputs(Tracer& tracer, const StreamsModule& module, const Value& embeddings, const Value& rows) {
  tracer.scope = {module.inputs.path, Term::kEmbedding, false};
  const Streams& streams = *module.streams;
  const std::int64_t layers = streams.inputs.out_features / streams.width;
  Value projection = Forward(tracer, module.inputs, embeddings);  // scaled in place
  projection = Forward(tracer, module.inputs_norm, projection, kOnePerToken * static_cast<double>(layers));
  return tracer.Scale(tracer.Add(projection, rows));
}

Value EnterStreams(Tracer& tracer, const StreamsModule& module, const Value& embeddings, StreamNames& names) {
  tracer.scope = {"altup_projections", Term::kEmbedding, false};
  names.dtype = tracer.DtypeOf(embeddings);
  names.target = Magnitude(tracer, embeddings);
  names.parts = {embeddings};
  for (const LinearModule& entry : module.entries) AddStream(tracer, entry, embeddings, names);
  return tracer.Stack(names.parts);
}

Value LeaveStreams(Tracer& tracer, const StreamsModule& module, Value hidden, StreamNames& names) {
  tracer.scope = {"altup_unembed_projections", Term::kEmbedding, false};
  const double share = 1 / static_cast<double>(module.streams->count);
  names.target = Magnitude(tracer, tracer.Slice(hidden, share));
  names.parts = {tracer.Slice(hidden, share)};
  for (const LinearModule& exit : module.exits) AddStream(tracer, exit, tracer.Slice(hidden, share), names);
  hidden = MeanOf(tracer, names);
  tracer.scope = {module.final_norm.path, Term::kNorms, false};
  return Forward(tracer, module.final_norm, hidden, kOnePerToken);
}

}  // namespace tunefit
