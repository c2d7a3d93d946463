#include "core/trace/mlp.h"

#include <utility>

namespace tunefit {

MlpModule MakeMlp(ModuleFactory& factory, const Mlp& mlp, Place place) {
  MlpModule module;
  module.mlp = &mlp;
  if (mlp.gated) module.gate = factory.MakeLinear(mlp.gate, mlp.gate.name, Term::kMlp, place);
  module.up = factory.MakeLinear(mlp.up, mlp.up.name, Term::kMlp, place);
  module.down = factory.MakeLinear(mlp.down, mlp.down.name, Term::kMlp, place);
  return module;
}

Value Activate(Tracer& tracer, Activation activation, Value x) {
  switch (activation) {
    case Activation::kSilu:
      return tracer.Silu(std::move(x));
    case Activation::kGeluTanh:
      return tracer.Gelu(std::move(x));
    case Activation::kGeluNew:
      break;
  }
  // 0.5 * x * (1 + tanh(c * (x + 0.044715 * x^3))), written out as in transformers' NewGELUActivation.
  Value half = tracer.Scale(x);
  Value cube = tracer.Scale(tracer.Pow(x));
  Value inner = tracer.Add(x, std::move(cube));
  inner = tracer.Scale(std::move(inner));
  Value outer = tracer.Shift(tracer.Tanh(std::move(inner)));
  return tracer.Mul(std::move(half), std::move(outer));
}

Value Forward(Tracer& tracer, const MlpModule& module, const LayerContext& context, const Value& hidden) {
  tracer.scope.term = Term::kMlp;
  if (!module.mlp->gated) {
    Value up = Forward(tracer, module.up, hidden);
    tracer.scope.module = "mlp.act";
    Value active = Activate(tracer, module.mlp->activation, std::move(up));
    return Forward(tracer, module.down, active);
  }
  Value gate = Forward(tracer, module.gate, hidden);
  if (context.workload->fused.swiglu && module.mlp->activation == Activation::kSilu) {
    Value up = Forward(tracer, module.up, hidden);
    tracer.scope.module = "mlp";
    Value product = tracer.FusedSwiglu(std::move(gate), std::move(up));
    return Forward(tracer, module.down, product);
  }
  tracer.scope.module = "mlp.act_fn";
  gate = Activate(tracer, module.mlp->activation, std::move(gate));
  Value up = Forward(tracer, module.up, hidden);
  tracer.scope.module = "mlp";
  Value product = tracer.Mul(std::move(gate), std::move(up));
  return Forward(tracer, module.down, product);
}

}  // namespace tunefit
