// Routers of transformers' mixture-of-experts classes: MixtralTopKRouter, Qwen2MoeTopKRouter, DeepseekV2Moe and
// DeepseekV3MoE (route_tokens_to_experts), GptOssTopKRouter, GraniteMoeTopKGating, Ernie4_5_MoeTopKRouter, DbrxFFN,
// PhimoeTopKRouter (sparsemixer), Llama4Router, MiniMaxM2TopKRouter.
#include "core/trace/expert_router.h"

#include <array>
#include <utility>

namespace tunefit {
namespace {

Value Logits(Tracer& tracer, const ExpertsModule& module, const Value& tokens) {
  if (!module.experts->router.fp32_matrix) return Forward(tracer, module.router, tokens);
  const LinearShape& shape = module.experts->router.matrix;
  tracer.scope.module = module.router.path;
  Value input = tracer.Cast(tokens, Dtype::kFp32);
  Value weight = tracer.Cast(module.router.weight, Dtype::kFp32);
  return tracer.Linear(std::move(input), weight, Value(), static_cast<double>(shape.in_features),
                       static_cast<double>(shape.out_features));
}

/// What a choice by corrected scores or by groups works with; nothing of it has a gradient or outlives the choice.
Value Choose(Tracer& tracer, const Experts& experts, const LayerContext& context, const Value& scores, Size chosen) {
  const Size all = tracer.SizeOf(scores);
  const Dtype dtype = tracer.DtypeOf(scores);
  const Value corrected = tracer.Empty(all, dtype, "corrected scores");
  if (experts.router.choice == Choice::kCorrected) return tracer.Empty(chosen, Dtype::kInt64, "top k indices");
  const Value groups = tracer.Empty(context.tokens, dtype, "group scores");
  const Value mask = tracer.Empty(all, dtype, "group mask");
  { const Value unwanted = tracer.Empty(all, Dtype::kBool, "masked experts"); }
  const Value wanted = tracer.Empty(all, dtype, "scores of the best groups");
  return tracer.Empty(chosen, Dtype::kInt64, "top k indices");
}

Value Divided(Tracer& tracer, const Router& router, const LayerContext& context, Value weights) {
  if (router.division == Division::kNone) return weights;
  Value sum = tracer.SumOver(weights, context.tokens);
  if (router.division == Division::kInPlace) return tracer.DivideInPlace(std::move(weights), sum);
  return tracer.Divide(std::move(weights), tracer.Clamp(std::move(sum)));
}

/// Phi-MoE draws one expert after the other, each from the softmax over those that are left.
Value SparseMixer(Tracer& tracer, const Value& logits, const LayerContext& context) {
  const auto draw = [&](const Value& scores) {
    const Value mask = tracer.Empty(tracer.SizeOf(scores), Dtype::kBool, "masked experts");
    Value gates = tracer.FillMasked(tracer.Copy(scores, "masked scores"), mask);
    gates = tracer.Softmax(std::move(gates));
    const Value drawn = tracer.Empty(context.tokens, Dtype::kInt64, "drawn expert");
    return tracer.Select(gates, drawn, context.tokens);
  };
  Value first = draw(logits);
  Value second = draw(tracer.Copy(logits, "scores without the first"));
  return tracer.Cat(std::move(first), std::move(second));
}

/// Scores of all experts, from which the best are taken.
Value Scores(Tracer& tracer, const Router& router, const Value& logits) {
  if (router.scoring == Scoring::kTypedSoftmax) return tracer.Softmax(logits);
  Value wide = tracer.Cast(logits, Dtype::kFp32);
  return router.scoring == Scoring::kSigmoid ? tracer.Sigmoid(std::move(wide)) : tracer.Softmax(std::move(wide));
}

/// Experts taken by their scores over all.
void TakeBest(Tracer& tracer, const Experts& experts, const LayerContext& context, Routing& routing) {
  const Router& router = experts.router;
  const Size chosen = context.tokens * static_cast<double>(experts.per_token);
  Value scores = Scores(tracer, router, routing.logits);
  if (router.corrects()) {
    routing.indices = Choose(tracer, experts, context, scores, chosen);
    routing.weights = tracer.Select(scores, routing.indices, chosen);
    return;
  }
  if (router.choice == Choice::kGroups) {
    const Value mask = tracer.Empty(tracer.SizeOf(scores), Dtype::kBool, "masked experts");
    scores = tracer.FillMasked(tracer.Copy(scores, "scores of the best groups"), mask);
  }
  std::array<Value, 2> best = tracer.TopK(scores, chosen);
  routing.weights = std::move(best[0]);
  routing.indices = std::move(best[1]);
}

/// Experts taken by their logits, then scored among themselves.
void TakeThenScore(Tracer& tracer, const Experts& experts, const LayerContext& context, Routing& routing) {
  const Router& router = experts.router;
  const Size chosen = context.tokens * static_cast<double>(experts.per_token);
  if (router.fp32_scores) routing.logits = tracer.Cast(routing.logits, Dtype::kFp32);
  std::array<Value, 2> best = tracer.TopK(routing.logits, chosen);
  routing.indices = std::move(best[1]);
  routing.weights = tracer.Softmax(std::move(best[0]));
}

/// Llama 4: the chosen logits among minus infinities, their sigmoid in fp32, cast back: a score for every expert.
void ScoreAmongAll(Tracer& tracer, const Experts& experts, const LayerContext& context, Routing& routing) {
  const Size chosen = context.tokens * static_cast<double>(experts.per_token);
  std::array<Value, 2> best = tracer.TopK(routing.logits, chosen);
  const Dtype dtype = tracer.DtypeOf(routing.logits);
  Value spread = tracer.Empty(tracer.SizeOf(routing.logits), dtype, "chosen logits");
  spread = tracer.AddRows(std::move(spread), best[0], best[1]);
  spread = tracer.Sigmoid(tracer.Cast(spread, Dtype::kFp32));
  routing.weights = tracer.Cast(std::move(spread), dtype);
  routing.indices = std::move(best[1]);
}

}  // namespace

Routing Route(Tracer& tracer, const ExpertsModule& module, const LayerContext& context, const Value& tokens) {
  const Experts& experts = *module.experts;
  const Router& router = experts.router;
  Routing routing;
  const std::optional<Dtype> autocast = tracer.autocast();
  if (router.without_autocast) tracer.SetAutocast(std::nullopt);
  routing.logits = Logits(tracer, module, tokens);
  switch (router.scoring) {
    case Scoring::kSoftmax:
    case Scoring::kTypedSoftmax:
    case Scoring::kSigmoid:
      TakeBest(tracer, experts, context, routing);
      break;
    case Scoring::kChosenSoftmax:
      TakeThenScore(tracer, experts, context, routing);
      break;
    case Scoring::kSparseMixer:
      routing.weights = SparseMixer(tracer, routing.logits, context);
      break;
    case Scoring::kChosenSigmoid:
      ScoreAmongAll(tracer, experts, context, routing);
      break;
  }
  routing.weights = Divided(tracer, router, context, std::move(routing.weights));
  tracer.SetAutocast(autocast);
  if (router.scales) routing.weights = tracer.Scale(std::move(routing.weights));
  const Dtype dtype = router.fp32_matrix ? tracer.DtypeOf(tokens) : tracer.DtypeOf(routing.logits);
  if (!router.keeps_fp32) routing.weights = tracer.Cast(std::move(routing.weights), dtype);
  return routing;
}

}  // namespace tunefit
