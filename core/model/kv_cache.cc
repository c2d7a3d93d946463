#include "core/model/kv_cache.h"

#include <algorithm>
#include <variant>

namespace tunefit {
namespace {

double OfLayer(const Block& block, Dtype dtype, std::int64_t tokens) {
  if (const auto* latent = std::get_if<LatentAttention>(&block.mixer)) {  // a latent vector and the shared turned key
    const std::int64_t kept = tokens * (latent->kv_rank + latent->turned_dim);
    return static_cast<double>(kept) * BytesPerElement(dtype);
  }
  const auto* attention = std::get_if<Attention>(&block.mixer);
  if (attention == nullptr || attention->keys == KeySource::kBorrowed) return 0;
  const std::int64_t kept = attention->window > 0 ? std::min(tokens, attention->window) : tokens;
  const std::int64_t width = 2 * attention->kv_heads * attention->head_dim;
  return static_cast<double>(kept) * static_cast<double>(width) * BytesPerElement(dtype);
}

}  // namespace

double KvCacheBytes(const Architecture& architecture, Dtype dtype, std::int64_t tokens) {
  double bytes = 0;
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) bytes += static_cast<double>(run.repeats) * OfLayer(block, dtype, tokens);
  }
  return bytes;
}

}  // namespace tunefit
