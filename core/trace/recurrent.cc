#include "core/trace/recurrent.h"

#include <array>
#include <utility>

namespace tunefit {
namespace {

/// Tokens of a chunk in flash-linear-attention's delta rule, and of one in mamba-ssm's selective scan.
constexpr double kDeltaChunk = 64;
constexpr double kScanChunk = 2048;

LinearModule Linear(ModuleFactory& factory, const LinearShape& shape, Place place) {
  return factory.MakeLinear(shape, shape.name, Term::kAttention, place);
}

RecurrentVectors MakeVectors(ModuleFactory& factory, const DepthwiseConvolution& convolution, std::int64_t scalars,
                             Place place) {
  RecurrentVectors vectors;
  const auto vector = [&](const char* role, std::int64_t width) {
    return factory.MakeVector("conv1d", role, width, Term::kAttention, place);
  };
  vectors.filters = vector("weight", convolution.channels * convolution.taps);
  if (convolution.bias) vectors.filter_bias = vector("bias", convolution.channels);
  if (scalars > 0) vectors.scalars = vector("decays, skips and step biases", scalars);
  return vectors;
}

/// causal_conv1d_fn with its activation: keeps its input, computes the activation's gradient from it again.
Value Convolve(Tracer& tracer, const RecurrentVectors& vectors, const Value& x) {
  tracer.scope.module = "conv1d";
  return tracer.Kernel({x, vectors.filters, vectors.filter_bias}, {x, vectors.filters, vectors.filter_bias},
                       tracer.SizeOf(x), tracer.DtypeOf(x), {}, "causal_conv1d");
}

/// The gated norm as one kernel: keeps both inputs and a scale for each row.
Value GatedNorm(Tracer& tracer, const NormModule& norm, const Value& x, const Value& gate, Size rows) {
  tracer.scope.module = norm.path;
  const Value scale = tracer.Empty(rows, Dtype::kFp32, "rstd");
  return tracer.Kernel({x, gate, norm.weight}, {x, gate, scale}, tracer.SizeOf(x), tracer.DtypeOf(x), {}, "gated norm");
}

}  // namespace

// --- Mamba 1
// ----------------------------------------------------------------------------------------------------------

Mamba1Module MakePart(ModuleFactory& factory, const Mamba1& mamba, Place place) {
  Mamba1Module module;
  module.mamba = &mamba;
  module.vectors = MakeVectors(factory, mamba.convolution, mamba.inner * (mamba.state + 1), place);
  module.in = Linear(factory, mamba.in, place);
  module.parameters = Linear(factory, mamba.parameters, place);
  module.step = Linear(factory, mamba.step, place);
  module.out = Linear(factory, mamba.out, place);
  module.step_norm = factory.MakeNorm(NormKind::kRmsNorm, "dt_layernorm", mamba.step_rank, place);
  module.input_norm = factory.MakeNorm(NormKind::kRmsNorm, "b_layernorm", mamba.state, place);
  module.output_norm = factory.MakeNorm(NormKind::kRmsNorm, "c_layernorm", mamba.state, place);
  return module;
}

/// transformers' JambaMambaMixer.cuda_kernels_forward: causal-conv1d and mamba-ssm's selective_scan_fn, which keeps its
/// inputs, its result before the gate and the state at each chunk's end. Sequences lie along the last dimension there,
/// so what a matrix reads is copied.
MixerResult Forward(Tracer& tracer, const Mamba1Module& module, const LayerContext& context, const Value& hidden) {
  const Mamba1& mamba = *module.mamba;
  tracer.scope.term = Term::kAttention;
  const auto sized = [&](std::int64_t width) { return context.tokens * static_cast<double>(width); };
  const Value projected = Forward(tracer, module.in, hidden);
  const std::array<Value, 2> parts = tracer.Halve(tracer.Reshape(projected));
  const Value convolved = Convolve(tracer, module.vectors, parts[0]);
  const Value parameters = Forward(tracer, module.parameters, tracer.Copy(convolved, "contiguous input"));
  const std::array<Value, 3> split =
      tracer.Split(parameters, {sized(mamba.step_rank), sized(mamba.state), sized(mamba.state)});
  const Value low_step = Forward(tracer, module.step_norm, split[0], context.tokens);
  const Value input = Forward(tracer, module.input_norm, split[1], context.tokens);
  const Value output = Forward(tracer, module.output_norm, split[2], context.tokens);
  const Value step = Forward(tracer, module.step, low_step);
  tracer.scope.module = "mamba";
  const Size inner = sized(mamba.inner);
  const Value states =
      tracer.Empty(inner * (2 * static_cast<double>(mamba.state) / kScanChunk), Dtype::kFp32, "states");
  const Value scanned = tracer.Empty(inner, tracer.DtypeOf(hidden), "scan");
  const Dtype dtype = tracer.DtypeOf(hidden);
  const Value gates = tracer.Bundle({input, output, parts[1]});
  const Value trained = tracer.Bundle({step, module.vectors.scalars, Value()});
  Value mixed = tracer.Kernel({convolved, trained, gates}, {convolved, states, scanned}, inner, dtype,
                              sized(2 * mamba.state), "selective scan");
  return {Forward(tracer, module.out, tracer.Copy(std::move(mixed), "contiguous output")), Value()};
}

// --- Mamba 2
// ----------------------------------------------------------------------------------------------------------

Mamba2Module MakePart(ModuleFactory& factory, const Mamba2& mamba, Place place) {
  Mamba2Module module;
  module.mamba = &mamba;
  module.vectors = MakeVectors(factory, mamba.convolution, 3 * mamba.heads, place);
  module.in = Linear(factory, mamba.in, place);
  module.norm = factory.MakeNorm(NormKind::kRmsNorm, "norm", mamba.inner(), place);
  module.out = Linear(factory, mamba.out, place);
  return module;
}

/// mamba-ssm's mamba_split_conv1d_scan_combined (ops/triton/ssd_combined.py): from the input projection to the output
/// projection in one function, which keeps the projection, the scan before the gated norm and the norm's scales, and
/// computes the convolution, the states of the chunks and the norm again in backward.
MixerResult Forward(Tracer& tracer, const Mamba2Module& module, const LayerContext& context, const Value& hidden) {
  const Mamba2& mamba = *module.mamba;
  tracer.scope.term = Term::kAttention;
  const auto sized = [&](double width) { return context.tokens * width; };
  const auto inner = static_cast<double>(mamba.inner());
  const auto heads = static_cast<double>(mamba.heads);
  const auto chunk = static_cast<double>(mamba.chunk);
  const double states = inner * static_cast<double>(mamba.state) / chunk;
  const double channels = static_cast<double>(mamba.convolution.channels);
  const Value projected = Forward(tracer, module.in, hidden);
  const Dtype dtype = tracer.DtypeOf(projected);
  tracer.scope.module = "mamba";
  const Value scanned = tracer.Empty(sized(inner), dtype, "scan");
  const Value scale = tracer.Empty(sized(static_cast<double>(mamba.groups)), Dtype::kFp32, "rstd");
  Value normed;
  {
    const Value convolved = tracer.Empty(sized(channels), dtype, "convolution");
    const Value steps = tracer.Empty(sized(2 * heads), Dtype::kFp32, "steps and decays");
    const Value state = tracer.Empty(sized(states), Dtype::kFp32, "states of chunks");
    const Value passed = tracer.Empty(sized(states), dtype, "states passed on");
    const Value products = tracer.Empty(sized(static_cast<double>(mamba.groups) * chunk), Dtype::kFp32, "products");
    // In backward: the convolution and its gradient, the states and theirs, the gradient of the scan.
    const Size workspace = sized(channels + inner / 2 + 2 * states + 3 * heads);
    const Value trained = tracer.Bundle({module.vectors.scalars, module.vectors.filters, module.vectors.filter_bias});
    normed = tracer.Kernel({projected, trained, Value()}, {projected, scanned, scale}, sized(inner), dtype, workspace,
                           "gated norm");
  }
  if (!module.out.weight) return {Forward(tracer, module.out, normed), Value()};
  const Size out = sized(static_cast<double>(mamba.out.out_features));
  Value output = tracer.Kernel({normed, module.out.weight, module.norm.weight}, {}, out, dtype, sized(inner / 2), "mm",
                               tracer.SizeOf(module.out.weight));
  return {std::move(output), Value()};
}

// --- Gated delta rule
// ---------------------------------------------------------------------------------------------------

GatedDeltaModule MakePart(ModuleFactory& factory, const GatedDelta& delta, Place place) {
  GatedDeltaModule module;
  module.delta = &delta;
  module.vectors = MakeVectors(factory, delta.convolution, 2 * delta.value_heads, place);
  if (delta.joined) {
    module.qkvz = Linear(factory, delta.qkvz, place);
    module.gates = Linear(factory, delta.gates, place);
  } else {
    module.qkv = Linear(factory, delta.qkv, place);
    module.z = Linear(factory, delta.z, place);
    module.beta = Linear(factory, delta.beta, place);
    module.decay = Linear(factory, delta.decay, place);
  }
  module.norm = factory.MakeNorm(NormKind::kRmsNorm, "norm", delta.value_dim, place);
  module.out = Linear(factory, delta.out, place);
  return module;
}

namespace {

struct DeltaInputs {
  Value qkv, gate, beta, decay;
};

/// Qwen3-Next: projections come out by groups of heads; parts are copied out of them, and q, k and v joined.
DeltaInputs ProjectJoined(Tracer& tracer, const GatedDeltaModule& module, const LayerContext& context,
                          const Value& hidden) {
  const GatedDelta& delta = *module.delta;
  const auto sized = [&](std::int64_t width) { return context.tokens * static_cast<double>(width); };
  const std::int64_t keys = delta.key_heads * delta.key_dim;
  const std::int64_t values = delta.value_heads * delta.value_dim;
  const Value qkvz = Forward(tracer, module.qkvz, hidden);
  const Value gates = Forward(tracer, module.gates, hidden);
  const std::array<Value, 3> parts = tracer.Split(qkvz, {sized(2 * keys), sized(values), sized(values)});
  const std::array<Value, 2> small = tracer.Halve(gates);
  const Value value = tracer.Copy(parts[1], "value");
  DeltaInputs inputs;
  inputs.gate = tracer.Copy(parts[2], "gate");
  inputs.beta = tracer.Copy(small[0], "beta");
  inputs.decay = tracer.Copy(small[1], "decay");
  const Value query_key = tracer.Copy(parts[0], "query and key");
  inputs.qkv = tracer.Cat(query_key, value);
  return inputs;
}

DeltaInputs Project(Tracer& tracer, const GatedDeltaModule& module, const LayerContext& context, const Value& hidden) {
  if (module.delta->joined) return ProjectJoined(tracer, module, context, hidden);
  DeltaInputs inputs;
  inputs.qkv = Forward(tracer, module.qkv, hidden);
  inputs.gate = Forward(tracer, module.z, hidden);
  inputs.beta = Forward(tracer, module.beta, hidden);
  inputs.decay = Forward(tracer, module.decay, hidden);
  return inputs;
}

/// The log of what is forgotten at each token: -exp(A_log) x softplus(a + dt_bias), in fp32.
Value Forget(Tracer& tracer, const GatedDeltaModule& module, const Value& decay) {
  const Size heads{tracer.SizeOf(module.vectors.scalars).coefficient / 2, Axis::kOnce};
  Value step = tracer.Add(tracer.Cast(decay, Dtype::kFp32), tracer.Narrow(module.vectors.scalars, heads));
  step = tracer.Silu(std::move(step));  // softplus keeps its input too
  Value rate = tracer.Cast(tracer.Narrow(module.vectors.scalars, heads), Dtype::kFp32);
  return tracer.Mul(tracer.Negate(tracer.Sigmoid(std::move(rate))), std::move(step));  // exp keeps its output too
}

}  // namespace

/// transformers' Qwen3NextGatedDeltaNet with flash-linear-attention's chunk_gated_delta_rule, which keeps normalized
/// queries and keys, values, the decay's running sum, beta and one triangular matrix a chunk, and computes the states
/// again in backward.
MixerResult Forward(Tracer& tracer, const GatedDeltaModule& module, const LayerContext& context, const Value& hidden) {
  const GatedDelta& delta = *module.delta;
  tracer.scope.term = Term::kAttention;
  const auto sized = [&](std::int64_t width) { return context.tokens * static_cast<double>(width); };
  const std::int64_t keys = delta.key_heads * delta.key_dim;
  const std::int64_t values = delta.value_heads * delta.value_dim;
  const std::int64_t values_each = delta.value_heads / delta.key_heads;
  const auto copies = static_cast<double>(values_each);
  const DeltaInputs inputs = Project(tracer, module, context, hidden);
  const Value convolved = Convolve(tracer, module.vectors, inputs.qkv);
  const std::array<Value, 3> parts = tracer.Split(convolved, {sized(keys), sized(keys), sized(values)});
  tracer.scope.module = "linear_attn";
  const Value beta = tracer.Sigmoid(inputs.beta);
  const Value forget = Forget(tracer, module, inputs.decay);
  const Value query = tracer.ExpandHeads(parts[0], copies);
  const Value key = tracer.ExpandHeads(parts[1], copies);
  const Value value = tracer.Copy(parts[2], "contiguous value");
  const Dtype dtype = tracer.DtypeOf(hidden);
  const Size wide = tracer.SizeOf(query);
  const Value normed_query = tracer.Empty(wide, dtype, "normalized query");
  const Value normed_key = tracer.Empty(wide, dtype, "normalized key");
  const Value sums = tracer.Empty(sized(3 * delta.value_heads), Dtype::kFp32, "scales and running sums");
  const Value triangles = tracer.Empty(sized(delta.value_heads) * kDeltaChunk, dtype, "triangular matrices");
  const double state = static_cast<double>(delta.key_dim * delta.value_dim * delta.value_heads) / kDeltaChunk;
  const Size workspace = context.tokens * (state + static_cast<double>(values) + wide.coefficient);
  const Value rest = tracer.Bundle({value, beta, forget});
  Value mixed = tracer.Kernel({query, key, rest}, {normed_query, normed_key, sums, triangles}, sized(values), dtype,
                              workspace, "delta rule");
  mixed = GatedNorm(tracer, module.norm, mixed, inputs.gate, sized(delta.value_heads));
  return {Forward(tracer, module.out, mixed), Value()};
}

// --- Lightning attention
// ------------------------------------------------------------------------------------------------

LightningAttentionModule MakePart(ModuleFactory& factory, const LightningAttention& attention, Place place) {
  LightningAttentionModule module;
  module.attention = &attention;
  module.norm = factory.MakeNorm(NormKind::kRmsNorm, "norm", attention.heads * attention.head_dim, place);
  module.qkv = Linear(factory, attention.qkv, place);
  module.out = Linear(factory, attention.out, place);
  module.gate = Linear(factory, attention.gate, place);
  // How each place of a block decays: towards its start, its end and every other place.
  const std::int64_t decays = attention.heads * (1 + 2 * attention.block + attention.block * attention.block);
  factory.MakeFrozenVector(decays, "self_attn", "decays", factory.WeightsDtype(), place);
  return module;
}

/// transformers' MiniMaxLightningAttention: blocks of tokens one after the other; all blocks together are traced as
/// one, so that their sum is exact and what one block alone holds is not told apart.
MixerResult Forward(Tracer& tracer, const LightningAttentionModule& module, const LayerContext& context,
                    const Value& hidden) {
  const LightningAttention& lightning = *module.attention;
  tracer.scope.term = Term::kAttention;
  const auto block = static_cast<double>(lightning.block);
  const Size width = context.tokens * static_cast<double>(lightning.heads * lightning.head_dim);
  const Size scores_size = context.tokens * (static_cast<double>(lightning.heads) * block);
  const Size batches = context.tokens * (static_cast<double>(lightning.heads) / block);
  const Size state_size = width * (static_cast<double>(lightning.head_dim) / block);
  Value qkv = tracer.Silu(Forward(tracer, module.qkv, hidden));
  const std::array<Value, 3> parts = tracer.Split(tracer.Reshape(qkv), {width, width, width});
  tracer.scope.module = "self_attn";
  const Value decay = tracer.Empty({1, Axis::kOnce}, tracer.DtypeOf(qkv), "decays");
  Value scores = tracer.BatchMatmul(tracer.Copy(parts[0], "query blocks"), tracer.Copy(parts[1], "key blocks"),
                                    scores_size, batches);
  scores = tracer.Mul(std::move(scores), decay);
  Value within = tracer.BatchMatmul(scores, tracer.Copy(parts[2], "value blocks"), width, batches);
  Value states =
      tracer.BatchMatmul(tracer.Mul(parts[1], decay), tracer.Copy(parts[2], "value blocks"), state_size, batches);
  states = tracer.Mul(std::move(states), decay);
  Value across = tracer.BatchMatmul(tracer.Mul(parts[0], decay), states, width, batches);
  Value mixed = tracer.Add(std::move(across), std::move(within));
  mixed = tracer.Copy(tracer.Copy(std::move(mixed), "joined blocks"), "contiguous output");
  mixed = Forward(tracer, module.norm, mixed, context.tokens);
  Value gate = tracer.Sigmoid(Forward(tracer, module.gate, hidden));
  mixed = tracer.Mul(std::move(gate), std::move(mixed));
  return {Forward(tracer, module.out, mixed), std::move(states)};
}

// --- Short convolution
// --------------------------------------------------------------------------------------------------

ShortConvolutionModule MakePart(ModuleFactory& factory, const ShortConvolution& mixer, Place place) {
  ShortConvolutionModule module;
  module.mixer = &mixer;
  module.vectors = MakeVectors(factory, mixer.convolution, 0, place);
  module.in = Linear(factory, mixer.in, place);
  module.out = Linear(factory, mixer.out, place);
  return module;
}

/// transformers' Lfm2ShortConv.cuda_kernels_forward: two gates around causal-conv1d.
MixerResult Forward(Tracer& tracer, const ShortConvolutionModule& module, const LayerContext& context,
                    const Value& hidden) {
  tracer.scope.term = Term::kAttention;
  const Size width = context.tokens * static_cast<double>(module.mixer->convolution.channels);
  const Value projected = Forward(tracer, module.in, hidden);
  const std::array<Value, 3> parts = tracer.Split(tracer.Reshape(projected), {width, width, width});
  const Value gated = tracer.Mul(parts[0], parts[2]);
  const Value convolved = Convolve(tracer, module.vectors, gated);
  tracer.scope.module = "conv";
  Value mixed = tracer.Mul(parts[1], convolved);
  mixed = tracer.Copy(std::move(mixed), "contiguous output");
  return {Forward(tracer, module.out, mixed), Value()};
}

}  // namespace tunefit
