#pragma once

#include <optional>
#include <vector>

#include "core/trace/encoder_head.h"
#include "core/trace/stack.h"

namespace tunefit {

/// What a model of several streams has before and after its layers.
struct StreamsModule {
  const Streams* streams = nullptr;
  Value table;  ///< an embedding of every token for each layer
  LinearModule inputs;
  NormModule inputs_norm, final_norm;
  std::vector<LinearModule> entries, exits;  ///< one for each stream but the first
};

struct EmbedderModule {
  const TokenEmbedder* embedder = nullptr;
  Value table;
  NormModule norm, norm_after;
  LinearModule projection;
};

/// A model as its library built it, ready to be run as often as a task runs it.
struct TracedModel {
  const Workload* workload = nullptr;
  ShardedUnits* units = nullptr;  ///< null where its parameters are not sharded
  Dtype received = Dtype::kBf16;  ///< of the hidden states that a later stage starts from: as the table makes them
  LayerStack layers;
  std::optional<LayerStack> encoder;  ///< of an encoder-decoder, whose decoder `layers` is
  Value table, positions, token_types;
  std::optional<Adapter> table_adapter;
  Value prompt;     ///< rows of virtual tokens; empty but under prompt tuning
  Value distances;  ///< the table that all layers project
  std::optional<NormModule> distance_norm;
  Value source_positions;  ///< of a speech model's encoder: never train
  std::optional<LinearModule> first_convolution, second_convolution;
  std::optional<LinearModule> project_in, project_out;  ///< where the token table is narrower than the layers
  std::optional<NormModule> embedding_norm;
  std::optional<StreamsModule> streams;
  std::vector<EmbedderModule> embedders;
  LinearModule head;
  std::optional<EncoderHead> encoder_head;  ///< instead of `head`, where the model is an encoder
};

/// Declares the weights of a workload's model. The workload must outlive the trace.
TracedModel MakeModel(Tracer& tracer, const Workload& workload, Unrolling unrolling);

/// From token ids to the normalized last hidden states; `moment` names the sections. Recomputations read `context`
/// again in backward: it must live until then.
Value RunModel(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment);

}  // namespace tunefit
