#include "core/trace/model.h"

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "core/trace/checkpointing.h"
#include "core/trace/sharding.h"
#include "core/trace/vision.h"

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

/// The repetitions that a run's traced periods stand for. The first meets another part of the model (its input may need
/// no gradient, and is held by the model), all others meet their equals; under sharding so does the last, which
/// backward reaches first, when no unit's reduction is under way.
std::vector<std::int64_t> FoldRun(std::int64_t repeats, bool sharded, Unrolling unrolling) {
  const std::int64_t apart = sharded ? 2 : 1;
  if (unrolling == Unrolling::kAll || repeats <= apart + 1) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(repeats), 1);
  }
  if (sharded) return {1, repeats - apart, 1};
  return {1, repeats - apart};
}

std::int64_t FirstTrainedLayer(const Workload& workload) {
  return workload.architecture.layers() - workload.method.trainable_layers;
}

/// Runs cut where the trained layers begin, so that a run is frozen or trained as a whole.
std::vector<LayerRun> CutAtTrained(const std::vector<LayerRun>& runs, std::int64_t first_trained) {
  std::vector<LayerRun> cut;
  std::int64_t first = 0;
  for (const LayerRun& run : runs) {
    const auto period = static_cast<std::int64_t>(run.period.size());
    const std::int64_t inside = first_trained - first;
    first += period * run.repeats;
    if (inside <= 0 || inside >= period * run.repeats) {
      cut.push_back(run);
      continue;
    }
    const std::int64_t before = inside / period;
    const std::int64_t within = inside % period;
    if (before > 0) cut.push_back({run.period, before});
    if (within > 0) {
      cut.push_back({{run.period.begin(), run.period.begin() + static_cast<std::ptrdiff_t>(within)}, 1});
      cut.push_back({{run.period.begin() + static_cast<std::ptrdiff_t>(within), run.period.end()}, 1});
    }
    const std::int64_t after = run.repeats - before - (within > 0 ? 1 : 0);
    if (after > 0) cut.push_back({run.period, after});
  }
  return cut;
}

std::vector<Stretch> MakeStretches(Tracer& tracer, ModuleFactory& factory, const Workload& workload,
                                   const std::vector<LayerRun>& runs, Unrolling unrolling) {
  ShardedUnits* units = tracer.units();
  std::vector<Stretch> stretches;
  std::int64_t first_layer = 0;
  for (const LayerRun& run : runs) {
    for (const std::int64_t repeats : FoldRun(run.repeats, units != nullptr, unrolling)) {
      Stretch stretch;
      stretch.repeats = repeats;
      stretch.first_layer = first_layer;
      for (std::size_t k = 0; k < run.period.size(); ++k) {
        const std::int32_t unit = units != nullptr ? units->Open() : -1;
        factory.InTrainedLayer(first_layer >= FirstTrainedLayer(workload));
        LayerModule layer = MakeLayer(factory, run.period[k], workload.architecture.hidden_size, {repeats, true});
        layer.checkpointed = ChecksLayer(workload, first_layer + static_cast<std::int64_t>(k));
        layer.unit = unit;
        stretch.layers.push_back(std::move(layer));
      }
      first_layer += static_cast<std::int64_t>(run.period.size()) * repeats;
      stretches.push_back(std::move(stretch));
    }
  }
  factory.InTrainedLayer(false);
  if (units != nullptr) units->Close();
  return stretches;
}

const Attention* FirstAttention(const Architecture& architecture) {
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      if (const auto* attention = std::get_if<Attention>(&block.mixer)) return attention;
    }
  }
  return nullptr;
}

/// Width of the rotary tables: how much of a head turns; 0 where no layer rotates. All rotating layers share the
/// tables.
std::int64_t RotaryWidth(const Architecture& architecture) {
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      if (const auto* latent = std::get_if<LatentAttention>(&block.mixer)) return latent->turned_dim;
      const auto* attention = std::get_if<Attention>(&block.mixer);
      if (attention == nullptr || attention->rotary == Rotary::kNone) continue;
      const std::int64_t width = attention->rotary_dim > 0 ? attention->rotary_dim : attention->head_dim;
      return attention->rotary == Rotary::kCutHalves ? width / 2 : width;
    }
  }
  return 0;
}

bool TurnsComplex(const Architecture& architecture) {
  for (const LayerRun& run : architecture.runs) {
    const Mixer& mixer = run.period.front().mixer;
    if (const auto* latent = std::get_if<LatentAttention>(&mixer)) return latent->complex_rotary;
    if (const auto* attention = std::get_if<Attention>(&mixer)) return attention->rotary == Rotary::kComplex;
  }
  return false;
}

/// DeepSeek V2's and Llama 4's one table of complex numbers: as many bytes as fp32 of the whole width.
void MakeComplexTable(Tracer& tracer, LayerContext& context, std::int64_t width) {
  const Size table{static_cast<double>(width), Axis::kLength};
  const Value angles = tracer.Empty(table * 0.5, Dtype::kFp32, "angles");
  const Value turns = tracer.Empty(table, Dtype::kFp32, "turns");
  context.cosine = tracer.Empty(table, Dtype::kFp32, "turns");
}

void MakeRotaryTables(Tracer& tracer, LayerContext& context, std::int64_t width) {
  if (width == 0) return;
  tracer.scope = {"rotary_emb", Term::kBuffers, false};
  if (TurnsComplex(context.workload->architecture)) return MakeComplexTable(tracer, context, width);
  const Size table{static_cast<double>(width), Axis::kLength};
  Value angles = tracer.Empty(table, Dtype::kFp32, "angles");
  Value cosine = tracer.Empty(table, Dtype::kFp32, "cosine");
  Value sine = tracer.Empty(table, Dtype::kFp32, "sine");
  context.cosine = tracer.Empty(table, context.dtype, "cosine");
  context.sine = tracer.Empty(table, context.dtype, "sine");
}

/// The causal mask as the kernel wants it, in the dtype of the token embeddings, and ALiBi's lines or matrices.
void MakeMasks(Tracer& tracer, LayerContext& context, const Workload& workload, Dtype embedded) {
  tracer.scope = {"causal_mask", Term::kBuffers, false};
  constexpr Size kPairs{1, Axis::kScores};
  const Attention* attention = FirstAttention(workload.architecture);
  const ScoreBias bias = attention != nullptr ? attention->score_bias : ScoreBias::kNone;
  const double heads = attention != nullptr ? static_cast<double>(attention->heads) : 0;
  const bool padded = workload.batch.packing == Packing::kNone && workload.habits.model.masks_padding;
  if (bias == ScoreBias::kAlibiPerPair && context.kernel != AttentionKernel::kFlash) {
    context.mask = tracer.Empty(kPairs * heads, embedded, "mask with alibi");
    return;
  }
  if (bias == ScoreBias::kAlibi) context.bias = tracer.Empty(Size{heads, Axis::kTokens}, context.dtype, "alibi");
  if (context.kernel == AttentionKernel::kEager) {
    Value allowed = tracer.Empty(kPairs, Dtype::kBool, "allowed");
    context.mask = tracer.Empty(kPairs, embedded, "mask");
  } else if (context.kernel == AttentionKernel::kSdpa && padded) {
    context.mask = tracer.Empty(kPairs, Dtype::kBool, "mask");
  }
}

/// Rotary tables, position ids and masks that the model makes before its layers.
LayerContext MakeContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden) {
  LayerContext context;
  context.workload = &workload;
  context.dtype = hidden;
  context.kernel = workload.architecture.eager_only ? AttentionKernel::kEager : workload.attention;
  MakeRotaryTables(tracer, context, RotaryWidth(workload.architecture));
  MakeMasks(tracer, context, workload, embedded);
  for (const Value* shared : {&context.cosine, &context.sine, &context.mask, &context.bias}) {
    tracer.ShareAmongLayers(*shared);
  }
  return context;
}

/// Width of the token table.
std::int64_t TableWidth(const Architecture& architecture) {
  return architecture.embedding_width > 0 ? architecture.embedding_width : architecture.hidden_size;
}

/// The tables, and what stands between them and the layers.
void MakeEmbeddings(ModuleFactory& factory, const Workload& workload, TracedModel& model) {
  const Architecture& architecture = workload.architecture;
  const Method& method = workload.method;
  const std::int64_t hidden = architecture.hidden_size;
  const std::int64_t width = TableWidth(architecture);
  const bool saved = method.kind == MethodKind::kLora && method.saves_embedding;
  model.table = factory.MakeTable(architecture.vocab_size, width, "embed_tokens", saved);
  if (architecture.position_rows > 0) {
    model.positions = factory.MakeTable(architecture.position_rows, hidden, "wpe", false);
  }
  if (architecture.token_types > 0) {
    model.token_types = factory.MakeTable(architecture.token_types, hidden, "token_type_embeddings", false);
  }
  if (width != hidden) {
    model.project_in = factory.MakeLinear({"project_in", width, hidden, false}, "project_in", Term::kEmbedding, {});
    model.project_out = factory.MakeLinear({"project_out", hidden, width, false}, "project_out", Term::kEmbedding, {});
  }
  if (architecture.embedding_norm) {
    model.embedding_norm = factory.MakeNorm(architecture.final_norm, "embedding_norm", hidden, {});
  }
}

Value EmbedTokens(Tracer& tracer, const TracedModel& model, const Value& ids) {
  const Workload& workload = *model.workload;
  const Architecture& architecture = workload.architecture;
  const auto hidden_size = static_cast<double>(architecture.hidden_size);
  const auto width = static_cast<double>(TableWidth(architecture));
  tracer.scope = {"embed_tokens", Term::kEmbedding, false};
  Value hidden = tracer.Embedding(ids, model.table, {width, Axis::kTokens});
  // PEFT lets the embeddings' output require a gradient, so that checkpointed layers have something to differentiate.
  if (workload.method.kind == MethodKind::kLora && ChecksLayers(workload) && tracer.gradients() &&
      workload.habits.model.embeddings_require_gradient && !tracer.RequiresGradient(hidden)) {
    hidden = tracer.RequireGradient(std::move(hidden));
    tracer.Hold(hidden);
  }
  if (architecture.scales_embedding) hidden = tracer.Scale(std::move(hidden));
  if (model.project_in) hidden = Forward(tracer, *model.project_in, hidden);
  if (model.token_types) {
    Value segments = tracer.Input({1, Axis::kLength}, Dtype::kInt64, "token types");
    hidden = tracer.Add(hidden, tracer.Embedding(segments, model.token_types, {hidden_size, Axis::kTokens}));
  }
  if (model.positions) {
    Value places = tracer.Input({1, Axis::kLength}, Dtype::kInt64, "position ids");
    Value offsets = tracer.Embedding(places, model.positions, {hidden_size, Axis::kLength});
    hidden = tracer.Add(hidden, std::move(offsets));
  }
  if (!model.embedding_norm) return hidden;
  tracer.scope = {model.embedding_norm->path, Term::kNorms, false};
  return Forward(tracer, *model.embedding_norm, hidden, kOnePerToken);
}

/// What a later stage of a pipeline starts from: the hidden states that the one before sends.
Value ReceiveHidden(Tracer& tracer, const Workload& workload) {
  tracer.scope = {"pipeline", Term::kCommunication, false};
  const Size tokens{static_cast<double>(workload.architecture.hidden_size), Axis::kTokens};
  const Dtype dtype = tracer.autocast() ? workload.precision.weights : workload.precision.compute;
  return tracer.RequireGradient(tracer.Input(tokens, dtype, "received hidden states"));
}

}  // namespace

TracedModel MakeModel(Tracer& tracer, const Workload& workload, Unrolling unrolling) {
  const Architecture& architecture = workload.architecture;
  if (workload.compile) tracer.FuseElementwise();
  ModuleFactory factory(tracer, workload);
  TracedModel model;
  model.workload = &workload;
  const PipelineStage& stage = workload.stage;
  if (stage.is_first) MakeEmbeddings(factory, workload, model);
  if (stage.is_first && architecture.vision) MakeVisionTower(tracer, factory, workload);
  for (const LayerRun& run : architecture.runs) model.runs.push_back(Simplified(run));
  if (workload.method.kind == MethodKind::kFreeze) model.runs = CutAtTrained(model.runs, FirstTrainedLayer(workload));
  model.runs = InStepWithCheckpoints(model.runs, workload);
  model.stretches = MakeStretches(tracer, factory, workload, model.runs, unrolling);
  if (!stage.is_last) return model;
  if (architecture.has_final_norm) {
    model.final_norm = factory.MakeNorm(architecture.final_norm, "norm", architecture.hidden_size, {});
  }
  // A tied head that the table is not near has a copy of it.
  if (!stage.is_first && architecture.tied_head) {
    model.table = factory.MakeTable(architecture.vocab_size, TableWidth(architecture), "lm_head", false);
  }
  if (architecture.encoder == EncoderKind::kNone) {
    model.head = factory.MakeHead(model.table);
  } else {
    model.encoder_head = MakeEncoderHead(factory, architecture, model.table);
  }
  return model;
}

Value RunModel(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context, Moment moment) {
  const Workload& workload = *model.workload;
  tracer.BeginSection(moment, -1, 1, 1);
  if (tracer.units() != nullptr) tracer.EnterUnit(0, Value());
  const Value embeddings = workload.stage.is_first ? EmbedTokens(tracer, model, ids) : ReceiveHidden(tracer, workload);
  const Dtype embedded = workload.stage.is_first ? tracer.DtypeOf(model.table) : tracer.DtypeOf(embeddings);
  context = MakeContext(tracer, workload, embedded, tracer.DtypeOf(embeddings));
  tracer.scope = {"drop", Term::kEmbedding, false};
  Value hidden = embeddings;
  if (workload.stage.is_first) hidden = tracer.Dropout(embeddings, workload.architecture.embedding_dropout);
  if (tracer.gradients()) HoldOffloadBlocks(tracer, workload, hidden);
  const CheckpointRule rule = LayerRule(workload);
  for (const Stretch& stretch : model.stretches) {
    const auto period = static_cast<std::int64_t>(stretch.layers.size());
    tracer.BeginSection(moment, stretch.first_layer, period, stretch.repeats);
    for (const LayerModule& layer : stretch.layers) {
      // Compiled layer by layer: in backward its section ends in the gradient of what it begins with here, and in
      // forward in what it ends with. Left to the next layer's section, either would be written out once for all that
      // the section stands for.
      hidden = tracer.Boundary(hidden);
      if (layer.unit >= 0) hidden = tracer.EnterUnit(layer.unit, hidden);
      if (layer.checkpointed) {
        const auto module = [&tracer, &layer, &context](const std::array<Value, 3>& inputs) {
          return Forward(tracer, layer, context, inputs[0]);
        };
        hidden = tracer.Checkpoint(module, {hidden}, rule);
      } else {
        hidden = Forward(tracer, layer, context, hidden);
      }
      if (layer.unit >= 0) hidden = tracer.LeaveUnit(layer.unit, hidden);
      hidden = tracer.Boundary(hidden);
    }
  }
  tracer.BeginSection(moment, -1, 1, 1);
  hidden = tracer.Boundary(hidden);
  if (model.final_norm) {
    tracer.scope = {model.final_norm->path, Term::kNorms, false};
    hidden = Forward(tracer, *model.final_norm, hidden, kOnePerToken);
  }
  if (model.project_out) hidden = Forward(tracer, *model.project_out, hidden);
  if (!ChecksLayers(workload)) {
    context.cosine.Drop();
    context.sine.Drop();
    context.mask.Drop();
    context.bias.Drop();
  }
  return hidden;
}

}  // namespace tunefit
