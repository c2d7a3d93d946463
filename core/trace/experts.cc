#include "core/trace/experts.h"

#include <array>
#include <utility>

#include "core/trace/expert_router.h"
#include "core/trace/mlp.h"

namespace tunefit {
namespace {

constexpr const char* kExpertsPath = "mlp.experts";

constexpr Size Once(std::int64_t count) { return {static_cast<double>(count), Axis::kOnce}; }

/// `width` elements for every visit of a token to an expert, all experts together.
Size PerVisit(const ExpertsModule& module, const LayerContext& context, std::int64_t width) {
  return context.tokens * static_cast<double>(module.experts->per_token * width);
}

/// gpt-oss: gate and up lie interleaved and are clamped; (up + 1) x gate x sigmoid(1.702 gate).
Value ApplyClampedGate(Tracer& tracer, const Value& gate_up) {
  Value gate = tracer.Slice(gate_up, 0.5);
  Value up = tracer.Slice(gate_up, 0.5);
  gate = tracer.Clamp(std::move(gate));
  up = tracer.Clamp(std::move(up));
  Value sigmoid = tracer.Sigmoid(tracer.Scale(gate));
  const Value glu = tracer.Mul(gate, std::move(sigmoid));
  return tracer.Mul(tracer.Shift(up), glu);
}

Value ApplyGate(Tracer& tracer, const Experts& experts, const Value& gate_up) {
  if (experts.gate == ExpertGate::kClamped) return ApplyClampedGate(tracer, gate_up);
  if (!experts.expert.gated) return Activate(tracer, experts.expert.activation, gate_up);
  std::array<Value, 2> parts = tracer.Halve(gate_up);
  Value active = Activate(tracer, experts.expert.activation, std::move(parts[0]));
  return tracer.Mul(std::move(active), std::move(parts[1]));
}

/// Adds each row's expert's bias, in place; the caller holds the gathered biases.
Value AddBias(Tracer& tracer, Value product, const Value& biases) {
  return biases ? tracer.AddInPlace(std::move(product), biases) : product;
}

/// Adds what the experts' adapters make of their rows; `visits` is one a row.
Value Adapt(Tracer& tracer, const std::optional<Adapter>& adapter, Value product, const Value& rows,
            const Value& offsets, Size visits) {
  if (!adapter) return product;
  Value input = tracer.Dropout(rows, adapter->dropout);
  const Value low = tracer.GroupedMatmul(std::move(input), adapter->down, offsets, visits * adapter->rank);
  Value update = tracer.GroupedMatmul(low, adapter->up, offsets, tracer.SizeOf(product));
  update = tracer.Cast(tracer.Scale(std::move(update)), tracer.DtypeOf(product));
  return tracer.Add(product, std::move(update));
}

/// Megatron-LM, token_dispatcher.py: MoEAlltoAllTokenDispatcher. Rows go to the ranks of their experts, as many as come
/// where the load is even, and are sorted by the experts of this rank where it holds several.
Value SendToExperts(Tracer& tracer, const Experts& experts, Value rows, const Value& order) {
  if (experts.ranks == 1) return rows;
  tracer.Send(Group::kExpert, tracer.SizeOf(rows), BytesPerElement(tracer.DtypeOf(rows)));
  Value sent = tracer.Exchange(rows, tracer.SizeOf(rows), "rows of all ranks", Value());
  rows.Drop();
  return experts.held() > 1 ? tracer.Select(sent, order, tracer.SizeOf(sent)) : sent;
}

/// And the other way.
Value SendBack(Tracer& tracer, const Experts& experts, Value rows, const Value& order) {
  if (experts.ranks == 1) return rows;
  if (experts.held() > 1) rows = tracer.Select(rows, order, tracer.SizeOf(rows));
  tracer.Send(Group::kExpert, tracer.SizeOf(rows), BytesPerElement(tracer.DtypeOf(rows)));
  return tracer.Exchange(rows, tracer.SizeOf(rows), "rows of this rank", Value());
}

/// transformers 5, integrations/moe.py, grouped_mm_experts_forward: tokens are sorted by expert, all experts multiply
/// at once. Every Python name lives to the end of the function, as here.
Value RunGrouped(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden,
                 const Routing& routing) {
  const Experts& experts = *module.experts;
  const Mlp& expert = experts.expert;
  const auto per_visit = [&](std::int64_t width) { return PerVisit(module, context, width); };
  const Size inner = per_visit(expert.up.out_features * (expert.gated ? 2 : 1));
  const Size outer = per_visit(expert.down.out_features);
  const Value weights = tracer.View(routing.weights);
  const Value sorted_ids = tracer.Empty(per_visit(1), Dtype::kInt64, "sorted experts");
  const Value permutation = tracer.Empty(per_visit(1), Dtype::kInt64, "permutation");
  Value tokens = tracer.Empty(per_visit(1), Dtype::kInt64, "token indices");
  Value rows = tracer.Select(hidden, tokens, per_visit(expert.up.in_features));
  tokens.Drop();
  const Value sorted_weights = tracer.Select(weights, permutation, per_visit(1));
  const Value narrow_ids = tracer.Empty(per_visit(1), Dtype::kInt32, "expert ids");
  const Value tokens_per_expert = tracer.Empty(Once(experts.held()), Dtype::kInt32, "tokens per expert");
  const Value offsets = tracer.Empty(Once(experts.held()), Dtype::kInt32, "offsets");
  const Value beyond = tracer.Empty(per_visit(1), Dtype::kBool, "beyond the last expert");
  Value biases;
  if (module.stack.gate_up_bias) biases = tracer.Select(module.stack.gate_up_bias, sorted_ids, inner);
  rows = tracer.FillMasked(std::move(rows), beyond);
  rows = SendToExperts(tracer, experts, std::move(rows), sorted_ids);

  Value product = tracer.GroupedMatmul(rows, module.stack.gate_up, offsets, inner);
  product = Adapt(tracer, module.stack.gate_up_adapter, std::move(product), rows, offsets, per_visit(1));
  product = AddBias(tracer, std::move(product), biases);
  product = ApplyGate(tracer, experts, product);
  if (module.stack.down_bias) biases = tracer.Select(module.stack.down_bias, sorted_ids, outer);
  Value activated = std::move(product);
  product = tracer.GroupedMatmul(activated, module.stack.down, offsets, outer);
  product = Adapt(tracer, module.stack.down_adapter, std::move(product), activated, offsets, per_visit(1));
  activated.Drop();
  product = AddBias(tracer, std::move(product), biases);
  Value weighted = tracer.Mul(product, sorted_weights);
  weighted = tracer.FillMasked(std::move(weighted), beyond);
  weighted = SendBack(tracer, experts, std::move(weighted), sorted_ids);

  const Value inverse = tracer.Empty(per_visit(1), Dtype::kInt64, "inverse permutation");
  { const Value order = tracer.Empty(per_visit(1), Dtype::kInt64, "order"); }
  weighted = tracer.Select(weighted, inverse, outer);
  Value sum = tracer.SumOver(tracer.Reshape(weighted), tracer.SizeOf(hidden));
  return tracer.Cast(std::move(sum), tracer.DtypeOf(hidden));
}

/// One expert of a stack: each slice's gradient is as large as the whole parameter.
Value RunSlice(Tracer& tracer, const ExpertsModule& module, const Value& rows) {
  const Experts& experts = *module.experts;
  const Mlp& expert = experts.expert;
  const double share = 1 / static_cast<double>(experts.count);
  const auto in = static_cast<double>(expert.up.in_features);
  const auto width = static_cast<double>(expert.up.out_features);
  const auto slice = [&](const Value& stack) { return stack ? tracer.Slice(stack, share) : Value(); };
  const Value gate_up = slice(module.stack.gate_up);
  Value product = tracer.Linear(rows, gate_up, slice(module.stack.gate_up_bias), in, width * (expert.gated ? 2 : 1));
  product = ApplyGate(tracer, experts, product);
  return tracer.Linear(product, slice(module.stack.down), slice(module.stack.down_bias), width,
                       static_cast<double>(expert.down.out_features));
}

/// A Python loop over the experts, each on its own tokens (transformers before 5, e.g. MixtralSparseMoeBlock; DBRX).
/// How many tokens each gets is not known before the run: as many for each are taken.
Value RunLoop(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden,
              const Routing& routing) {
  const Experts& experts = *module.experts;
  const double share = 1 / static_cast<double>(experts.count);
  const Size visits = PerVisit(module, context, 1) * share;
  Value sum = tracer.Empty(tracer.SizeOf(hidden), tracer.DtypeOf(hidden), "sum of experts");
  const Value mask = tracer.Empty(PerVisit(module, context, experts.count), Dtype::kInt64, "expert mask");
  Value position, token, rows, output;  // the last expert's live to the end of the function
  for (std::int64_t i = 0; i < experts.count; ++i) {
    tracer.scope.module = kExpertsPath;
    position = tracer.Empty(visits, Dtype::kInt64, "position");
    token = tracer.Empty(visits, Dtype::kInt64, "token");
    rows = tracer.Select(hidden, token, visits * static_cast<double>(experts.expert.up.in_features));
    output = module.loop.empty() ? RunSlice(tracer, module, rows)
                                 : Forward(tracer, module.loop[static_cast<std::size_t>(i)], context, rows);
    tracer.scope.module = kExpertsPath;
    output = tracer.Mul(output, tracer.Select(routing.weights, token, visits));
    Value cast = tracer.Cast(output, tracer.DtypeOf(sum));
    sum = tracer.AddRows(std::move(sum), std::move(cast), token);
  }
  return sum;
}

/// Granite: rows split by expert, a product each, joined again. Source: GraniteMoeParallelExperts, GraniteMoeMoE.
Value RunSplit(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden,
               const Routing& routing) {
  const Experts& experts = *module.experts;
  const Mlp& expert = experts.expert;
  const auto held = static_cast<double>(experts.held());
  const Value tokens = tracer.Empty(PerVisit(module, context, 1), Dtype::kInt64, "token indices");
  const Value weights = tracer.Select(routing.weights, tokens, PerVisit(module, context, 1));
  const Value rows = tracer.Select(hidden, tokens, PerVisit(module, context, expert.up.in_features));
  Value product =
      tracer.SplitMatmul(rows, module.stack.gate_up, PerVisit(module, context, 2 * expert.up.out_features), held);
  product = ApplyGate(tracer, experts, product);
  Value outputs =
      tracer.SplitMatmul(product, module.stack.down, PerVisit(module, context, expert.down.out_features), held);
  outputs = tracer.Mul(outputs, weights);
  const Value zeros = tracer.Empty(tracer.SizeOf(hidden), tracer.DtypeOf(outputs), "zeros");
  return tracer.AddRows(tracer.Copy(zeros, "sum of experts"), std::move(outputs), tokens);
}

/// Llama 4: every token passes through every expert, weighted by its score, which is zero for all but its own. Source:
/// transformers' Llama4TextMoe without the hub's kernel.
Value RunEveryToken(Tracer& tracer, const ExpertsModule& module, const Value& hidden, const Routing& routing,
                    Value shared) {
  const Experts& experts = *module.experts;
  const Mlp& expert = experts.expert;
  const auto count = static_cast<double>(experts.count);
  const Size all = tracer.SizeOf(hidden) * count;
  const double widened = 2 * static_cast<double>(expert.up.out_features) / static_cast<double>(expert.up.in_features);
  Value repeated = tracer.ExpandHeads(hidden, count);
  repeated = tracer.Mul(std::move(repeated), tracer.Copy(routing.weights, "scores by expert"));
  Value product = tracer.BatchMatmul(repeated, module.stack.gate_up, all * widened, Once(experts.count));
  product = ApplyGate(tracer, experts, product);
  product = tracer.BatchMatmul(product, module.stack.down, all, Once(experts.count));
  Value sum = tracer.SumOver(product, tracer.SizeOf(hidden));
  return tracer.AddInPlace(std::move(shared), sum);
}

/// The part that every token visits, times the sigmoid of its gate where it has one.
Value GateShared(Tracer& tracer, const ExpertsModule& module, const Value& hidden, Value shared) {
  if (module.experts->shared_gate.out_features == 0) return shared;
  Value gate = tracer.Sigmoid(Forward(tracer, module.shared_gate, hidden));
  return tracer.Mul(std::move(gate), shared);
}

/// The part that every token visits is divided among all tensor ranks.
Value RunShared(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& hidden) {
  const Workload& workload = *context.workload;
  if (!workload.parallel.ExpertsTakeOwnTokens()) return Forward(tracer, module.shared, context, hidden);
  const Value all = JoinTokens(tracer, workload, hidden);
  return DivideTokens(tracer, workload, Forward(tracer, module.shared, context, all));
}

Value RunRouted(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& tokens,
                const Routing& routing) {
  tracer.scope.module = kExpertsPath;
  if (module.experts->form == ExpertForm::kSplit) return RunSplit(tracer, module, context, tokens, routing);
  const bool loops = module.experts->form == ExpertForm::kSlices || !module.loop.empty();
  return loops ? RunLoop(tracer, module, context, tokens, routing)
               : RunGrouped(tracer, module, context, tokens, routing);
}

}  // namespace

ExpertsModule MakeExperts(ModuleFactory& factory, const Experts& experts, Place place) {
  ExpertsModule module;
  module.experts = &experts;
  const Router& router = experts.router;
  const char* path = router.matrix.name;
  // A matrix that the class casts to fp32 itself has to be one: packed there is nothing to cast.
  const bool is_module = router.is_module && !(router.fp32_matrix && factory.Quantized());
  module.router = is_module ? factory.MakeLinear(router.matrix, path, Term::kMlp, place)
                            : factory.MakeParameterLinear(router.matrix, path, Term::kMlp, place);
  if (router.corrects()) {
    module.correction_bias =
        factory.MakeFrozenVector(experts.count, path, "e_score_correction_bias", Dtype::kFp32, place);
  }
  if (experts.form == ExpertForm::kModules) {
    for (std::int64_t i = 0; i < experts.count; ++i) module.loop.push_back(MakeMlp(factory, experts.expert, place));
  } else {
    module.stack = factory.MakeExpertStack(experts, kExpertsPath, place);
  }
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
  if (experts.has_shared && experts.shared_first) shared = RunShared(tracer, module, context, tokens);
  const Routing routing = Route(tracer, module, context, tokens);
  if (experts.form == ExpertForm::kEveryToken) {
    if (!shared) shared = RunShared(tracer, module, context, tokens);
    return RunEveryToken(tracer, module, tokens, routing, std::move(shared));
  }
  Value routed = RunRouted(tracer, module, context, tokens, routing);
  if (!experts.has_shared) return routed;
  if (!experts.shared_first) shared = RunShared(tracer, module, context, hidden);
  shared = GateShared(tracer, module, tokens, std::move(shared));
  return tracer.Add(std::move(routed), std::move(shared));
}

}  // namespace tunefit
