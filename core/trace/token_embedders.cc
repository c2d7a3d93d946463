// The order of Gemma3nModel.forward and Gemma3nMultimodalEmbedder.forward (transformers, modeling_gemma3n.py).
#include "core/trace/token_embedders.h"

#include <utility>

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};

Value Embed(Tracer& tracer, const EmbedderModule& module, const Value& ids) {
  tracer.scope = {module.embedder->path, Term::kEmbedding, false};
  const Size size{static_cast<double>(module.embedder->width), Axis::kTokens};
  const Value hard = tracer.Embedding(ids, module.table, size);
  const Value normed = Forward(tracer, module.norm, hard, kOnePerToken);
  const Value projected = Forward(tracer, module.projection, normed);
  return Forward(tracer, module.norm_after, projected, kOnePerToken);
}

}  // namespace

std::vector<EmbedderModule> MakeTokenEmbedders(Tracer& tracer, ModuleFactory& factory, const Workload& workload) {
  std::vector<EmbedderModule> modules;
  if (!workload.architecture.vision) return modules;
  const NormKind norm = workload.architecture.final_norm;
  factory.InTower(true);
  for (const TokenEmbedder& embedder : workload.architecture.vision->embedders) {
    EmbedderModule& module = modules.emplace_back();
    module.embedder = &embedder;
    module.table = factory.MakeTable(embedder.rows, embedder.width, embedder.path, false);
    module.norm = factory.MakeNorm(norm, "hard_embedding_norm", embedder.width, {});
    const bool in_root =
        workload.parallel.strategy == Strategy::kFsdp || workload.parallel.strategy == Strategy::kFsdp2;
    tracer.idle = in_root ? Idle::kInRoot : Idle::kApart;  // it is for the tower's states
    factory.MakeNorm(norm, "soft_embedding_norm", embedder.width, {});
    tracer.idle = Idle::kNot;
    module.projection = factory.MakeLinear(embedder.projection, embedder.projection.name, Term::kEmbedding, {});
    module.norm_after = factory.MakeNorm(NormKind::kRmsNormPowerBare, "embedding_post_projection_norm",
                                         embedder.projection.out_features, {});
  }
  factory.InTower(false);
  return modules;
}

Value RunTokenEmbedders(Tracer& tracer, const TracedModel& model, Value embeddings, EmbedderNames& names) {
  for (const EmbedderModule& module : model.embedders) {
    const Value mask = tracer.Empty(kOnePerToken, Dtype::kBool, "tokens of the tower");
    const Value ids = tracer.Empty(kOnePerToken, Dtype::kInt64, "ids of the tower");
    const Value tokens = tracer.Cast(Embed(tracer, module, ids), tracer.DtypeOf(embeddings));
    embeddings = tracer.Where(mask, tokens, std::move(embeddings));
    names.held.insert(names.held.end(), {mask, ids, tokens});
  }
  return embeddings;
}

}  // namespace tunefit
