#include "core/trace/model_inputs.h"

#include <utility>
#include <variant>

#include "core/trace/adapters.h"
#include "core/trace/checkpointing.h"

namespace tunefit {
namespace {

constexpr Size kOnePerToken{1, Axis::kTokens};

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

/// DebertaV2Encoder's get_attention_mask, in the dtype of the padding mask, and get_rel_pos with its logarithmic
/// buckets (build_relative_position).
void MakeDistances(Tracer& tracer, LayerContext& context) {
  constexpr Size kPairs{1, Axis::kPairs};
  tracer.scope = {"encoder", Term::kBuffers, false};
  context.mask = tracer.Empty({1, Axis::kScores}, Dtype::kInt64, "mask");
  const Value distances = tracer.Empty(kPairs, Dtype::kInt64, "relative positions");
  const Value sign = tracer.Empty(kPairs, Dtype::kInt64, "signs");
  const Value absolute = tracer.Empty(kPairs, Dtype::kInt64, "absolute positions");
  const Value logarithmic = tracer.Empty(kPairs, Dtype::kFp32, "logarithmic positions");
  const Value buckets = tracer.Empty(kPairs, Dtype::kFp32, "buckets");
  context.distances = tracer.Empty(kPairs, Dtype::kInt64, "relative positions");
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

}  // namespace

std::int64_t TableWidth(const Architecture& architecture) {
  return architecture.embedding_width > 0 ? architecture.embedding_width : architecture.hidden_size;
}

LayerContext MakeContext(Tracer& tracer, const Workload& workload, Dtype embedded, Dtype hidden) {
  LayerContext context;
  context.workload = &workload;
  context.dtype = hidden;
  context.kernel = workload.architecture.eager_only ? AttentionKernel::kEager : workload.attention;
  MakeRotaryTables(tracer, context, RotaryWidth(workload.architecture));
  if (workload.architecture.distance_rows > 0) {
    MakeDistances(tracer, context);
  } else {
    MakeMasks(tracer, context, workload, embedded);
  }
  for (const Value* shared : {&context.cosine, &context.sine, &context.mask, &context.bias}) {
    tracer.ShareAmongLayers(*shared);
  }
  return context;
}

void MakeEmbeddings(ModuleFactory& factory, const Workload& workload, TracedModel& model) {
  const Architecture& architecture = workload.architecture;
  const Method& method = workload.method;
  const std::int64_t hidden = architecture.hidden_size;
  const std::int64_t width = TableWidth(architecture);
  const bool saved = AdaptsModules(method.kind) && method.saves_embedding;
  const std::int64_t rows = architecture.vocab_size + architecture.rows_without_output;
  model.table = factory.MakeTable(rows, width, "embed_tokens", saved);
  if (method.adapts_embedding) model.table_adapter = factory.MakeTableAdapter(width);
  if (method.virtual_tokens > 0) model.prompt = factory.MakePrompt(width);
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
  if (architecture.distance_rows == 0) return;
  model.distances = factory.MakeTable(architecture.distance_rows, hidden, "rel_embeddings", false);
  if (!architecture.norms_distances) return;
  model.distance_norm = factory.MakeNorm(architecture.final_norm, "encoder.LayerNorm", hidden, {});
}

Axis TokensOfData(const Workload& workload) {
  return workload.method.virtual_tokens > 0 ? Axis::kDataTokens : Axis::kTokens;
}

Value ReadTable(Tracer& tracer, const TracedModel& model, const Value& ids) {
  const Workload& workload = *model.workload;
  const auto width = static_cast<double>(TableWidth(workload.architecture));
  tracer.scope = {"embed_tokens", Term::kEmbedding, false};
  Value hidden = tracer.Embedding(ids, model.table, {width, TokensOfData(workload)});
  if (model.table_adapter && !tracer.adapters_disabled) {
    hidden = AdaptedRows(tracer, *model.table_adapter, ids, std::move(hidden), width);
  }
  // A table that scales its rows itself returns them so (Gemma3nTextScaledWordEmbedding).
  if (workload.architecture.streams) hidden = tracer.Scale(std::move(hidden));
  // PEFT lets the embeddings' output require a gradient, so that checkpointed layers have something to differentiate.
  if (AddsToFrozenModel(workload.method.kind) && ChecksLayers(workload) && tracer.gradients() &&
      workload.habits.model.embeddings_require_gradient && !tracer.RequiresGradient(hidden)) {
    hidden = tracer.RequireGradient(std::move(hidden), true);
    tracer.Hold(hidden);
  }
  return hidden;
}

/// peft peft_model.py, PeftModelForCausalLM.forward and get_prompt: one sequence's rows are read, repeated for the
/// batch, cast to the table's dtype, and joined with the data's.
PromptedRows PutPromptsBefore(Tracer& tracer, const TracedModel& model, Value rows) {
  const double width = static_cast<double>(TableWidth(model.workload->architecture));
  const double prompt = static_cast<double>(model.workload->method.virtual_tokens);
  tracer.scope = {"prompt_encoder.embedding", Term::kEmbedding, false};
  PromptedRows prompted;
  {
    const Value ids = tracer.Input({prompt, Axis::kSequences}, Dtype::kInt64, "virtual tokens");
    const Value read = tracer.Embedding(ids, model.prompt, {prompt * width, Axis::kOnce});
    prompted.prompts = tracer.Copy(tracer.Stretch(read, {prompt * width, Axis::kSequences}), "prompts");
  }
  prompted.prompts = tracer.Cast(std::move(prompted.prompts), tracer.DtypeOf(rows));
  prompted.rows = tracer.Cat(prompted.prompts, std::move(rows), {width, Axis::kTokens});
  return prompted;
}

Value LabelsOfAll(Tracer& tracer, const Workload& workload, const Value& labels) {
  if (workload.method.virtual_tokens == 0) return labels;
  return tracer.Empty(kOnePerToken, Dtype::kInt64, "labels of all tokens");
}

Value EmbedTokens(Tracer& tracer, const TracedModel& model, Value rows) {
  const Architecture& architecture = model.workload->architecture;
  const auto hidden_size = static_cast<double>(architecture.hidden_size);
  tracer.scope = {"embed_tokens", Term::kEmbedding, false};
  Value hidden = std::move(rows);
  if (architecture.scales_embedding && !architecture.streams) hidden = tracer.Scale(std::move(hidden));
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
  hidden = Forward(tracer, *model.embedding_norm, hidden, kOnePerToken);
  if (!architecture.masks_embeddings) return hidden;
  const Value mask = tracer.Input(kOnePerToken, tracer.DtypeOf(hidden), "padding mask");
  return tracer.Mul(std::move(hidden), mask);
}

Value DistanceTable(Tracer& tracer, const TracedModel& model) {
  if (!model.distance_norm) return model.distances;
  tracer.scope = {model.distance_norm->path, Term::kNorms, false};
  const Size rows{static_cast<double>(model.workload->architecture.distance_rows), Axis::kOnce};
  return Forward(tracer, *model.distance_norm, model.distances, rows);
}

}  // namespace tunefit
