#include "core/trace/experts.h"

#include <array>
#include <utility>

#include "core/trace/mlp.h"

namespace tunefit {
namespace {

constexpr const char* kRouterPath = "mlp.gate";
constexpr const char* kExpertsPath = "mlp.experts";

constexpr Size PerToken(std::int64_t width) { return {static_cast<double>(width), Axis::kTokens}; }
constexpr Size Once(std::int64_t count) { return {static_cast<double>(count), Axis::kOnce}; }

/// What a router answers. Its caller holds the logits until the block returns.
struct Routing {
  Value logits, weights, indices;
};

Value RouterLogits(Tracer& tracer, const ExpertsModule& module, const Value& hidden) {
  if (!module.experts->router.fp32_matrix) return Forward(tracer, module.router, hidden);
  const LinearShape& shape = module.experts->router.matrix;
  tracer.scope.module = module.router.path;
  Value input = tracer.Cast(hidden, Dtype::kFp32);
  Value weight = tracer.Cast(module.router.weight, Dtype::kFp32);
  return tracer.Linear(std::move(input), weight, Value(), static_cast<double>(shape.in_features),
                       static_cast<double>(shape.out_features));
}

/// The best experts of each token and their weights. Sources: transformers' MixtralTopKRouter, Qwen2MoeTopKRouter and
/// their kin.
Routing Route(Tracer& tracer, const ExpertsModule& module, const Value& hidden) {
  const Router& router = module.experts->router;
  const std::int64_t chosen = module.experts->per_token;
  Routing routing;
  routing.logits = RouterLogits(tracer, module, hidden);
  const Dtype logits = tracer.DtypeOf(routing.logits);
  Value scores = tracer.Softmax(tracer.Cast(routing.logits, Dtype::kFp32));
  std::array<Value, 2> best = tracer.TopK(scores, PerToken(chosen));
  routing.weights = std::move(best[0]);
  routing.indices = std::move(best[1]);
  if (router.normalizes) {
    Value sum = tracer.SumOver(routing.weights, PerToken(1));
    routing.weights = tracer.DivideInPlace(std::move(routing.weights), sum);
  }
  if (router.scales) routing.weights = tracer.Scale(std::move(routing.weights));
  if (!router.keeps_fp32) routing.weights = tracer.Cast(std::move(routing.weights), logits);
  return routing;
}

Value ApplyGate(Tracer& tracer, const Mlp& expert, const Value& gate_up) {
  if (!expert.gated) return Activate(tracer, expert.activation, gate_up);
  std::array<Value, 2> parts = tracer.Halve(gate_up);
  Value active = Activate(tracer, expert.activation, std::move(parts[0]));
  return tracer.Mul(std::move(active), std::move(parts[1]));
}

/// transformers 5, integrations/moe.py, grouped_mm_experts_forward: tokens are sorted by expert, all experts multiply
/// at once. Every Python name lives to the end of the function, as here.
Value RunStacked(Tracer& tracer, const ExpertsModule& module, const Value& hidden, const Routing& routing) {
  const Mlp& expert = module.experts->expert;
  const std::int64_t chosen = module.experts->per_token;
  const std::int64_t width = chosen * expert.down.out_features;
  const std::int64_t inner = chosen * expert.up.out_features * (expert.gated ? 2 : 1);
  tracer.scope.module = kExpertsPath;
  const Value weights = tracer.View(routing.weights);
  const Value sorted_ids = tracer.Empty(PerToken(chosen), Dtype::kInt64, "sorted experts");
  const Value permutation = tracer.Empty(PerToken(chosen), Dtype::kInt64, "permutation");
  Value tokens = tracer.Empty(PerToken(chosen), Dtype::kInt64, "token indices");
  Value rows = tracer.Select(hidden, tokens, PerToken(chosen * expert.up.in_features));
  tokens.Drop();
  const Value sorted_weights = tracer.Select(weights, permutation, PerToken(chosen));
  const Value narrow_ids = tracer.Empty(PerToken(chosen), Dtype::kInt32, "expert ids");
  const Value tokens_per_expert = tracer.Empty(Once(module.stack.count), Dtype::kInt32, "tokens per expert");
  const Value offsets = tracer.Empty(Once(module.stack.count), Dtype::kInt32, "offsets");
  const Value beyond = tracer.Empty(PerToken(chosen), Dtype::kBool, "beyond the last expert");
  rows = tracer.FillMasked(std::move(rows), beyond);

  Value product = tracer.GroupedMatmul(rows, module.stack.gate_up, offsets, PerToken(inner));
  product = ApplyGate(tracer, expert, product);
  product = tracer.GroupedMatmul(product, module.stack.down, offsets, PerToken(width));
  Value weighted = tracer.Mul(product, sorted_weights);
  weighted = tracer.FillMasked(std::move(weighted), beyond);

  const Value inverse = tracer.Empty(PerToken(chosen), Dtype::kInt64, "inverse permutation");
  { const Value order = tracer.Empty(PerToken(chosen), Dtype::kInt64, "order"); }
  weighted = tracer.Select(weighted, inverse, PerToken(width));
  Value sum = tracer.SumOver(tracer.Reshape(weighted), PerToken(expert.down.out_features));
  return tracer.Cast(std::move(sum), tracer.DtypeOf(hidden));
}

/// The part that every token visits, times the sigmoid of its gate where it has one.
Value GateShared(Tracer& tracer, const ExpertsModule& module, const Value& hidden, Value shared) {
  if (module.experts->shared_gate.out_features == 0) return shared;
  Value gate = tracer.Sigmoid(Forward(tracer, module.shared_gate, hidden));
  return tracer.Mul(std::move(gate), shared);
}

}  // namespace

ExpertsModule MakeExperts(ModuleFactory& factory, const Experts& experts, Place place) {
  ExpertsModule module;
  module.experts = &experts;
  const Router& router = experts.router;
  module.router = router.is_module ? factory.MakeLinear(router.matrix, kRouterPath, Term::kMlp, place)
                                   : factory.MakeParameterLinear(router.matrix, kRouterPath, Term::kMlp, place);
  if (router.correction_bias) {
    module.correction_bias =
        factory.MakeFrozenVector(experts.count, kRouterPath, "e_score_correction_bias", Dtype::kFp32, place);
  }
  module.stack = factory.MakeExpertStack(experts, kExpertsPath, place);
  if (experts.has_shared) module.shared = MakeMlp(factory, experts.shared, place);
  if (experts.shared_gate.out_features > 0) {
    module.shared_gate = factory.MakeLinear(experts.shared_gate, experts.shared_gate.name, Term::kMlp, place);
  }
  return module;
}

Value Forward(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden) {
  const Experts& experts = *module.experts;
  tracer.scope.term = Term::kMlp;
  const Value tokens = tracer.View(hidden);
  Value shared;
  if (experts.has_shared && experts.shared_first) shared = Forward(tracer, module.shared, context, tokens);
  const Routing routing = Route(tracer, module, tokens);
  Value routed = RunStacked(tracer, module, tokens, routing);
  if (!experts.has_shared) return routed;
  if (!experts.shared_first) shared = Forward(tracer, module.shared, context, hidden);
  shared = GateShared(tracer, module, tokens, std::move(shared));
  return tracer.Add(std::move(routed), std::move(shared));
}

}  // namespace tunefit
