#include "core/model/parameters.h"

#include <variant>

namespace tunefit {

std::int64_t CountLinear(const LinearShape& linear) {
  return linear.in_features * linear.out_features + (linear.bias ? linear.out_features : 0);
}

std::int64_t CountNorm(NormKind kind, std::int64_t width) { return kind == NormKind::kLayerNorm ? 2 * width : width; }

namespace {

std::int64_t CountPart(const Attention& attention) {
  std::int64_t count = attention.head_norm ? 2 * attention.head_dim : 0;
  ForEachMatrix(attention, [&count](const LinearShape& matrix) { count += CountLinear(matrix); });
  return count;
}

std::int64_t CountPart(const Mlp& mlp) {
  std::int64_t count = 0;
  ForEachMatrix(mlp, [&count](const LinearShape& matrix) { count += CountLinear(matrix); });
  return count;
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

}  // namespace

ParameterCounts CountBlock(const Block& block, std::int64_t hidden_size) {
  ParameterCounts counts;
  counts.attention = std::visit([](const auto& part) { return CountPart(part); }, block.mixer);
  counts.mlp = std::visit([](const auto& part) { return CountPart(part); }, block.feed_forward);
  counts.norms = NormsOf(block.arrangement) * CountNorm(block.norm, hidden_size);
  return counts;
}

ParameterCounts CountParameters(const Architecture& architecture) {
  ParameterCounts total;
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      const ParameterCounts counts = CountBlock(block, architecture.hidden_size);
      total.attention += run.repeats * counts.attention;
      total.mlp += run.repeats * counts.mlp;
      total.norms += run.repeats * counts.norms;
    }
  }
  const std::int64_t table = architecture.vocab_size * architecture.hidden_size;
  total.embedding = table + architecture.position_rows * architecture.hidden_size;
  total.head = architecture.tied_head ? 0 : table;
  total.norms += CountNorm(architecture.final_norm, architecture.hidden_size);
  return total;
}

}  // namespace tunefit
