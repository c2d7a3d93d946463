#include "core/trace/model.h"

#include <memory>
#include <utility>

#include "core/trace/checkpointing.h"
#include "core/trace/decoder.h"
#include "core/trace/encoder_decoder.h"
#include "core/trace/model_inputs.h"
#include "core/trace/sharding.h"
#include "core/trace/stream_model.h"
#include "core/trace/token_embedders.h"
#include "core/trace/vision.h"

namespace tunefit {
namespace {

/// What a later stage of a pipeline starts from: the hidden states that the one before sends.
Value ReceiveHidden(Tracer& tracer, const Workload& workload, Dtype dtype) {
  tracer.scope = {"pipeline", Term::kCommunication, false};
  const double width = static_cast<double>(workload.architecture.hidden_size) / workload.parallel.StreamRanks();
  const Size tokens{width, Axis::kTokens};
  return tracer.RequireGradient(tracer.Input(tokens, dtype, "received hidden states"));
}

}  // namespace

TracedModel MakeModel(Tracer& tracer, const Workload& workload, Unrolling unrolling) {
  const Architecture& architecture = workload.architecture;
  ModuleFactory factory(tracer, workload);
  TracedModel model;
  model.workload = &workload;
  const bool gathered = tracer.units() != nullptr;
  model.received = gathered ? workload.precision.compute : factory.TableDtype();
  const PipelineStage& stage = workload.stage;
  if (stage.is_first) MakeEmbeddings(factory, workload, model);
  if (stage.is_first && architecture.vision) MakeVisionTower(tracer, factory, workload);
  if (architecture.hears()) MakeEars(factory, workload, model);
  if (architecture.encodes_source()) model.encoder = MakeEncoder(tracer, factory, workload, unrolling);
  const std::int64_t first_layer = CountLayers(architecture.encoder_runs) + stage.first_layer;
  model.layers = MakeStack(tracer, factory, workload, architecture.runs, first_layer, unrolling);
  if (architecture.streams) model.streams = MakeStreams(factory, workload);
  model.embedders = MakeTokenEmbedders(tracer, factory, workload);
  if (!stage.is_last) return model;
  if (architecture.has_final_norm && !architecture.streams) {
    model.layers.final_norm = factory.MakeNorm(architecture.final_norm, "norm", architecture.hidden_size, {});
  }
  // A tied head that the table is not near has a copy of it.
  if (!stage.is_first && architecture.tied_head) {
    model.table = factory.MakeTable(architecture.vocab_size, TableWidth(architecture), "lm_head", false);
  }
  if (architecture.encoder == EncoderKind::kNone) {
    model.head = factory.MakeHead(model.table);
  } else {
    model.encoder_head = MakeEncoderHead(factory, architecture, model.table);
  }
  return model;
}

namespace {

/// From token ids to the normalized states of a model of several streams.
Value RunStreams(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Workload& workload = *model.workload;
  Value embeddings = EmbedTokens(tracer, model, ReadTable(tracer, model, ids));
  EmbedderNames embedder_names;
  Value rows = ReadLayerTable(tracer, *model.streams, ids);
  embeddings = RunTokenEmbedders(tracer, model, std::move(embeddings), embedder_names);
  Value inputs = ProjectLayerInputs(tracer, *model.streams, embeddings, rows);
  rows.Drop();
  StreamNames names;
  Value hidden = EnterStreams(tracer, *model.streams, embeddings, names);
  context = MakeContext(tracer, workload, tracer.DtypeOf(model.table), tracer.DtypeOf(embeddings));
  context.layer_inputs = std::move(inputs);
  context.lenders = std::make_shared<Lenders>();
  tracer.ShareAmongLayers(context.layer_inputs);
  hidden = RunStack(tracer, workload, model.layers, context, std::move(hidden), moment);
  hidden = LeaveStreams(tracer, *model.streams, std::move(hidden), names);
  context.layer_inputs.Drop();
  if (!ChecksLayers(workload) || !tracer.gradients()) context.DropTensors();
  return hidden;
}

}  // namespace

Value RunModel(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Workload& workload = *model.workload;
  tracer.FuseElementwise(workload.compile);
  if (model.encoder) return RunEncoderDecoder(tracer, model, ids, context, moment);
  tracer.BeginSection(moment, -1, 1, 1);
  if (tracer.units() != nullptr) tracer.EnterUnit(0, Value());
  if (model.streams) return RunStreams(tracer, model, ids, context, moment);
  PromptedRows prompted;
  Value embeddings;
  if (workload.stage.is_first) {
    Value rows = ReadTable(tracer, model, ids);
    if (model.prompt) {
      prompted = PutPromptsBefore(tracer, model, std::move(rows));
      rows = prompted.rows;
    }
    embeddings = EmbedTokens(tracer, model, std::move(rows));
  } else {
    embeddings = ReceiveHidden(tracer, workload, model.received);
  }
  const Dtype embedded = workload.stage.is_first ? tracer.DtypeOf(model.table) : tracer.DtypeOf(embeddings);
  context = MakeContext(tracer, workload, embedded, tracer.DtypeOf(embeddings));
  context.prompts = std::move(prompted.prompts);
  context.prompted_rows = std::move(prompted.rows);
  tracer.scope = {"drop", Term::kEmbedding, false};
  Value hidden = embeddings;
  if (workload.stage.is_first) {
    hidden = DivideTokens(tracer, workload, embeddings);
    if (workload.parallel.StreamRanks() > 1) embeddings = hidden;  // the whole of it is a sum on its way
    hidden = tracer.Dropout(std::move(hidden), workload.architecture.embedding_dropout);
  }
  context.distance_table = DistanceTable(tracer, model);
  tracer.ShareAmongLayers(context.distance_table);
  if (tracer.gradients()) HoldOffloadBlocks(tracer, workload, hidden);
  hidden = RunStack(tracer, workload, model.layers, context, std::move(hidden), moment);
  if (model.project_out) hidden = Forward(tracer, *model.project_out, hidden);
  if (!ChecksLayers(workload)) context.DropTensors();
  return hidden;
}

}  // namespace tunefit
