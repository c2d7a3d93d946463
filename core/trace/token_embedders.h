#pragma once

#include "core/trace/model.h"

namespace tunefit {

/// Declares the embedders of the workload's towers.
std::vector<EmbedderModule> MakeTokenEmbedders(Tracer& tracer, ModuleFactory& factory, const Workload& workload);

/// What an embedder leaves behind until the model's forward pass ends: names of Python's.
struct EmbedderNames {
  std::vector<Value> held;
};

/// The embeddings of a text, in which no token stands for an image or a sound, after the embedders ran over them.
Value RunTokenEmbedders(Tracer& tracer, const TracedModel& model, Value embeddings, EmbedderNames& names);

}  // namespace tunefit
