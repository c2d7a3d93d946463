#include "core/model/parameters.h"

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

template <typename Number>
Number Norm(NormKind kind, std::int64_t width) {
  return static_cast<Number>(kind == NormKind::kLayerNorm ? 2 : 1) * static_cast<Number>(width);
}

template <typename Number>
Number Part(const Attention& attention) {
  auto count = static_cast<Number>(attention.head_norm ? 2 : 0) * static_cast<Number>(attention.head_dim);
  ForEachMatrix(attention, [&count](const LinearShape& matrix) { count += Linear<Number>(matrix); });
  return count;
}

template <typename Number>
Number Part(const Mlp& mlp) {
  Number count = 0;
  ForEachMatrix(mlp, [&count](const LinearShape& matrix) { count += Linear<Number>(matrix); });
  return count;
}

/// Every expert, the router with its correction, what all tokens visit.
template <typename Number>
Number Part(const Experts& experts) {
  const auto experts_count = static_cast<Number>(experts.count);
  Number count = experts_count * Part<Number>(experts.expert) + Linear<Number>(experts.router.matrix);
  if (experts.router.correction_bias) count += experts_count;
  if (experts.has_shared) count += Part<Number>(experts.shared);
  return count + Linear<Number>(experts.shared_gate);
}

std::int64_t NormsOf(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::kPreNorm:
      return 2;
    case Arrangement::kSandwichNorm:
      break;
  }
  return 4;
}

template <typename Number>
struct Counts {
  Number embedding = 0, attention = 0, mlp = 0, norms = 0, head = 0;
};

template <typename Number>
Counts<Number> Count(const Block& block, std::int64_t hidden_size) {
  Counts<Number> counts;
  counts.attention = std::visit([](const auto& part) { return Part<Number>(part); }, block.mixer);
  counts.mlp = std::visit([](const auto& part) { return Part<Number>(part); }, block.feed_forward);
  counts.norms = static_cast<Number>(NormsOf(block.arrangement)) * Norm<Number>(block.norm, hidden_size);
  return counts;
}

template <typename Number>
Counts<Number> Count(const Architecture& architecture) {
  Counts<Number> total;
  for (const LayerRun& run : architecture.runs) {
    const auto repeats = static_cast<Number>(run.repeats);
    for (const Block& block : run.period) {
      const Counts<Number> counts = Count<Number>(block, architecture.hidden_size);
      total.attention += repeats * counts.attention;
      total.mlp += repeats * counts.mlp;
      total.norms += repeats * counts.norms;
    }
  }
  const auto hidden = static_cast<Number>(architecture.hidden_size);
  const Number table = static_cast<Number>(architecture.vocab_size) * hidden;
  total.embedding = table + static_cast<Number>(architecture.position_rows) * hidden;
  total.head = architecture.tied_head ? Number{0} : table;
  total.norms += Norm<Number>(architecture.final_norm, architecture.hidden_size);
  return total;
}

std::int64_t CountUnvisited(const Mlp& /*mlp*/) { return 0; }
std::int64_t CountUnvisited(const Experts& experts) {
  return (experts.count - experts.per_token) * Part<std::int64_t>(experts.expert);
}

}  // namespace

std::int64_t CountLinear(const LinearShape& linear) { return Linear<std::int64_t>(linear); }

std::int64_t CountNorm(NormKind kind, std::int64_t width) { return Norm<std::int64_t>(kind, width); }

ParameterCounts CountBlock(const Block& block, std::int64_t hidden_size) {
  const Counts<std::int64_t> counts = Count<std::int64_t>(block, hidden_size);
  return {.embedding = 0, .attention = counts.attention, .mlp = counts.mlp, .norms = counts.norms, .head = 0};
}

ParameterCounts CountParameters(const Architecture& architecture) {
  const Counts<std::int64_t> counts = Count<std::int64_t>(architecture);
  return {counts.embedding, counts.attention, counts.mlp, counts.norms, counts.head};
}

double ApproximateParameters(const Architecture& architecture) {
  const Counts<double> counts = Count<double>(architecture);
  return counts.embedding + counts.attention + counts.mlp + counts.norms + counts.head;
}

std::int64_t CountActiveParameters(const Architecture& architecture) {
  std::int64_t unvisited = 0;
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      unvisited += run.repeats * std::visit([](const auto& part) { return CountUnvisited(part); }, block.feed_forward);
    }
  }
  return CountParameters(architecture).total() - unvisited;
}

}  // namespace tunefit
