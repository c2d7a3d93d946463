// What PEFT's layers do beside the matrix that they wrap: tuners/lora/layer.py, Linear.forward, and variants.py;
// tuners/ia3/layer.py and bnb.py.
#include "core/trace/adapters.h"

#include <utility>

namespace tunefit {
namespace {

struct Sides {
  double in, out;
};

Sides SidesOf(const LinearModule& module) {
  return {static_cast<double>(module.shape.in_features), static_cast<double>(module.shape.out_features)};
}

/// lora_B(lora_A(x)), before it is scaled.
Value Update(Tracer& tracer, const LinearModule& module, Value x) {
  const Adapter& adapter = *module.adapter;
  const auto [in, out] = SidesOf(module);
  Value low = tracer.Linear(std::move(x), adapter.down, Value(), in, adapter.rank);
  return tracer.Linear(low, adapter.up, Value(), adapter.rank, out);
}

/// The norm of each row of W + s·BA (peft tuners/lora/dora.py, DoraLinearLayer.forward). BA is made by running the
/// adapter over the identity; no gradient goes through any of it. `kept` holds what lives until the layer is done.
struct WeightNorm {
  Value norm;
  Value weight;  ///< the whole matrix in the input's dtype
  std::vector<Value> kept;
};

WeightNorm NormOfSum(Tracer& tracer, const LinearModule& module, Dtype input) {
  const Adapter& adapter = *module.adapter;
  const auto [in, out] = SidesOf(module);
  const Size matrix{in * out, Axis::kOnce};
  const Tracer::Scope outer = tracer.scope;
  tracer.scope.term = Term::kWorkspace;
  const auto make = [&tracer](double elements, Dtype dtype, const char* role) {
    return tracer.Empty({elements, Axis::kOnce}, dtype, role);
  };
  WeightNorm made;
  const Dtype compute = tracer.autocast().value_or(adapter.dtype);
  Value identity = make(in * in, adapter.dtype, "identity");
  // The adapter's graph keeps the identity as it was multiplied, until the update is forgotten.
  made.kept.push_back(compute == adapter.dtype ? identity : make(in * in, compute, "identity"));
  made.kept.push_back(make(in * adapter.rank, compute, "low-rank identity"));
  Value update = make(in * out, compute, "adapter's matrix");
  identity.Drop();
  if (compute != input) update = tracer.Empty(matrix, input, "adapter's matrix");
  Value stored = module.weight;
  if (!stored) stored = tracer.Empty(matrix, module.compute, "dequantized weight");
  made.weight = tracer.DtypeOf(stored) == input ? stored : tracer.Empty(matrix, input, "cast weight");
  stored.Drop();
  {
    Value scaled = tracer.Empty(matrix, input, "scaled update");
    Value sum = tracer.Empty(matrix, input, "weight and update");
    made.norm = make(out, input, "weight norm");
  }
  made.kept.push_back(std::move(update));
  tracer.scope = outer;
  return made;
}

Value DoraForward(Tracer& tracer, const LinearModule& module, const Value& result, Value x) {
  const Adapter& adapter = *module.adapter;
  const auto [in, out] = SidesOf(module);
  const bool drops = adapter.dropout > 0;
  x = tracer.Dropout(std::move(x), adapter.dropout);
  WeightNorm made = NormOfSum(tracer, module, tracer.DtypeOf(x));
  Value scale = tracer.Mul(adapter.magnitude, made.norm);
  Value update = Update(tracer, module, x);
  Value base = result;
  if (drops || !adapter.dora_reuses_base) {
    base = tracer.Linear(x, made.weight, Value(), in, out);
  } else if (module.bias) {
    base = tracer.Shift(result);  // the bias taken off again
  }
  Value moved = tracer.Mul(tracer.Shift(scale), std::move(base));
  update = tracer.Scale(tracer.Mul(scale, std::move(update)));
  return tracer.Add(std::move(moved), std::move(update));
}

}  // namespace

Value AdaptedForward(Tracer& tracer, const LinearModule& module, Value base, const Value& x) {
  const Adapter& adapter = *module.adapter;
  const Dtype output = tracer.DtypeOf(base);
  Value input = adapter.casts_input ? tracer.Cast(x, tracer.DtypeOf(adapter.down)) : x;
  Value update;
  if (adapter.magnitude) {
    update = DoraForward(tracer, module, base, std::move(input));
  } else {
    update = Update(tracer, module, tracer.Dropout(input, adapter.dropout));
    update = tracer.Scale(std::move(update));
  }
  base = tracer.Add(base, std::move(update));
  return tracer.Cast(std::move(base), output);
}

/// LitGPT's LoRAQKVLinear.forward: one product down for all adapted parts, a grouped convolution up, zeros where a part
/// is not adapted. index_copy keeps what it writes among them.
Value AdaptedParts(Tracer& tracer, const LinearModule& module, const Value& base, const Value& x) {
  const Adapter& adapter = *module.adapter;
  const auto [in, out] = SidesOf(module);
  const double rows = adapter.rank * static_cast<double>(adapter.parts);
  const Value low = tracer.Linear(tracer.Dropout(x, adapter.dropout), adapter.down, Value(), in, rows);
  Value update = tracer.Linear(low, adapter.up, Value(), rows, adapter.reached);
  if (adapter.joins_parts && adapter.parts > 1) update = tracer.Copy(std::move(update), "joined parts");
  if (adapter.reached < out) {
    const Size padded = tracer.SizeOf(update) * out / adapter.reached;
    update = tracer.Kernel({update}, {update}, padded, tracer.DtypeOf(update), {}, "padded update");
  }
  return tracer.Add(base, tracer.Scale(std::move(update)));
}

/// lora/layer.py, Embedding.forward: both matrices are read through a transposed view.
Value AdaptedRows(Tracer& tracer, const Adapter& adapter, const Value& ids, Value rows, double width) {
  const Dtype output = tracer.DtypeOf(rows);
  const Size low_rank = tracer.SizeOf(rows) * adapter.rank / width;
  const Value low = tracer.Embedding(ids, tracer.Reshape(adapter.down), low_rank);
  const Value update = tracer.Scale(tracer.Product(low, adapter.up, adapter.rank, width));
  rows = tracer.Add(rows, update);
  return tracer.Cast(std::move(rows), output);
}

namespace {

/// ia3/layer.py, Linear.forward: whatever the vector's dtype promotes is cast back.
Value RescalePlain(Tracer& tracer, const Rescaling& rescaling, const Product& base, const Value& scaling,
                   const Value& x) {
  const Dtype input = tracer.DtypeOf(x);
  if (rescaling.of_input) {
    const Value wide = tracer.Cast(x, tracer.DtypeOf(rescaling.vector));
    const Value scaled = tracer.Cast(tracer.Mul(wide, scaling), input);
    return base(scaled);
  }
  const Value result = base(x);
  return tracer.Cast(tracer.Mul(result, scaling), tracer.DtypeOf(result));
}

/// ia3/bnb.py, Linear8bitLt.forward and Linear4bit.forward: what the vector promotes stays so.
Value RescaleQuantized(Tracer& tracer, const LinearModule& module, const Product& base, const Value& scaling,
                       const Value& x) {
  const Value input = tracer.autocast() ? x : tracer.Cast(x, Dtype::kFp32);
  Value result;
  if (module.rescaling->of_input) {
    const Value scaled = tracer.Mul(input, scaling);
    result = base(scaled);
  } else {
    result = base(input);
    result = tracer.Mul(result, scaling);
  }
  const bool clones = module.quantized == QuantizedProduct::kBitsandbytes4bit;
  return clones ? tracer.Copy(result, "clone") : result;
}

}  // namespace

Value RescaledForward(Tracer& tracer, const LinearModule& module, const Product& base, const Value& x) {
  const Rescaling& rescaling = *module.rescaling;
  const Value scaling = tracer.Scale(rescaling.vector);  // the product over all active adapters, from 1 on
  if (module.quantized == QuantizedProduct::kNone) return RescalePlain(tracer, rescaling, base, scaling, x);
  return RescaleQuantized(tracer, module, base, scaling, x);
}

}  // namespace tunefit
