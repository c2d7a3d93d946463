#include "core/trace/mlp.h"

#include <utility>

namespace tunefit {
namespace {

/// 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3))), written out as in NewGELUActivation.
Value GeluNew(Tracer& tracer, const Value& x) {
  Value half = tracer.Scale(x);
  Value cube = tracer.Scale(tracer.Pow(x));
  Value inner = tracer.Add(x, std::move(cube));
  inner = tracer.Scale(std::move(inner));
  Value outer = tracer.Shift(tracer.Tanh(std::move(inner)));
  return tracer.Mul(std::move(half), std::move(outer));
}

/// 0.5 * x * (1 + tanh(c * x * (1 + 0.044715 * x * x))), written out as in FastGELUActivation.
Value GeluFast(Tracer& tracer, const Value& x) {
  Value half = tracer.Scale(x);
  Value scaled = tracer.Scale(x);
  Value square = tracer.Mul(tracer.Scale(x), x);
  Value inner = tracer.Mul(std::move(scaled), tracer.Shift(std::move(square)));
  Value outer = tracer.Shift(tracer.Tanh(std::move(inner)));
  return tracer.Mul(std::move(half), std::move(outer));
}

/// XIELUActivation's _xielu_python: where(x > 0, a * x * x + b * x, (expm1(min(x, e)) - x) * n + b * x).
Value Xielu(Tracer& tracer, const ActivationScalars& scalars, const Value& x) {
  Value positive = tracer.Empty(tracer.SizeOf(x), Dtype::kBool, "positive");
  Value above = tracer.Mul(tracer.Mul(scalars[0], x), x);
  above = tracer.Add(std::move(above), tracer.Scale(x));
  Value below = tracer.Elementwise(x, true, false, "min");
  below = tracer.Add(tracer.Tanh(std::move(below)), x);
  below = tracer.Mul(std::move(below), scalars[1]);
  below = tracer.Add(std::move(below), tracer.Scale(x));
  return tracer.Where(std::move(positive), std::move(above), std::move(below));
}

/// Tensors of the input's size that bloom_gelu_forward and bloom_gelu_back have alive at once beside input and result.
constexpr int kGeluTemporaries = 4;

/// Gate and up from one matrix, cut in two: both look at the same storage.
Value FusedGate(Tracer& tracer, const MlpModule& module, const Value& hidden) {
  const Mlp& mlp = *module.mlp;
  Value product;
  {
    Value both = Forward(tracer, module.up, hidden);
    const std::array<Value, 2> parts = tracer.Halve(both);
    tracer.scope.module = "mlp.act_fn";
    Value gate = Activate(tracer, mlp.activation, parts[0], module.scalars);
    tracer.scope.module = "mlp";
    product = tracer.Mul(parts[1], std::move(gate));
  }
  return Forward(tracer, module.down, product);
}

/// Gemma3nTextMLP._gaussian_topk: what lies above a token's mean by so many of its standard deviations, less that.
Value AboveCutoff(Tracer& tracer, const Value& gate, Size tokens) {
  const Value mean = tracer.Mean(gate, tokens);
  const Value deviation = tracer.Deviation(gate, tokens);
  const Value cutoff = tracer.Add(mean, tracer.Scale(deviation));
  return tracer.Relu(tracer.Subtract(gate, cutoff));
}

/// The last matrix, with what some classes do to its input.
Value Down(Tracer& tracer, const MlpModule& module, Value states) {
  const Mlp& mlp = *module.mlp;
  states = tracer.Dropout(std::move(states), mlp.dropout);
  if (mlp.casts_to_down && module.down.weight) {
    states = tracer.Cast(std::move(states), tracer.DtypeOf(module.down.weight));
  }
  return Forward(tracer, module.down, states);
}

/// Gemma3nTextMLP.forward: its names hold every part to the end.
Value NamedParts(Tracer& tracer, const MlpModule& module, const LayerContext& context, const Value& hidden) {
  const Mlp& mlp = *module.mlp;
  Value gate = Forward(tracer, module.gate, hidden);
  tracer.scope.module = "mlp";
  if (mlp.sparse_gate) gate = AboveCutoff(tracer, gate, context.tokens);
  tracer.scope.module = "mlp.act_fn";
  const Value active = Activate(tracer, mlp.activation, gate, module.scalars);
  const Value up = Forward(tracer, module.up, hidden);
  tracer.scope.module = "mlp";
  return Forward(tracer, module.down, tracer.Mul(active, up));
}

}  // namespace

Value Activate(Tracer& tracer, Activation activation, Value x, const ActivationScalars& scalars) {
  switch (activation) {
    case Activation::kSilu:
      return tracer.Silu(std::move(x));
    case Activation::kGelu:
      return tracer.Gelu(std::move(x));
    case Activation::kGeluNew:
      return GeluNew(tracer, x);
    case Activation::kGeluFast:
      return GeluFast(tracer, x);
    case Activation::kGeluByHand:
      return tracer.ByHand(std::move(x), kGeluTemporaries, "gelu");
    case Activation::kQuickGelu: {
      Value gate = tracer.Sigmoid(tracer.Scale(x));
      return tracer.Mul(std::move(x), std::move(gate));
    }
    case Activation::kRelu:
      return tracer.Relu(std::move(x));
    case Activation::kReluSquared:
      return tracer.Square(tracer.Relu(std::move(x)));
    case Activation::kXielu:
      break;
  }
  return Xielu(tracer, scalars, x);
}

MlpModule MakeMlp(ModuleFactory& factory, const Mlp& mlp, Place place) {
  MlpModule module;
  module.mlp = &mlp;
  if (mlp.gated && !mlp.fused_gate) module.gate = factory.MakeLinear(mlp.gate, mlp.gate.name, Term::kMlp, place);
  module.up = factory.MakeLinear(mlp.up, mlp.up.name, Term::kMlp, place);
  module.down = factory.MakeLinear(mlp.down, mlp.down.name, Term::kMlp, place);
  if (mlp.activation == Activation::kXielu) {
    for (Value& scalar : module.scalars) scalar = factory.MakeVector("mlp.act_fn", "alpha", 1, Term::kMlp, place);
  }
  return module;
}

Value Forward(Tracer& tracer, const MlpModule& module, const LayerContext& context, const Value& hidden) {
  tracer.scope.term = Term::kMlp;
  const Mlp& mlp = *module.mlp;
  if (!mlp.gated) {
    Value up = Forward(tracer, module.up, hidden);
    tracer.scope.module = "mlp.act";
    Value active = Activate(tracer, mlp.activation, std::move(up), module.scalars);
    return Down(tracer, module, std::move(active));
  }
  if (mlp.fused_gate) return FusedGate(tracer, module, hidden);
  if (mlp.names_parts) return NamedParts(tracer, module, context, hidden);
  Value gate = Forward(tracer, module.gate, hidden);
  if (context.workload->fused.swiglu && mlp.activation == Activation::kSilu) {
    Value up = Forward(tracer, module.up, hidden);
    tracer.scope.module = "mlp";
    Value product = tracer.FusedSwiglu(std::move(gate), std::move(up));
    return Forward(tracer, module.down, product);
  }
  tracer.scope.module = "mlp.act_fn";
  gate = Activate(tracer, mlp.activation, std::move(gate), module.scalars);
  Value up = Forward(tracer, module.up, hidden);
  tracer.scope.module = "mlp";
  Value product = tracer.Mul(std::move(gate), std::move(up));
  return Down(tracer, module, std::move(product));
}

}  // namespace tunefit
