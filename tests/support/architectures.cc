#include "tests/support/architectures.h"

namespace tunefit::test {

Architecture MakeLlama(const LlamaSizes& sizes) {
  Block block;
  block.attention.heads = sizes.heads;
  block.attention.kv_heads = sizes.kv_heads;
  block.attention.head_dim = sizes.head_dim;
  block.attention.query = {"q_proj", sizes.hidden, sizes.heads * sizes.head_dim, false};
  block.attention.key = {"k_proj", sizes.hidden, sizes.kv_heads * sizes.head_dim, false};
  block.attention.value = {"v_proj", sizes.hidden, sizes.kv_heads * sizes.head_dim, false};
  block.attention.output = {"o_proj", sizes.heads * sizes.head_dim, sizes.hidden, false};
  block.mlp.gate = {"gate_proj", sizes.hidden, sizes.intermediate, false};
  block.mlp.up = {"up_proj", sizes.hidden, sizes.intermediate, false};
  block.mlp.down = {"down_proj", sizes.intermediate, sizes.hidden, false};
  Architecture architecture;
  architecture.model_type = "llama";
  architecture.hidden_size = sizes.hidden;
  architecture.vocab_size = sizes.vocabulary;
  architecture.tied_head = sizes.tied;
  architecture.runs.push_back({{block}, sizes.layers});
  return architecture;
}

Workload MakeWorkload(const LlamaSizes& sizes) {
  Workload workload;
  workload.architecture = MakeLlama(sizes);
  workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
  workload.batch.packing = Packing::kPacked;
  workload.attention = AttentionKernel::kFlash;
  return workload;
}

}  // namespace tunefit::test
