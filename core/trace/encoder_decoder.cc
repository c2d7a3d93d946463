// Encoder-decoders: the order of T5ForConditionalGeneration.forward and T5Stack.forward (transformers, modeling_t5.py).
#include "core/trace/encoder_decoder.h"

#include <memory>
#include <utility>

#include "core/trace/checkpointing.h"
#include "core/trace/model_inputs.h"

namespace tunefit {
namespace {

/// A stride of two in the second convolution.
constexpr std::int64_t kFramesEach = 2;
/// Frames that a convolution looks at.
constexpr std::int64_t kTaps = 3;

LayerContext MakeStackContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden) {
  LayerContext context;
  if (workload.architecture.hears()) {  // no padding, and the kernel knows the causal order by itself
    context.workload = &workload;
    context.dtype = hidden;
    context.kernel = workload.attention;
  } else {
    context = MakeContext(tracer, workload, embedded, hidden);
  }
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

/// A convolution as a product over its taps. A frozen one saves its input all the same: autograd's formula for it makes
/// all its gradients at once.
Value Convolve(Tracer& tracer, const LinearModule& module, const Value& x, double in, double out) {
  tracer.scope = {module.path, Term::kEmbedding, false};
  if (tracer.RequiresGradient(module.weight) || !tracer.RequiresGradient(x)) {
    return tracer.Linear(x, module.weight, module.bias, in, out);
  }
  const Dtype dtype = tracer.autocast().value_or(tracer.DtypeOf(x));
  const Value input = tracer.Cast(x, dtype);
  const Value weight = tracer.Cast(module.weight, dtype);
  return tracer.Kernel({input, weight, tracer.Cast(module.bias, dtype)}, {input, weight}, tracer.SizeOf(x) * out / in,
                       dtype, {}, "convolution", tracer.SizeOf(weight));
}

/// Two convolutions and what they read of positions (WhisperEncoder.forward).
Value Hear(Tracer& tracer, const TracedModel& model, const Value& features) {
  const Architecture& architecture = model.workload->architecture;
  const auto bins = static_cast<double>(architecture.mel_bins);
  const auto width = static_cast<double>(architecture.hidden_size);
  Value states = Convolve(tracer, *model.first_convolution, features, bins, width);
  const bool adapts = AddsToFrozenModel(model.workload->method.kind) && ChecksLayers(*model.workload);
  if (adapts && tracer.gradients() && model.workload->habits.model.embeddings_require_gradient) {
    states = tracer.RequireGradient(std::move(states));  // PEFT's hook on what the encoder calls its embeddings
    tracer.Hold(states);
  }
  states = tracer.Gelu(std::move(states));
  states = Convolve(tracer, *model.second_convolution, states, kFramesEach * width, width);
  states = tracer.Gelu(std::move(states));
  const Size positions{width * static_cast<double>(architecture.source_positions), Axis::kOnce};
  return tracer.Add(states, tracer.Empty(positions, tracer.DtypeOf(model.source_positions), "positions"));
}

Value Encode(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Architecture& architecture = model.workload->architecture;
  const Value embeddings =
      architecture.hears() ? Hear(tracer, model, ids) : EmbedTokens(tracer, model, ReadTable(tracer, model, ids));
  context = MakeStackContext(tracer, *model.workload, tracer.DtypeOf(model.table), tracer.DtypeOf(embeddings));
  if (architecture.hears()) context.tokens = {static_cast<double>(architecture.source_positions), Axis::kSequences};
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

void MakeEars(ModuleFactory& factory, const Workload& workload, TracedModel& model) {
  const Architecture& architecture = workload.architecture;
  const std::int64_t width = architecture.hidden_size;
  model.first_convolution =
      factory.MakeParameterLinear({"conv1", kTaps * architecture.mel_bins, width, true}, "conv1", Term::kEmbedding, {});
  model.second_convolution =
      factory.MakeParameterLinear({"conv2", kTaps * width, width, true}, "conv2", Term::kEmbedding, {});
  model.source_positions = factory.MakeFrozenVector(architecture.source_positions * width, "embed_positions", "weight",
                                                    factory.WeightsDtype(), {});
}

Value MakeSourceInput(Tracer& tracer, const Workload& workload) {
  const Architecture& architecture = workload.architecture;
  if (!architecture.hears()) return tracer.Input({1, TokensOfData(workload)}, Dtype::kInt64, "input_ids");
  const std::int64_t numbers = architecture.mel_bins * kFramesEach * architecture.source_positions;
  const Dtype dtype = tracer.autocast() ? Dtype::kFp32 : workload.precision.weights;
  return tracer.Input({static_cast<double>(numbers), Axis::kSequences}, dtype, "input_features");
}

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
  const Value target_ids = tracer.Input({1, Axis::kTokens}, Dtype::kInt64, "decoder_input_ids");
  const Value embeddings = EmbedTokens(tracer, model, ReadTable(tracer, model, target_ids));
  const Dtype embedded = tracer.DtypeOf(model.table);
  context = MakeStackContext(tracer, workload, embedded, tracer.DtypeOf(embeddings));
  context.of_encoder = std::move(encoder);
  if (!workload.architecture.hears()) context.cross_mask = MakeCrossMask(tracer, embedded);
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
