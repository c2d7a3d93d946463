#include "core/model/parameters.h"

#include <algorithm>
#include <optional>
#include <variant>

namespace tunefit {
namespace {

// Counting is written once for whole numbers and for floating point, which cannot overflow: sizes that somebody typed
// are checked by the second before anybody counts with the first.

template <typename Number>
Number Linear(const LinearShape& linear) {
  const auto out = static_cast<Number>(linear.out_features);
  return static_cast<Number>(linear.in_features) * out + (linear.bias ? out : Number{0});
}

/// Vectors of its width that a norm trains.
std::int64_t VectorsOf(NormKind kind) {
  switch (kind) {
    case NormKind::kLayerNorm:
    case NormKind::kLayerNormUnitGain:
      return 2;
    case NormKind::kLayerNormBare:
    case NormKind::kRmsNormBare:
    case NormKind::kRmsNormPowerBare:
      return 0;
    case NormKind::kRmsNorm:
    case NormKind::kRmsNormUnitGain:
    case NormKind::kRmsNormFp32Gain:
    case NormKind::kRmsNormPromoted:
    case NormKind::kRmsNormPower:
    case NormKind::kLayerNormNoBias:
    case NormKind::kLayerNormWritten:
      break;
  }
  return 1;
}

template <typename Number>
Number Norm(NormKind kind, std::int64_t width) {
  return static_cast<Number>(VectorsOf(kind)) * static_cast<Number>(width);
}

template <typename Number>
Number QkNorms(const Attention& attention) {
  const Number head = Norm<Number>(attention.qk_norm_kind, attention.head_dim);
  switch (attention.qk_norm) {
    case QkNorm::kNone:
      return 0;
    case QkNorm::kHead:
      return (attention.keys == KeySource::kBorrowed ? 1 : 2) * head;
    case QkNorm::kWhole:
    case QkNorm::kEveryHead:
      break;
  }
  return static_cast<Number>(attention.heads + attention.kv_heads) * head;
}

template <typename Number>
Number Part(const NoPart& /*none*/) {
  return 0;
}

template <typename Number>
Number Part(const Attention& attention) {
  Number count = QkNorms<Number>(attention) + static_cast<Number>(attention.sinks ? attention.heads : 0);
  count += static_cast<Number>(attention.relative_buckets) * static_cast<Number>(attention.heads);
  ForEachMatrix(attention, [&count](const LinearShape& matrix) { count += Linear<Number>(matrix); });
  return count;
}

template <typename Number, typename Mixer>
Number Matrices(const Mixer& mixer) {
  Number count = 0;
  ForEachMatrix(mixer, [&count](const LinearShape& matrix) { count += Linear<Number>(matrix); });
  return count;
}

template <typename Number>
Number Convolution(const DepthwiseConvolution& convolution) {
  return static_cast<Number>(convolution.channels) * static_cast<Number>(convolution.taps + (convolution.bias ? 1 : 0));
}

/// Matrices, the norms of the latent vectors, and the indexer's LayerNorm of its keys.
template <typename Number>
Number Part(const LatentAttention& attention) {
  return Matrices<Number>(attention) + static_cast<Number>(attention.query_rank + attention.kv_rank) +
         static_cast<Number>(attention.indexer.heads > 0 ? 2 * attention.indexer.head_dim : 0);
}

/// Matrices, convolution, A for each channel and state, D, and the three norms of step, input and output.
template <typename Number>
Number Part(const Mamba1& mamba) {
  return Matrices<Number>(mamba) + Convolution<Number>(mamba.convolution) +
         static_cast<Number>(mamba.inner) * static_cast<Number>(mamba.state + 1) +
         static_cast<Number>(mamba.step_rank + 2 * mamba.state);
}

/// Matrices, convolution, A, D and the step's bias for each head, and the gated norm.
template <typename Number>
Number Part(const Mamba2& mamba) {
  return Matrices<Number>(mamba) + Convolution<Number>(mamba.convolution) +
         static_cast<Number>(3 * mamba.heads + mamba.inner());
}

/// Matrices, convolution, A and the step's bias for each value head, and the norm of a value head.
template <typename Number>
Number Part(const GatedDelta& delta) {
  return Matrices<Number>(delta) + Convolution<Number>(delta.convolution) +
         static_cast<Number>(2 * delta.value_heads + delta.value_dim);
}

template <typename Number>
Number Part(const LightningAttention& attention) {
  return Matrices<Number>(attention) + static_cast<Number>(attention.heads * attention.head_dim);
}

template <typename Number>
Number Part(const ShortConvolution& mixer) {
  return Matrices<Number>(mixer) + Convolution<Number>(mixer.convolution);
}

template <typename Number>
Number Part(const Mlp& mlp) {
  Number count = mlp.activation == Activation::kXielu ? 2 : 0;
  ForEachMatrix(mlp, [&count](const LinearShape& matrix) { count += Linear<Number>(matrix); });
  return count;
}

/// Every expert, the router with its correction, what all tokens visit.
template <typename Number>
Number Part(const Experts& experts) {
  const auto experts_count = static_cast<Number>(experts.count);
  Number count = experts_count * Part<Number>(experts.expert) + Linear<Number>(experts.router.matrix);
  if (experts.router.corrects() && experts.router.counts_correction) count += experts_count;
  if (experts.has_shared) count += Part<Number>(experts.shared);
  return count + Linear<Number>(experts.shared_gate);
}

/// Norms of the hidden size in a layer: as many for each part that the layer has, one for both in a parallel one.
std::int64_t NormsOf(const Block& block) {
  const std::int64_t parts = (std::holds_alternative<NoPart>(block.mixer) ? 0 : 1) + (block.cross ? 1 : 0) +
                             (std::holds_alternative<NoPart>(block.feed_forward) ? 0 : 1);
  switch (block.arrangement) {
    case Arrangement::kSandwichNorm:
      return 2 * parts;
    case Arrangement::kParallel:
      return 1;
    case Arrangement::kPreNorm:
      return parts - (block.lacks_first_norm ? 1 : 0);
    case Arrangement::kNormAfter:
    case Arrangement::kPostNorm:
    case Arrangement::kNormedResidual:
    case Arrangement::kParallelTwoNorms:
      break;
  }
  return parts;
}

/// Seven matrices and the scale of the corrected stream.
template <typename Number>
Number Part(const StreamLayer& layer, std::int64_t hidden_size) {
  return Matrices<Number>(layer) + static_cast<Number>(hidden_size);
}

/// Norms beside those of its arrangement: of what the router reads, of the low-rank path, of the layer's embedding.
constexpr std::int64_t kStreamNorms = 3;

template <typename Number>
struct Counts {
  Number embedding = 0, attention = 0, mlp = 0, norms = 0, head = 0, vision = 0;
};

template <typename Number>
Counts<Number> Count(const Block& block, std::int64_t hidden_size) {
  Counts<Number> counts;
  counts.attention = std::visit([](const auto& part) { return Part<Number>(part); }, block.mixer);
  if (block.cross) counts.attention += Part<Number>(*block.cross);
  counts.mlp = std::visit([](const auto& part) { return Part<Number>(part); }, block.feed_forward);
  counts.norms = static_cast<Number>(NormsOf(block)) * Norm<Number>(block.norm, hidden_size);
  if (!block.streams) return counts;
  counts.mlp += Part<Number>(*block.streams, hidden_size);
  counts.norms += static_cast<Number>(kStreamNorms) * Norm<Number>(block.norm, hidden_size);
  return counts;
}

/// Patches, positions and a class token, norms, blocks, and the projectors to the language model.
template <typename Number>
Number Tower(const VisionTower& tower) {
  const auto norm = [](const std::optional<NormKind>& kind, std::int64_t width) {
    return kind ? Norm<Number>(*kind, width) : Number{0};
  };
  const Counts<Number> block = Count<Number>(tower.block, tower.hidden_size);
  const auto states = static_cast<Number>(tower.position_rows) + static_cast<Number>(tower.class_token ? 1 : 0);
  Number count = Linear<Number>(tower.patches) + states * static_cast<Number>(tower.hidden_size) +
                 norm(tower.norm_before, tower.hidden_size) + norm(tower.norm_after, tower.hidden_size) +
                 static_cast<Number>(tower.layers) * (block.attention + block.mlp + block.norms);
  for (const ImageLayers& layers : tower.more_layers) {
    const Counts<Number> one = Count<Number>(layers.block, layers.hidden_size);
    count +=
        static_cast<Number>(layers.count) * (one.attention + one.mlp + one.norms + static_cast<Number>(layers.gates));
  }
  for (const TowerTable& table : tower.tables) {
    count +=
        static_cast<Number>(table.rows) * static_cast<Number>(table.states) * static_cast<Number>(tower.hidden_size);
  }
  count += static_cast<Number>(tower.gates);
  for (const VisionProjector& projector : tower.projectors) {
    Number one = norm(projector.norm, projector.norm_width);
    for (const LinearShape& matrix : projector.matrices) one += Linear<Number>(matrix);
    count += static_cast<Number>(projector.count) * one;
  }
  for (const TowerPart& part : tower.parts) {
    Number one = static_cast<Number>(part.others);
    for (const LinearShape& matrix : part.matrices) one += Linear<Number>(matrix);
    count += static_cast<Number>(part.count) * one;
  }
  for (const TokenEmbedder& embedder : tower.embedders) {
    count += static_cast<Number>(embedder.rows + 2) * static_cast<Number>(embedder.width) +
             Linear<Number>(embedder.projection);
  }
  return count;
}

/// What stands on the layers: the output over the vocabulary, or a task's labels. An encoder's count is that of its
/// base model with its pooler; a masked language model's head is not part of it, a classifier's is.
template <typename Number>
Number Head(const Architecture& architecture, Number table, Number width) {
  const auto labels = static_cast<Number>(architecture.labels);
  const auto rows = static_cast<Number>(architecture.vocab_size);
  const Number dense = width * width + width;
  switch (architecture.encoder) {
    case EncoderKind::kNone:
      if (architecture.labels > 0) return labels * width;
      return (architecture.tied_head ? Number{0} : table) + (architecture.head_bias ? rows : Number{0});
    case EncoderKind::kBert:
    case EncoderKind::kRoberta:
      return dense + labels * (width + 1);
    case EncoderKind::kDistilBert:
    case EncoderKind::kDeberta:
      return architecture.labels > 0 ? dense + labels * (width + 1) : Number{0};
    case EncoderKind::kModernBert:
      break;
  }
  return architecture.labels > 0 ? width * width + width + labels * (width + 1) : Number{0};
}

/// A table with an embedding for each layer, a matrix that adds to it, a norm of its width, and matrices to and from
/// each stream but the first.
template <typename Number>
Number Part(const Streams& streams, NormKind norm) {
  return static_cast<Number>(streams.rows) * static_cast<Number>(streams.inputs.out_features) +
         Linear<Number>(streams.inputs) + Norm<Number>(norm, streams.width) +
         static_cast<Number>(streams.count - 1) * (Linear<Number>(streams.entry) + Linear<Number>(streams.exit));
}

template <typename Number>
Counts<Number> Count(const Architecture& architecture) {
  Counts<Number> total;
  ForEachBlock(architecture, [&](const Block& block, std::int64_t repeats) {
    const Counts<Number> counts = Count<Number>(block, architecture.hidden_size);
    total.attention += static_cast<Number>(repeats) * counts.attention;
    total.mlp += static_cast<Number>(repeats) * counts.mlp;
    total.norms += static_cast<Number>(repeats) * counts.norms;
  });
  const auto hidden = static_cast<Number>(architecture.hidden_size);
  const auto width =
      static_cast<Number>(architecture.embedding_width > 0 ? architecture.embedding_width : architecture.hidden_size);
  const auto rows = static_cast<Number>(architecture.vocab_size);
  total.embedding = (rows + static_cast<Number>(architecture.rows_without_output)) * width +
                    static_cast<Number>(architecture.position_rows) * hidden;
  if (architecture.embedding_width > 0) total.embedding += 2 * width * hidden;  // projected in and out
  total.embedding += static_cast<Number>(architecture.token_types + architecture.distance_rows) * hidden;
  if (architecture.hears()) {  // two convolutions over three frames each, and the positions after them
    const auto bins = static_cast<Number>(architecture.mel_bins);
    total.embedding += hidden * (3 * bins + 1 + 3 * hidden + 1 + static_cast<Number>(architecture.source_positions));
  }
  if (architecture.streams) total.embedding += Part<Number>(*architecture.streams, architecture.final_norm);
  total.head = Head<Number>(architecture, rows * width, width);
  const Number norm = Norm<Number>(architecture.final_norm, architecture.hidden_size);
  total.norms += (architecture.embedding_norm ? norm : Number{0}) + (architecture.has_final_norm ? norm : Number{0});
  if (architecture.vision) total.vision = Tower<Number>(*architecture.vision);
  if (architecture.encodes_source() || architecture.norms_distances) total.norms += norm;
  return total;
}

std::int64_t CountUnvisited(const NoPart& /*none*/) { return 0; }
std::int64_t CountUnvisited(const Mlp& /*mlp*/) { return 0; }
std::int64_t CountUnvisited(const Experts& experts) {
  return (experts.count - experts.per_token) * Part<std::int64_t>(experts.expert);
}

}  // namespace

std::int64_t CountLinear(const LinearShape& linear) { return Linear<std::int64_t>(linear); }

std::int64_t CountNorm(NormKind kind, std::int64_t width) { return Norm<std::int64_t>(kind, width); }

ParameterCounts CountBlock(const Block& block, std::int64_t hidden_size) {
  const Counts<std::int64_t> counts = Count<std::int64_t>(block, hidden_size);
  return {.attention = counts.attention, .mlp = counts.mlp, .norms = counts.norms};
}

ParameterCounts CountParameters(const Architecture& architecture) {
  const Counts<std::int64_t> counts = Count<std::int64_t>(architecture);
  return {counts.embedding, counts.attention, counts.mlp, counts.norms, counts.head, counts.vision};
}

ParameterCounts CountLastLayers(const Architecture& architecture, std::int64_t layers) {
  ParameterCounts counts;
  for (auto run = architecture.runs.rbegin(); run != architecture.runs.rend(); ++run) {
    const auto period = static_cast<std::int64_t>(run->period.size());
    const std::int64_t here = std::min(std::max<std::int64_t>(layers, 0), period * run->repeats);
    layers -= here;
    for (std::int64_t i = 0; i < period; ++i) {
      // The i-th layer of a period counted from its end.
      const std::int64_t times = here / period + (i < here % period ? 1 : 0);
      const ParameterCounts block =
          CountBlock(run->period[static_cast<std::size_t>(period - 1 - i)], architecture.hidden_size);
      counts.attention += times * block.attention;
      counts.mlp += times * block.mlp;
      counts.norms += times * block.norms;
    }
  }
  return counts;
}

double ApproximateParameters(const Architecture& architecture) {
  const Counts<double> counts = Count<double>(architecture);
  return counts.embedding + counts.attention + counts.mlp + counts.norms + counts.head + counts.vision;
}

double ServedBytes(const Architecture& architecture) {
  return 2 * static_cast<double>(CountParameters(architecture).total());
}

std::int64_t CountActiveParameters(const Architecture& architecture) {
  std::int64_t unvisited = 0;
  ForEachBlock(architecture, [&unvisited](const Block& block, std::int64_t repeats) {
    unvisited += repeats * std::visit([](const auto& part) { return CountUnvisited(part); }, block.feed_forward);
  });
  const ParameterCounts counts = CountParameters(architecture);
  return counts.total() - counts.vision - unvisited;
}

}  // namespace tunefit
