#include "core/model/share.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace tunefit {
namespace {

void CutColumns(LinearShape& matrix, std::int64_t ranks) { matrix.out_features /= ranks; }
void CutRows(LinearShape& matrix, std::int64_t ranks) { matrix.in_features /= ranks; }

void Cut(Attention& attention, std::int64_t ranks) {
  const std::int64_t kv_heads = std::max<std::int64_t>(1, attention.kv_heads / ranks);
  attention.heads /= ranks;
  if (attention.layout == QkvLayout::kSeparate) {
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
  mamba.groups = std::max<std::int64_t>(1, mamba.groups / ranks);
  const std::int64_t states = 2 * mamba.groups * mamba.state;
  mamba.convolution.channels = mamba.inner() + states;
  mamba.in.out_features = 2 * mamba.inner() + states + mamba.heads;
  CutRows(mamba.out, ranks);
}

/// Heads are shared.
void Cut(GatedDelta& delta, std::int64_t ranks) {
  delta.key_heads = std::max<std::int64_t>(1, delta.key_heads / ranks);
  delta.value_heads = std::max<std::int64_t>(1, delta.value_heads / ranks);
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
  Cut(experts.expert, ranks);
  if (experts.has_shared) Cut(experts.shared, ranks);
}

void Cut(NoPart& /*none*/, std::int64_t /*ranks*/) {}

}  // namespace

Architecture ShareOfTensors(const Architecture& architecture, std::int64_t ranks) {
  Architecture share = architecture;
  if (ranks <= 1) return share;
  share.vocab_size = (architecture.vocab_size + ranks - 1) / ranks;
  for (LayerRun& run : share.runs) {
    for (Block& block : run.period) {
      std::visit([ranks](auto& part) { Cut(part, ranks); }, block.mixer);
      std::visit([ranks](auto& part) { Cut(part, ranks); }, block.feed_forward);
    }
  }
  return share;
}

Workload StageOf(const Workload& workload, std::int64_t stage) {
  Workload share = workload;
  const std::int64_t stages = workload.parallel.pipeline;
  if (stages <= 1) return share;
  const std::int64_t layers = workload.architecture.layers();
  const std::int64_t least = layers / stages;
  const std::int64_t larger = layers % stages;  // so many stages have one layer more
  const std::int64_t first = stage * least + std::min(stage, larger);
  share.architecture.runs = TakeLayers(workload.architecture.runs, first, least + (stage < larger ? 1 : 0));
  share.stage.first_layer = first;
  share.stage.is_first = stage == 0;
  share.stage.is_last = stage == stages - 1;
  // 1F1B: a stage runs ahead of its first backward pass by as many micro-batches as there are stages after it.
  share.stage.in_flight = std::min(stages - stage, workload.batch.gradient_accumulation);
  return share;
}

Workload RankOf(const Workload& workload, std::int64_t stage) {
  Workload share = StageOf(workload, stage);
  share.architecture = ShareOfTensors(share.architecture, workload.parallel.tensor);
  return share;
}

}  // namespace tunefit
