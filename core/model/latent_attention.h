#pragma once

#include <cstdint>

#include "core/model/attention.h"
#include "core/model/linear.h"

namespace tunefit {

/// DeepSeek's sparse attention: a small scorer that picks the keys each query sees. The library runs it without
/// gradients, so its matrices are not trained.
struct Indexer {
  std::int64_t heads = 0;  ///< 0: the model has none
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;  ///< keys a query sees
  LinearShape query, key, weights;

  bool operator==(const Indexer&) const = default;
};

/// Multi-head latent attention (DeepSeek V2 and later, Kimi K2, GLM-5): queries, keys and values pass through narrow
/// latent vectors, and positions turn a part of each head only.
struct LatentAttention {
  Attention scores;             ///< heads, widths of query/key and value heads, dropout; its matrices are unused
  std::int64_t query_rank = 0;  ///< 0: `query` projects to heads at once
  std::int64_t kv_rank = 0;
  std::int64_t plain_dim = 0;   ///< qk_nope_head_dim: what positions leave alone
  std::int64_t turned_dim = 0;  ///< qk_rope_head_dim
  bool complex_rotary = false;  ///< turned as complex numbers in fp32 (DeepSeek V2), else in interleaved pairs
  /// Hidden to latent (or heads), latent to heads, hidden to latent and the shared turned key, latent to heads, output.
  LinearShape query, query_up, kv_down, kv_up, output;
  Indexer indexer;

  bool operator==(const LatentAttention&) const = default;
};

template <typename Visit>
void ForEachMatrix(const LatentAttention& attention, Visit visit) {
  visit(attention.query);
  if (attention.query_rank > 0) visit(attention.query_up);
  visit(attention.kv_down);
  visit(attention.kv_up);
  visit(attention.output);
  if (attention.indexer.heads == 0) return;
  visit(attention.indexer.query);
  visit(attention.indexer.key);
  visit(attention.indexer.weights);
}

}  // namespace tunefit
