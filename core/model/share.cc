#include "core/model/share.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace tunefit {
namespace {

std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

void CutColumns(LinearShape& matrix, std::int64_t ranks) { matrix.out_features /= ranks; }
void CutRows(LinearShape& matrix, std::int64_t ranks) { matrix.in_features /= ranks; }

void Cut(Attention& attention, std::int64_t ranks) {
  const std::int64_t kv_heads = attention.kv_heads / ranks;
  attention.heads /= ranks;
  if (HasParts(attention.layout)) {
    attention.query.out_features /= ranks;
    attention.key.out_features = kv_heads * attention.head_dim;
    attention.value.out_features = kv_heads * attention.head_dim;
  } else {
    attention.query.out_features = (attention.heads + 2 * kv_heads) * attention.head_dim;
  }
  attention.kv_heads = kv_heads;
  CutRows(attention.output, ranks);
}

/// Heads are shared; the latent vectors and the matrices to them are whole (Megatron's multi_latent_attention.py).
void Cut(LatentAttention& attention, std::int64_t ranks) {
  attention.scores.heads /= ranks;
  attention.scores.kv_heads = attention.scores.heads;
  CutColumns(attention.query_rank > 0 ? attention.query_up : attention.query, ranks);
  CutColumns(attention.kv_up, ranks);
  CutRows(attention.output, ranks);
}

/// Channels are shared (Megatron's mamba_mixer.py).
void Cut(Mamba1& mamba, std::int64_t ranks) {
  mamba.inner /= ranks;
  mamba.convolution.channels /= ranks;
  CutColumns(mamba.in, ranks);
  CutRows(mamba.parameters, ranks);
  CutColumns(mamba.step, ranks);
  CutRows(mamba.out, ranks);
}

/// Heads and groups are shared (Megatron's mamba_mixer.py).
void Cut(Mamba2& mamba, std::int64_t ranks) {
  mamba.heads /= ranks;
  mamba.groups /= ranks;
  const std::int64_t states = 2 * mamba.groups * mamba.state;
  mamba.convolution.channels = mamba.inner() + states;
  mamba.in.out_features = 2 * mamba.inner() + states + mamba.heads;
  CutRows(mamba.out, ranks);
}

/// Heads are shared.
void Cut(GatedDelta& delta, std::int64_t ranks) {
  delta.key_heads /= ranks;
  delta.value_heads /= ranks;
  delta.convolution.channels /= ranks;
  for (LinearShape* matrix : {&delta.qkvz, &delta.gates, &delta.qkv, &delta.z, &delta.beta, &delta.decay}) {
    CutColumns(*matrix, ranks);
  }
  CutRows(delta.out, ranks);
}

void Cut(LightningAttention& attention, std::int64_t ranks) {
  attention.heads /= ranks;
  CutColumns(attention.qkv, ranks);
  CutColumns(attention.gate, ranks);
  CutRows(attention.out, ranks);
}

void Cut(ShortConvolution& mixer, std::int64_t ranks) {
  mixer.convolution.channels /= ranks;
  CutColumns(mixer.in, ranks);
  CutRows(mixer.out, ranks);
}

void Cut(Mlp& mlp, std::int64_t ranks) {
  CutColumns(mlp.gate, ranks);
  CutColumns(mlp.up, ranks);
  CutRows(mlp.down, ranks);
}

void Cut(Experts& experts, std::int64_t ranks) {
  if (experts.has_shared) Cut(experts.shared, ranks);
}

void Cut(NoPart& /*none*/, std::int64_t /*ranks*/) {}

/// Where a piece of the model begins, and where it ends: the first pieces have one layer more where they do not divide.
std::int64_t FirstLayerOf(const Workload& workload, std::int64_t piece) {
  const std::int64_t pieces = workload.parallel.pipeline * workload.parallel.interleave;
  const std::int64_t layers = workload.architecture.layers();
  return piece * (layers / pieces) + std::min(piece, layers % pieces);
}

/// The layers of a pipeline stage, in their order. With interleaving it holds every `pipeline`-th piece of the model.
std::vector<LayerRun> LayersOfStage(const Workload& workload, std::int64_t stage) {
  const std::int64_t stages = workload.parallel.pipeline;
  const std::int64_t pieces = stages * workload.parallel.interleave;
  std::vector<LayerRun> held;
  for (std::int64_t piece = stage; piece < pieces; piece += stages) {
    const std::int64_t first = FirstLayerOf(workload, piece);
    for (LayerRun& run : TakeLayers(workload.architecture.runs, first, FirstLayerOf(workload, piece + 1) - first)) {
      run.piece = piece / stages;
      held.push_back(std::move(run));
    }
  }
  return held;
}

/// 1F1B: a stage runs ahead of its first backward pass by as many micro-batches as there are stages after it. With
/// interleaving it counts passes through a piece: twice as many as stages after it, and a round of the stages for each
/// further piece; each piece gets a round of micro-batches in turn (Megatron-LM, schedules.py:
/// get_pp_rank_microbatches, get_schedule_table).
std::vector<std::int64_t> InFlight(const Workload& workload, std::int64_t stage) {
  const std::int64_t stages = workload.parallel.pipeline;
  const std::int64_t pieces = workload.parallel.interleave;
  const std::int64_t after = stages - stage - 1;
  const std::int64_t ahead = pieces > 1 ? 2 * after + (pieces - 1) * stages : after;
  const std::int64_t most = workload.batch.gradient_accumulation * pieces;
  std::vector<std::int64_t> in_flight(static_cast<std::size_t>(pieces), 0);
  const std::int64_t passes = std::min(ahead + 1, most);
  const std::int64_t round = std::min(stages, workload.batch.gradient_accumulation);
  for (std::int64_t pass = 0; pass < passes; ++pass) ++in_flight[static_cast<std::size_t>(pass / round % pieces)];
  return in_flight;
}

/// A rank's experts are one grouped product whatever the model's class does (Megatron-LM's TEGroupedMLP, torchtitan's
/// GroupedExperts).
Architecture ShareOfExperts(Architecture share, std::int64_t ranks) {
  if (ranks <= 1) return share;
  ForEachExperts(share, [ranks](Experts& experts) {
    experts.ranks = ranks;
    experts.form = ExpertForm::kByVersion;
  });
  return share;
}

}  // namespace

Architecture ShareOfTensors(const Architecture& architecture, std::int64_t ranks, std::int64_t expert_ranks,
                            std::int64_t vocabulary_multiple) {
  Architecture share = architecture;
  share.vocab_size = RoundUp(architecture.vocab_size, ranks * vocabulary_multiple) / ranks;
  if (ranks <= 1) return share;
  for (LayerRun& run : share.runs) {
    for (Block& block : run.period) {
      std::visit([ranks](auto& part) { Cut(part, ranks); }, block.mixer);
      std::visit([ranks](auto& part) { Cut(part, ranks); }, block.feed_forward);
    }
  }
  ForEachExperts(share, [expert_ranks](Experts& experts) { Cut(experts.expert, expert_ranks); });
  return share;
}

Workload StageOf(const Workload& workload, std::int64_t stage) {
  Workload share = workload;
  const std::int64_t stages = workload.parallel.pipeline;
  if (stages <= 1) return share;
  share.architecture.runs = LayersOfStage(workload, stage);
  share.stage.first_layer = FirstLayerOf(workload, stage);
  share.stage.is_first = stage == 0;
  share.stage.is_last = stage == stages - 1;
  share.stage.in_flight = InFlight(workload, stage);
  return share;
}

std::vector<std::int64_t> StagesToCompare(const Workload& workload) {
  std::vector<std::int64_t> stages = {0};
  std::vector<std::vector<LayerRun>> seen;  // of later stages: what those receive may ask for gradients
  const std::int64_t last = workload.parallel.pipeline - 1;
  for (std::int64_t stage = 1; stage <= last; ++stage) {
    std::vector<LayerRun> layers = LayersOfStage(workload, stage);
    const bool is_new = std::find(seen.begin(), seen.end(), layers) == seen.end();
    const bool holds_less = workload.parallel.interleave == 1;  // in flight, than an earlier one of the same layers
    if (!is_new && holds_less && stage < last) continue;
    stages.push_back(stage);
    seen.push_back(std::move(layers));
  }
  return stages;
}

Workload RankOf(const Workload& workload, std::int64_t stage) {
  Workload share = StageOf(workload, stage);
  const Parallel& parallel = workload.parallel;
  share.architecture =
      ShareOfTensors(share.architecture, parallel.tensor, parallel.ExpertTensor(), workload.habits.vocabulary_multiple);
  share.architecture = ShareOfExperts(std::move(share.architecture), parallel.expert);
  return share;
}

}  // namespace tunefit
