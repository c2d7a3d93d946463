// torch.compile: elementwise operations and reductions are fused into the kernels that need them, and what autograd
// would keep of them is computed again from what the other operations made. Source: torch/_functorch/partitioners.py,
// min_cut_rematerialization_partition (matrix products, attention and what they read are kept; the rest is cheap to
// make again), and Inductor's scheduler, which writes out what a product, a reduction or the graph's end needs.
#include "core/trace/tracer.h"

namespace tunefit {

bool Tracer::IsFusible(OpKind kind) {
  switch (kind) {
    case OpKind::kView:
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kCast:
    case OpKind::kElementwise:
    case OpKind::kAdd:
    case OpKind::kPow:
    case OpKind::kMean:
    case OpKind::kRsqrt:
    case OpKind::kCat:
    case OpKind::kExpandHeads:
    case OpKind::kSplit:
    case OpKind::kLayerNorm:
    case OpKind::kNegativeLogLikelihood:
      return true;
    default:
      return false;
  }
}

StorageId Tracer::AllocateFused(Size elements, Dtype dtype, const char* role, std::span<const StorageId> sources) {
  if (!fuses_) return Allocate(elements, dtype, role);
  const auto id = static_cast<StorageId>(step_.storages.size());
  step_.storages.push_back({elements, dtype, scope.term, scope.module, role, scope.in_layer});
  references_.push_back(1);
  deferred_.resize(step_.storages.size());
  deferred_.back() = {static_cast<std::int32_t>(sources_.size()), static_cast<std::int32_t>(sources.size()), true};
  for (const StorageId source : sources) {
    Refer(source);
    sources_.push_back(source);
  }
  return id;
}

bool Tracer::IsDeferred(StorageId storage) const {
  const auto index = static_cast<std::size_t>(storage);
  return index < deferred_.size() && deferred_[index].pending;
}

void Tracer::ForgetSources(StorageId storage) {
  Deferred& deferred = deferred_[static_cast<std::size_t>(storage)];
  deferred.pending = false;
  const std::int32_t end = deferred.first_source + deferred.source_count;
  for (std::int32_t i = deferred.first_source; i < end; ++i) Release(sources_[static_cast<std::size_t>(i)]);
}

void Tracer::Make(StorageId storage) {
  if (!IsDeferred(storage)) return;
  step_.events.push_back({storage, 1});
  WorkOfMaking(storage);
  ForgetSources(storage);
}

Value Tracer::Boundary(const Value& x) { return fuses_ ? Look(OpKind::kBoundary, x, SizeOf(x)) : x; }

/// Gradients are computed where they are needed, from the incoming ones and what is kept; one that is summed over what
/// its input was broadcast to is a reduction's result, and written out.
Tracer::Results Tracer::FusedGradients(const Node& node) {
  std::array<StorageId, 9> sources{};
  std::size_t count = 0;
  for (const StorageId gradient : node.gradients) {
    if (gradient != kNoStorage) sources[count++] = gradient;
  }
  for (std::size_t i = 0; i < node.saved_count; ++i) sources[count++] = node.saved[i];
  Results results = kNoResults;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!node.Wants(i)) continue;
    const Size in = node.in_elements[i];
    const bool reduced = in.axis != node.out_elements.axis || in.coefficient < node.out_elements.coefficient;
    const bool sums = node.kind == OpKind::kElementwise || node.kind == OpKind::kLayerNorm;
    results[i] = reduced && sums ? Allocate(in, node.in_dtypes[i], "gradient")
                                 : AllocateFused(in, node.in_dtypes[i], "gradient", std::span(sources.data(), count));
  }
  return results;
}

}  // namespace tunefit
