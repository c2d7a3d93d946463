#include "core/trace/training_step.h"

#include <utility>
#include <variant>

#include "core/trace/checkpointing.h"
#include "core/trace/decoder.h"
#include "core/trace/loss.h"
#include "core/trace/model.h"
#include "core/trace/optimizer.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};

/// Layers that differ in their window only are traced alike: the kernels modelled here hold the same tensors for both.
bool SameTrace(const Block& a, Block b) {
  const auto* attention = std::get_if<Attention>(&a.mixer);
  auto* other = std::get_if<Attention>(&b.mixer);
  if (attention != nullptr && other != nullptr) other->window = attention->window;
  return a == b;
}

/// The run with a period of one where its layers are all traced alike.
LayerRun Simplified(const LayerRun& run) {
  for (const Block& block : run.period) {
    if (!SameTrace(run.period.front(), block)) return run;
  }
  return {{run.period.front()}, run.repeats * static_cast<std::int64_t>(run.period.size())};
}

/// Splits a run into its first period and the rest: the first meets another part of the model (its input may need no
/// gradient, and is held by the model), all others meet their equals.
std::vector<Stretch> MakeStretches(ModuleFactory& factory, const Workload& workload, const std::vector<LayerRun>& runs,
                                   Unrolling unrolling) {
  std::vector<Stretch> stretches;
  std::int64_t first_layer = 0;
  for (const LayerRun& run : runs) {
    const auto period = static_cast<std::int64_t>(run.period.size());
    const bool folded = unrolling == Unrolling::kFolded && run.repeats > 2;
    const std::int64_t traced = folded ? 2 : run.repeats;
    for (std::int64_t i = 0; i < traced; ++i) {
      Stretch stretch;
      stretch.repeats = folded && i == 1 ? run.repeats - 1 : 1;
      stretch.first_layer = first_layer;
      const Place place{stretch.repeats, true};
      for (std::size_t k = 0; k < run.period.size(); ++k) {
        LayerModule layer = MakeLayer(factory, run.period[k], workload.architecture.hidden_size, place);
        layer.checkpointed = ChecksLayer(workload, first_layer + static_cast<std::int64_t>(k));
        stretch.layers.push_back(std::move(layer));
      }
      first_layer += period * stretch.repeats;
      stretches.push_back(std::move(stretch));
    }
  }
  return stretches;
}

/// Width of the rotary tables: that of a head; 0 where no layer rotates. All rotating layers share the tables.
std::int64_t RotaryWidth(const Architecture& architecture) {
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      const auto* attention = std::get_if<Attention>(&block.mixer);
      if (attention != nullptr && attention->rotary) return attention->head_dim;
    }
  }
  return 0;
}

/// Rotary tables, position ids and masks that the model makes before its layers.
LayerContext MakeContext(Tracer& tracer, const Workload& workload, Dtype hidden) {
  const std::int64_t rotary_width = RotaryWidth(workload.architecture);
  LayerContext context;
  context.workload = &workload;
  tracer.scope = {"rotary_emb", Term::kBuffers, false};
  if (rotary_width > 0) {
    const Size table{static_cast<double>(rotary_width), Axis::kLength};
    Value angles = tracer.Empty(table, Dtype::kFp32, "angles");
    Value cosine = tracer.Empty(table, Dtype::kFp32, "cosine");
    Value sine = tracer.Empty(table, Dtype::kFp32, "sine");
    context.cosine = tracer.Empty(table, hidden, "cosine");
    context.sine = tracer.Empty(table, hidden, "sine");
  }
  tracer.scope.module = "causal_mask";
  constexpr Size kPairs{1, Axis::kScores};
  const bool padded = workload.batch.packing == Packing::kNone;
  if (workload.attention == AttentionKernel::kEager) {
    Value allowed = tracer.Empty(kPairs, Dtype::kBool, "allowed");
    context.mask = tracer.Empty(kPairs, hidden, "mask");
  } else if (workload.attention == AttentionKernel::kSdpa && padded) {
    context.mask = tracer.Empty(kPairs, Dtype::kBool, "mask");
  }
  return context;
}

Value EmbedTokens(Tracer& tracer, const TracedModel& model, const Value& ids) {
  const Workload& workload = *model.workload;
  const Architecture& architecture = workload.architecture;
  const Size tokens{static_cast<double>(architecture.hidden_size), Axis::kTokens};
  tracer.scope = {"embed_tokens", Term::kEmbedding, false};
  Value hidden = tracer.Embedding(ids, model.table, tokens);
  // PEFT lets the embeddings' output require a gradient, so that checkpointed layers have something to differentiate.
  if (workload.method.kind == MethodKind::kLora && ChecksLayers(workload) && tracer.gradients() &&
      !tracer.RequiresGradient(hidden)) {
    hidden = tracer.RequireGradient(std::move(hidden));
    tracer.Hold(hidden);
  }
  if (architecture.scales_embedding) hidden = tracer.Scale(std::move(hidden));
  if (model.positions) {
    const Size rows{static_cast<double>(architecture.hidden_size), Axis::kLength};
    Value places = tracer.Input({1, Axis::kLength}, Dtype::kInt64, "position ids");
    Value offsets = tracer.Embedding(places, model.positions, rows);
    hidden = tracer.Add(hidden, std::move(offsets));
  }
  return hidden;
}

}  // namespace

TracedModel MakeModel(Tracer& tracer, const Workload& workload, Unrolling unrolling) {
  const Architecture& architecture = workload.architecture;
  const Method& method = workload.method;
  ModuleFactory factory(tracer, workload);
  TracedModel model;
  model.workload = &workload;
  const bool saved = method.kind == MethodKind::kLora && method.saves_embedding;
  model.table = factory.MakeTable(architecture.vocab_size, "embed_tokens", saved);
  if (architecture.position_rows > 0) model.positions = factory.MakeTable(architecture.position_rows, "wpe", false);
  for (const LayerRun& run : architecture.runs) model.runs.push_back(Simplified(run));
  model.runs = InStepWithCheckpoints(model.runs, workload);
  model.stretches = MakeStretches(factory, workload, model.runs, unrolling);
  model.final_norm = factory.MakeNorm(architecture.final_norm, "norm", architecture.hidden_size, {});
  model.head = factory.MakeHead(model.table);
  return model;
}

Value RunModel(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Workload& workload = *model.workload;
  tracer.BeginSection(moment, -1, 1, 1);
  const Value embeddings = EmbedTokens(tracer, model, ids);
  context = MakeContext(tracer, workload, tracer.DtypeOf(embeddings));
  tracer.scope = {"drop", Term::kEmbedding, false};
  Value hidden = tracer.Dropout(embeddings, workload.architecture.embedding_dropout);
  HoldOffloadBlocks(tracer, workload, hidden);
  const CheckpointRule rule = LayerRule(workload);
  for (const Stretch& stretch : model.stretches) {
    const auto period = static_cast<std::int64_t>(stretch.layers.size());
    tracer.BeginSection(moment, stretch.first_layer, period, stretch.repeats);
    for (const LayerModule& layer : stretch.layers) {
      if (layer.checkpointed) {
        const auto module = [&tracer, &layer, &context](const std::array<Value, 3>& inputs) {
          return Forward(tracer, layer, context, inputs[0]);
        };
        hidden = tracer.Checkpoint(module, {hidden}, rule);
      } else {
        hidden = Forward(tracer, layer, context, hidden);
      }
    }
  }
  tracer.BeginSection(moment, -1, 1, 1);
  tracer.scope = {model.final_norm.path, Term::kNorms, false};
  hidden = Forward(tracer, model.final_norm, hidden, kOnePerToken);
  if (!ChecksLayers(workload)) {
    context.cosine.Drop();
    context.sine.Drop();
    context.mask.Drop();
  }
  return hidden;
}

Step TraceTrainingStep(const Workload& workload, Unrolling unrolling) {
  Tracer tracer(workload.precision.autocast ? std::optional(workload.precision.compute) : std::nullopt,
                workload.batch.gradient_accumulation > 1);
  const TracedModel model = MakeModel(tracer, workload, unrolling);
  tracer.scope = {"inputs", Term::kInputs, false};
  const Value ids = tracer.Input(kOnePerToken, Dtype::kInt64, "input_ids");
  const Value labels = tracer.Input(kOnePerToken, Dtype::kInt64, "labels");
  LayerContext context;
  Value hidden = RunModel(tracer, model, ids, context, Moment::kForward);
  Value loss = TraceLoss(tracer, workload, model.head, hidden, labels);
  hidden.Drop();  // the Trainer drops the model's outputs before backward
  tracer.Backward(std::move(loss));
  context = {};  // a checkpointed layer's arguments lived until its recomputation was done
  Step step = tracer.Finish();
  step.chunk = LossChunks(workload);
  AddOptimizer(step, workload);
  return step;
}

}  // namespace tunefit
