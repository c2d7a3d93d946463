#include "core/trace/modules.h"

#include <utility>

#include "core/trace/adapters.h"

namespace tunefit {
namespace {

/// torchao's auto_filter_for_recipe leaves matrices alone whose sides FP8's kernels do not take.
constexpr std::int64_t kFp8Tile = 16;

}  // namespace

Dtype ModuleFactory::UnquantizedDtype(bool is_norm) const {
  if (!PreparesFloats(workload_.quantization.kind)) return workload_.precision.weights;
  switch (workload_.quantization.prepare) {
    case PrepareKbit::kPeft:
      return Dtype::kFp32;
    case PrepareKbit::kTrl:
      return is_norm ? Dtype::kFp32 : workload_.precision.weights;
    case PrepareKbit::kNone:
      break;
  }
  return workload_.precision.weights;
}

Dtype ModuleFactory::WideDtype() const {
  const Dtype dtype = UnquantizedDtype(false);
  return dtype == Dtype::kFp16 ? Dtype::kFp32 : dtype;
}

/// A matrix and its bias, before anything is put beside them.
LinearModule ModuleFactory::MakeMatrix(const LinearShape& shape, const char* path, Term term, Place place) {
  tracer_.scope = {path, term, place.in_layer};
  LinearModule module;
  module.shape = shape;
  module.path = path;
  module.compute = workload_.precision.compute;
  if (Quantized() && !shape.stays_wide && !shape.stays_plain) {
    module.quantized = ProductOf(workload_);
    module.dequantization = DequantizationOf(workload_);
    AddQuantizedWeight(tracer_, workload_, shape, place.count);
  } else {
    module.fp8 = workload_.precision.fp8_products && place.in_layer && shape.in_features % kFp8Tile == 0 &&
                 shape.out_features % kFp8Tile == 0;
    module.fp8_operands = workload_.habits.fp8_operands;
    module.fp8_transposes = workload_.precision.fp8_transposes;
    const Dtype dtype = shape.stays_wide ? WideDtype() : UnquantizedDtype(false);
    module.weight = module.KeepsFp8() ? MakeFp8Weight(shape, dtype, place)
                                      : tracer_.Weight(MatrixShape(shape.out_features, shape.in_features), dtype,
                                                       Term::kWeights, "weight", Trained(), place.count);
  }
  if (shape.bias) {
    module.bias = tracer_.Weight(VectorShape(shape.out_features), UnquantizedDtype(false), Term::kWeights, "bias",
                                 Trained(), place.count);
  }
  return module;
}

LinearModule ModuleFactory::MakeLinear(const LinearShape& shape, const char* path, Term term, Place place) {
  LinearModule module = MakeMatrix(shape, path, term, place);
  if (!Adapted(shape.name)) return module;
  if (workload_.method.kind == MethodKind::kIa3) {
    module.rescaling = MakeRescaling(shape, place);
  } else {
    module.adapter = MakeAdapter(shape, place);
  }
  return module;
}

/// transformer_engine/pytorch/module/base.py, quantize_weight: a workspace that every micro-batch reads and a step's
/// first one fills (Megatron-LM's is_first_microbatch), or the parameter itself.
Value ModuleFactory::MakeFp8Weight(const LinearShape& shape, Dtype dtype, Place place) {
  const WeightShape matrix = MatrixShape(shape.out_features, shape.in_features);
  const bool is_fp8 = workload_.precision.fp8_weights;
  Value weight = tracer_.Weight(matrix, is_fp8 ? Dtype::kFp8 : dtype, Term::kWeights, "weight", Trained(), place.count);
  const auto copy = [&](const char* role) {
    tracer_.CopyThroughout(matrix.elements(), Dtype::kFp8, role, place.count);
  };
  if (!is_fp8) copy("weight in FP8");
  if (workload_.precision.fp8_transposes) copy("weight in FP8, transposed");
  return tracer_.BehaveAs(std::move(weight), dtype);
}

LinearModule ModuleFactory::MakeParameterLinear(const LinearShape& shape, const char* path, Term term, Place place) {
  tracer_.scope = {path, term, place.in_layer};
  const Dtype dtype = UnquantizedDtype(false);
  LinearModule module;
  module.shape = shape;
  module.path = path;
  module.compute = workload_.precision.compute;
  module.weight = tracer_.Weight(MatrixShape(shape.out_features, shape.in_features), dtype, Term::kWeights, "weight",
                                 Trained(), place.count);
  if (shape.bias) {
    module.bias =
        tracer_.Weight(VectorShape(shape.out_features), dtype, Term::kWeights, "bias", Trained(), place.count);
  }
  return module;
}

ExpertStack ModuleFactory::MakeExpertStack(const Experts& experts, const char* path, Place place) {
  tracer_.scope = {path, Term::kMlp, place.in_layer};
  tracer_.of_expert = true;
  const Mlp& expert = experts.expert;
  const std::int64_t halves = expert.gated ? 2 : 1;
  const auto add = [&](std::int64_t elements, const char* role, std::int64_t last = 0) {
    WeightShape shape = MatrixShape(experts.held(), elements);
    shape.last = static_cast<double>(last);
    return tracer_.Weight(shape, UnquantizedDtype(false), Term::kWeights, role, Trained(), place.count);
  };
  ExpertStack stack;
  stack.count = experts.held();
  stack.gate_up = add(halves * expert.up.in_features * expert.up.out_features, "gate_up_proj", expert.up.in_features);
  stack.down = add(expert.down.in_features * expert.down.out_features, "down_proj", expert.down.in_features);
  if (expert.up.bias) stack.gate_up_bias = add(halves * expert.up.out_features, "gate_up_proj_bias");
  if (expert.down.bias) stack.down_bias = add(expert.down.out_features, "down_proj_bias");
  if (experts.adapts_stack && (Adapted(expert.up.name) || Adapted(expert.gate.name))) {
    stack.gate_up_adapter = MakeExpertAdapter(expert.up.name, experts.held(), expert.up.in_features,
                                              halves * expert.up.out_features, place);
  }
  if (experts.adapts_stack && Adapted(expert.down.name)) {
    stack.down_adapter =
        MakeExpertAdapter(expert.down.name, experts.held(), expert.down.in_features, expert.down.out_features, place);
  }
  tracer_.of_expert = false;
  return stack;
}

void ModuleFactory::MakeIndexer(const Indexer& indexer, Place place) {
  tracer_.scope = {"indexer", Term::kAttention, place.in_layer};
  const Dtype dtype = UnquantizedDtype(false);
  for (const LinearShape* shape : {&indexer.query, &indexer.key, &indexer.weights}) {
    tracer_.Weight(MatrixShape(shape->out_features, shape->in_features), dtype, Term::kWeights, shape->name, false,
                   place.count);
  }
  tracer_.Weight(VectorShape(2 * indexer.head_dim), dtype, Term::kWeights, "k_norm", false, place.count);
}

Value ModuleFactory::MakeFrozenVector(std::int64_t width, const char* path, const char* role, Dtype dtype,
                                      Place place) {
  tracer_.scope = {path, Term::kBuffers, place.in_layer};
  return tracer_.Weight(VectorShape(width), dtype, Term::kBuffers, role, false, place.count);
}

Value ModuleFactory::MakeVector(const char* path, const char* role, std::int64_t width, Term term, Place place) {
  tracer_.scope = {path, term, place.in_layer};
  return tracer_.Weight(VectorShape(width), UnquantizedDtype(true), Term::kWeights, role, Trained(), place.count);
}

Value ModuleFactory::MakeRelativeTable(std::int64_t buckets, std::int64_t heads, Place place) {
  tracer_.scope = {"relative_attention_bias", Term::kAttention, place.in_layer};
  return tracer_.Weight(MatrixShape(buckets, heads), UnquantizedDtype(false), Term::kWeights, "weight", Trained(),
                        place.count);
}

NormModule ModuleFactory::MakeNorm(NormKind kind, const char* path, std::int64_t width, Place place) {
  NormModule module;
  module.kind = kind;
  const bool rms =
      kind == NormKind::kRmsNorm || kind == NormKind::kRmsNormUnitGain || kind == NormKind::kRmsNormFp32Gain;
  module.fused = rms && workload_.fused.rms_norm;
  module.path = path;
  const bool bare =
      kind == NormKind::kLayerNormBare || kind == NormKind::kRmsNormBare || kind == NormKind::kRmsNormPowerBare;
  if (!bare) module.weight = MakeVector(path, "weight", width, Term::kNorms, place);
  if (kind == NormKind::kLayerNorm || kind == NormKind::kLayerNormUnitGain) {
    module.bias = MakeVector(path, "bias", width, Term::kNorms, place);
  }
  return module;
}

Value ModuleFactory::MakeTable(std::int64_t rows, std::int64_t width, const char* path, bool saved) {
  tracer_.scope = {path, Term::kEmbedding, false};
  const WeightShape shape = MatrixShape(rows, width);
  Value table = tracer_.Weight(shape, UnquantizedDtype(false), Term::kWeights, "weight", Trained(), 1);
  if (!saved) return table;
  return tracer_.Weight(shape, SavedDtype(), Term::kAdapters, "modules_to_save", true, 1);
}

/// PEFT trains a copy of a task's head beside any adapter and keeps the original (PeftModelForSequenceClassification,
/// peft/peft_model.py).
LinearModule ModuleFactory::MakeHeadLinear(const LinearShape& shape, const char* path) {
  LinearModule head;
  head.shape = shape;
  head.path = path;
  tracer_.scope = {path, Term::kLogitsAndLoss, false};
  const auto add = [&](const WeightShape& weight, const char* role) {
    Value value = tracer_.Weight(weight, UnquantizedDtype(false), Term::kWeights, role, Trained(), 1);
    if (!AddsToFrozenModel(workload_.method.kind)) return value;
    return tracer_.Weight(weight, SavedDtype(), Term::kAdapters, "modules_to_save", true, 1);
  };
  head.weight = add(MatrixShape(shape.out_features, shape.in_features), "weight");
  if (shape.bias) head.bias = add(VectorShape(shape.out_features), "bias");
  return head;
}

/// transformers' ForSequenceClassification over a decoder.
LinearModule ModuleFactory::MakeScore() {
  const Architecture& architecture = workload_.architecture;
  const std::int64_t width = architecture.embedding_width > 0 ? architecture.embedding_width : architecture.hidden_size;
  return MakeHeadLinear({"score", width, architecture.labels, false}, "score");
}

LinearModule ModuleFactory::MakeHead(const Value& table) {
  const Architecture& architecture = workload_.architecture;
  if (architecture.labels > 0) return MakeScore();
  LinearModule head;
  const std::int64_t width = architecture.embedding_width > 0 ? architecture.embedding_width : architecture.hidden_size;
  head.shape = {"lm_head", width, architecture.vocab_size, architecture.head_bias};
  head.path = "lm_head";
  tracer_.scope = {head.path, Term::kLogitsAndLoss, false};
  const WeightShape shape = MatrixShape(architecture.vocab_size, width);
  const ModelHabits& habits = workload_.habits.model;
  const bool trains_copy = AdaptsModules(workload_.method.kind) && workload_.method.saves_head;
  if (architecture.tied_head) {
    head.weight = table;
  } else if (Quantized() && habits.quantizes_head && !trains_copy) {
    head.quantized = ProductOf(workload_);
    head.dequantization = DequantizationOf(workload_);
    head.compute = workload_.precision.compute;
    AddQuantizedWeight(tracer_, workload_, head.shape, 1);
  } else {
    head.weight = tracer_.Weight(shape, UnquantizedDtype(false), Term::kWeights, "weight", Trained(), 1);
  }
  if (trains_copy) {
    head.weight = tracer_.Weight(shape, SavedDtype(), Term::kAdapters, "modules_to_save", true, 1);
  }
  if (architecture.head_bias) {
    head.bias = tracer_.Weight(VectorShape(architecture.vocab_size), UnquantizedDtype(false), Term::kWeights, "bias",
                               Trained(), 1);
  }
  if (workload_.method.adapts_head) {
    head.adapter = MakeAdapter(head.shape, {});
    head.adapter->fused = false;  // the fused kernels are those of attention and MLP
  }
  return head;
}

namespace {

Value ForwardBase(Tracer& tracer, const LinearModule& module, const Value& x) {
  const auto in = static_cast<double>(module.shape.in_features);
  const auto out = static_cast<double>(module.shape.out_features);
  if (module.quantized == QuantizedProduct::kNone && module.shape.by_hand) {
    Value product = tracer.Product(x, module.weight, in, out);
    return module.bias ? tracer.Add(std::move(product), module.bias) : product;
  }
  if (module.fp8) {
    Value product = module.KeepsFp8() ? tracer.Fp8KeptLinear(x, module.weight, in, out, module.fp8_transposes)
                                      : tracer.Fp8Linear(x, module.weight, in, out);
    return module.bias ? tracer.Add(std::move(product), module.bias) : product;
  }
  if (module.quantized == QuantizedProduct::kNone) return tracer.Linear(x, module.weight, module.bias, in, out);
  return QuantizedForward(tracer, module.quantized, module.dequantization, module.compute, x, module.bias,
                          module.shape);
}

Value RmsNorm(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  const Dtype input = tracer.DtypeOf(x);
  Value hidden = tracer.Cast(x, Dtype::kFp32);
  Value variance = tracer.Mean(tracer.Pow(hidden), rows);
  Value root = tracer.Rsqrt(tracer.Shift(variance));
  hidden = tracer.Mul(hidden, std::move(root));
  if (module.kind == NormKind::kRmsNormBare) return tracer.Cast(hidden, input);
  return tracer.Mul(module.weight, tracer.Cast(hidden, input));
}

/// Gemma's and OLMo 2's: the weight, or one more than it, is multiplied in fp32.
Value RmsNormFp32Gain(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  const Dtype input = tracer.DtypeOf(x);
  Value hidden = tracer.Cast(x, Dtype::kFp32);
  Value root = tracer.Rsqrt(tracer.Shift(tracer.Mean(tracer.Pow(hidden), rows)));
  hidden = tracer.Mul(std::move(hidden), std::move(root));
  Value gain = module.weight;
  if (module.kind == NormKind::kRmsNormUnitGain) gain = tracer.Shift(tracer.Cast(module.weight, Dtype::kFp32));
  hidden = tracer.Mul(hidden, std::move(gain));
  return tracer.Cast(hidden, input);
}

/// Gemma3nRMSNorm: the power -1/2 in place of a root, so that its argument is kept.
Value RmsNormPower(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  const Dtype input = tracer.DtypeOf(x);
  Value hidden = tracer.Cast(x, Dtype::kFp32);
  Value root = tracer.Pow(tracer.Shift(tracer.Mean(tracer.Pow(hidden), rows)));
  hidden = tracer.Mul(std::move(hidden), std::move(root));
  if (module.weight) {
    Value gain = tracer.Cast(module.weight, Dtype::kFp32);
    hidden = tracer.Mul(hidden, std::move(gain));
  }
  return tracer.Cast(hidden, input);
}

/// T5LayerNorm: the states themselves are multiplied by the fp32 root, and come out in fp32 unless the weight has 16
/// bits.
Value RmsNormPromoted(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  const Value variance = tracer.Mean(tracer.Pow(tracer.Cast(x, Dtype::kFp32)), rows);
  Value hidden = tracer.Mul(x, tracer.Rsqrt(tracer.Shift(variance)));
  const Dtype weight = tracer.DtypeOf(module.weight);
  if (BytesPerElement(weight) == 2) hidden = tracer.Cast(std::move(hidden), weight);
  return tracer.Mul(module.weight, hidden);
}

/// CohereLayerNorm: mean, variance and gain written out in fp32; the centred states are made twice.
Value LayerNormWritten(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  const Dtype input = tracer.DtypeOf(x);
  Value hidden = tracer.Cast(x, Dtype::kFp32);
  const Value mean = tracer.Mean(hidden, rows);
  Value variance = tracer.Mean(tracer.Pow(tracer.Add(hidden, mean)), rows);
  Value centred = tracer.Add(hidden, mean);
  Value root = tracer.Rsqrt(tracer.Shift(variance));
  hidden = tracer.Mul(std::move(centred), std::move(root));
  Value gain = tracer.Cast(module.weight, Dtype::kFp32);
  hidden = tracer.Mul(std::move(gain), hidden);
  return tracer.Cast(hidden, input);
}

/// PyTorch's kernel over what the class gives it.
Value LayerNormKernel(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  switch (module.kind) {
    case NormKind::kLayerNormBare: {
      const Dtype input = tracer.DtypeOf(x);
      Value normed = tracer.LayerNorm(tracer.Cast(x, Dtype::kFp32), Value(), Value(), rows);
      return tracer.Cast(normed, input);
    }
    case NormKind::kLayerNormUnitGain: {
      const Value gain = tracer.Shift(module.weight);
      // NemotronLayerNorm1P casts what it is given to autocast's dtype and leaves autocast.
      Value input = tracer.autocast() ? tracer.Cast(x, *tracer.autocast()) : x;
      return tracer.LayerNorm(std::move(input), gain, module.bias, rows);
    }
    default:
      break;
  }
  return tracer.LayerNorm(x, module.weight, module.bias, rows, module.writes_fp8);
}

}  // namespace

Value Forward(Tracer& tracer, const LinearModule& module, const Value& x) {
  tracer.scope.module = module.path;
  const bool changed = module.adapter || module.rescaling;
  if (!changed || tracer.adapters_disabled) return ForwardBase(tracer, module, x);
  if (module.rescaling) {
    const auto base = [&tracer, &module](const Value& input) { return ForwardBase(tracer, module, input); };
    return RescaledForward(tracer, module, base, x);
  }
  const Adapter& adapter = *module.adapter;
  const auto in = static_cast<double>(module.shape.in_features);
  const auto out = static_cast<double>(module.shape.out_features);
  if (adapter.parts > 0) return AdaptedParts(tracer, module, ForwardBase(tracer, module, x), x);
  if (adapter.fused) {
    const bool quantized = module.quantized != QuantizedProduct::kNone;
    const auto how = quantized ? std::optional(module.dequantization) : std::nullopt;
    Value product = tracer.FusedLoraLinear(x, adapter.down, adapter.up, how, in, out);
    return module.bias ? tracer.Add(std::move(product), module.bias) : product;
  }
  return AdaptedForward(tracer, module, ForwardBase(tracer, module, x), x);
}

Value Forward(Tracer& tracer, const NormModule& module, const Value& x, Size rows) {
  tracer.scope.module = module.path;
  if (module.fused) return tracer.FusedRmsNorm(x, module.weight, rows, module.writes_fp8);
  switch (module.kind) {
    case NormKind::kRmsNorm:
    case NormKind::kRmsNormBare:
      return RmsNorm(tracer, module, x, rows);
    case NormKind::kRmsNormUnitGain:
    case NormKind::kRmsNormFp32Gain:
      return RmsNormFp32Gain(tracer, module, x, rows);
    case NormKind::kRmsNormPower:
    case NormKind::kRmsNormPowerBare:
      return RmsNormPower(tracer, module, x, rows);
    case NormKind::kRmsNormPromoted:
      return RmsNormPromoted(tracer, module, x, rows);
    case NormKind::kLayerNormWritten:
      return LayerNormWritten(tracer, module, x, rows);
    case NormKind::kLayerNorm:
    case NormKind::kLayerNormNoBias:
    case NormKind::kLayerNormBare:
    case NormKind::kLayerNormUnitGain:
      break;
  }
  return LayerNormKernel(tracer, module, x, rows);
}

}  // namespace tunefit
