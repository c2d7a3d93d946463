#include "core/model/parameters.h"

namespace tunefit {

std::int64_t CountLinear(const LinearShape& linear) {
  return linear.in_features * linear.out_features + (linear.bias ? linear.out_features : 0);
}

std::int64_t CountNorm(NormKind kind, std::int64_t width) { return kind == NormKind::kLayerNorm ? 2 * width : width; }

ParameterCounts CountBlock(const Block& block, std::int64_t hidden_size) {
  const Attention& attention = block.attention;
  ParameterCounts counts;
  counts.attention = CountLinear(attention.query) + CountLinear(attention.key) + CountLinear(attention.value) +
                     CountLinear(attention.output);
  if (attention.head_norm) counts.attention += 2 * attention.head_dim;
  counts.mlp = CountLinear(block.mlp.up) + CountLinear(block.mlp.down);
  if (block.mlp.gated) counts.mlp += CountLinear(block.mlp.gate);
  counts.norms = (block.norms_after ? 4 : 2) * CountNorm(block.norm, hidden_size);
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
