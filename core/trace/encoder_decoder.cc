// Encoder-decoders: the order of T5ForConditionalGeneration.forward and T5Stack.forward (transformers, modeling_t5.py).
#include "core/trace/encoder_decoder.h"

#include <memory>
#include <utility>

#include "core/trace/checkpointing.h"
#include "core/trace/model_inputs.h"

namespace tunefit {
namespace {

LayerContext MakeStackContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden) {
  LayerContext context = MakeContext(tracer, workload, embedded, hidden);
  context.of_one_stack = true;
  context.biases = std::make_shared<SharedBiases>();
  return context;
}

/// Embeddings of tokens, the layers, the norm, and dropout at both ends.
Value RunTokens(Tracer& tracer, const TracedModel& model, const LayerStack& stack, LayerContext& context,
                const Value& embeddings, Moment moment) {
  const Architecture& architecture = model.workload->architecture;
  tracer.scope = {"drop", Term::kEmbedding, false};
  Value hidden = tracer.Dropout(embeddings, architecture.embedding_dropout);
  hidden = RunStack(tracer, *model.workload, stack, context, std::move(hidden), moment);
  return tracer.Dropout(std::move(hidden), architecture.output_dropout);
}

Value Encode(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Value embeddings = EmbedTokens(tracer, model, ids);
  context = MakeStackContext(tracer, *model.workload, tracer.DtypeOf(model.table), tracer.DtypeOf(embeddings));
  Value hidden = RunTokens(tracer, model, *model.encoder, context, embeddings, moment);
  if (!ChecksLayers(*model.workload)) context.DropTensors();
  return hidden;
}

/// The source's padding, for every token of the target.
Value MakeCrossMask(Tracer& tracer, Dtype embedded) {
  tracer.scope = {"encoder_attention_mask", Term::kBuffers, false};
  constexpr Size kEveryPair{1, Axis::kScores};
  const Value allowed = tracer.Empty(kEveryPair, Dtype::kBool, "allowed");
  return tracer.Empty(kEveryPair, embedded, "mask");
}

}  // namespace

LayerStack MakeEncoder(Tracer& tracer, ModuleFactory& factory, const Workload& workload, Unrolling unrolling) {
  const Architecture& architecture = workload.architecture;
  LayerStack stack = MakeStack(tracer, factory, workload, architecture.encoder_runs, 0, unrolling);
  stack.final_norm = factory.MakeNorm(architecture.final_norm, "encoder_norm", architecture.hidden_size, {});
  return stack;
}

Value RunEncoderDecoder(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context,
                        Moment moment) {
  const Workload& workload = *model.workload;
  tracer.BeginSection(moment, -1, 1, 1);
  auto encoder = std::make_shared<LayerContext>();
  const Value source = Encode(tracer, model, ids, *encoder, moment);
  tracer.scope = {"inputs", Term::kInputs, false};
  const Value target_ids = tracer.Input(tracer.SizeOf(ids), Dtype::kInt64, "decoder_input_ids");
  const Value embeddings = EmbedTokens(tracer, model, target_ids);
  const Dtype embedded = tracer.DtypeOf(model.table);
  context = MakeStackContext(tracer, workload, embedded, tracer.DtypeOf(embeddings));
  context.of_encoder = std::move(encoder);
  context.cross_mask = MakeCrossMask(tracer, embedded);
  context.source = source;
  tracer.ShareAmongLayers(context.source);
  tracer.ShareAmongLayers(context.cross_mask);
  Value hidden = RunTokens(tracer, model, model.layers, context, embeddings, moment);
  if (ChecksLayers(workload)) return hidden;
  context.DropTensors();
  context.source = source;
  return hidden;
}

}  // namespace tunefit
