// The backward pass: autograd's engine walking the recorded operations in reverse, and what each rule allocates.
#include <utility>

#include "core/trace/sharding.h"
#include "core/trace/tracer.h"

namespace tunefit {

void Tracer::Deposit(Edge edge, StorageId gradient) {
  Node& node = nodes_[static_cast<std::size_t>(edge.node)];
  StorageId& slot = node.gradients[edge.slot];
  const bool of_weight = node.kind == OpKind::kLeaf && node.is_weight;
  if (node.kind == OpKind::kLeaf) Make(gradient);
  if (of_weight) {
    Storage& storage = step_.storages[static_cast<std::size_t>(gradient)];
    storage.term = Term::kGradients;
    storage.role = "gradient";
    if (step_.gradients_alive && !node.is_sharded) {  // added in place to the gradient that exists
      const Storage& added = step_.storages[static_cast<std::size_t>(gradient)];
      Move(added.elements, 3 * BytesPerElement(added.dtype));
      Launch(1);
      Release(gradient);
      return;
    }
  }
  if (slot == kNoStorage) {
    slot = gradient;
  } else {
    // A second use of the tensor: the engine adds the two into a new one.
    const Storage first = step_.storages[static_cast<std::size_t>(slot)];
    // One of them may be a view of what parts were joined to: the sum is as large as the other.
    const Size second = step_.storages[static_cast<std::size_t>(gradient)].elements;
    const bool is_smaller = second.axis == first.elements.axis && second.coefficient < first.elements.coefficient;
    const Size elements = is_smaller ? second : first.elements;
    const StorageId sum = AllocateFused(elements, first.dtype, "gradient sum", {slot, gradient});
    if (!fuses_) {
      Move(elements, 3 * BytesPerElement(first.dtype));
      Launch(1);
    }
    if (node.kind == OpKind::kLeaf) Make(sum);
    if (first.term == Term::kGradients) step_.storages.back().term = Term::kGradients;
    Release(slot);
    Release(gradient);
    slot = sum;
  }
  if (of_weight && --node.uses == 0 && fate_ != GradientFate::kStays && !node.is_sharded) ConsumeGradient(node);
}

/// The gradient of a weight is complete, and does not stay.
void Tracer::ConsumeGradient(Node& leaf) {
  if (fate_ == GradientFate::kIsAdded) {
    // The product's kernel adds to the buffer itself (gradient_accumulation_fusion): no gradient ever was apart.
    step_.storages[static_cast<std::size_t>(leaf.gradients[0])].elements = {};
  }
  if (fate_ == GradientFate::kIsDivided) {
    const StorageId share = Allocate(leaf.out_elements * step_.gradient_share, leaf.out_dtype, "gradient share");
    step_.storages[static_cast<std::size_t>(share)].term = Term::kGradients;
  }
  if (fate_ == GradientFate::kIsApplied && leaf.extra.coefficient > 0) {
    const Scope outer = scope;
    scope = leaf.scope;
    scope.term = Term::kOptimizerTransient;
    const StorageId update = Allocate(leaf.extra, Dtype::kUint8, "update of one parameter");
    Release(update);
    scope = outer;
  }
  Release(std::exchange(leaf.gradients[0], kNoStorage));
}

StorageId Tracer::GradientLike(const Node& node, int input) {
  return Allocate(node.in_elements[static_cast<std::size_t>(input)], node.out_dtype, "gradient");
}

/// The engine casts a gradient to its input's dtype, frees what the node held, then passes the results on.
void Tracer::DepositResults(Node& node, Results& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNoStorage) continue;
    const Storage result = step_.storages[static_cast<std::size_t>(results[i])];
    if (result.dtype == node.in_dtypes[i] || node.edges[i].node < 0) continue;
    const StorageId cast = AllocateFused(result.elements, node.in_dtypes[i], "gradient cast", {results[i]});
    if (!fuses_) {
      Move(result.elements, BytesPerElement(result.dtype) + BytesPerElement(node.in_dtypes[i]));
      Launch(1);
    }
    Release(results[i]);
    results[i] = cast;
  }
  const std::array<Edge, 3> edges = node.edges;
  FreeNode(node);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] != kNoStorage) Deposit(edges[i], results[i]);
  }
}

void Tracer::FreeNode(Node& node) {
  for (StorageId& gradient : node.gradients) {
    if (gradient != kNoStorage) Release(std::exchange(gradient, kNoStorage));
  }
  for (int i = 0; i < node.saved_count; ++i) Release(node.saved[static_cast<std::size_t>(i)]);
  node.saved_count = 0;
}

Tracer::Results Tracer::PassGradientOn(const Node& node) {
  Results results = kNoResults;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!node.Wants(i)) continue;
    if (node.in_elements[i].coefficient < node.out_elements.coefficient && node.kind == OpKind::kAdd) {
      results[i] = GradientLike(node, static_cast<int>(i));  // summed over what it was broadcast to
      continue;
    }
    Refer(node.gradients[0]);
    results[i] = node.gradients[0];
  }
  return results;
}

Tracer::Results Tracer::GradientsInOrder(const Node& node, std::initializer_list<int> order) {
  Results results = kNoResults;
  for (const int i : order) {
    if (node.Wants(static_cast<std::size_t>(i))) results[static_cast<std::size_t>(i)] = GradientLike(node, i);
  }
  return results;
}

/// What was kept of the input's tokens is joined with the other ranks' again for as long as it takes.
Tracer::Results Tracer::ProductGradients(const Node& node, std::initializer_list<int> order) {
  if (!node.joins_again) return GradientsInOrder(node, order);
  const StorageId joined = Allocate(node.in_elements[0], node.in_dtypes[0], "tokens of all ranks");
  Results results = GradientsInOrder(node, order);
  Release(joined);
  return results;
}

/// Fused kernels add up the query's gradient in fp32; flash_attn makes the keys' and values' for every query head and
/// sums them to the grouped ones (csrc/flash_attn/flash_api.cpp, mha_bwd; PyTorch's mem_eff_attention likewise for q).
Tracer::Results Tracer::AttentionGradients(const Node& node) {
  Results results = GradientsInOrder(node, {0, 1, 2});
  if (BytesPerElement(node.out_dtype) == 4) return results;
  const StorageId query = Allocate(node.in_elements[0], Dtype::kFp32, "query gradient in fp32");
  if (node.in_elements[1].coefficient < node.in_elements[0].coefficient) {
    const StorageId key = Allocate(node.in_elements[0], node.out_dtype, "key gradient of every head");
    Release(Allocate(node.out_elements, node.out_dtype, "value gradient of every head"));
    Release(key);
  }
  Release(query);
  return results;
}

Tracer::Results Tracer::ElementwiseGradients(const Node& node) {
  Results results = kNoResults;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (node.Wants(i)) results[i] = Allocate(node.out_elements, node.out_dtype, "gradient");
  }
  // An input that was broadcast gets the sum over what it was broadcast to.
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!node.Wants(i) || node.in_elements[i] == node.out_elements) continue;
    const StorageId sum = GradientLike(node, static_cast<int>(i));
    Release(results[i]);
    results[i] = sum;
  }
  return results;
}

Tracer::Results Tracer::PowerGradient(const Node& node) {
  const StorageId power = GradientLike(node, 0);
  const StorageId scaled = GradientLike(node, 0);
  const StorageId gradient = GradientLike(node, 0);
  Release(scaled);
  Release(power);
  return {gradient, kNoStorage, kNoStorage};
}

Tracer::Results Tracer::GradientByHand(const Node& node) {
  const StorageId work = Allocate(node.extra, node.out_dtype, "temporaries");
  Release(work);
  return {GradientLike(node, 0), kNoStorage, kNoStorage};
}

Tracer::Results Tracer::DequantizedGradients(const Node& node) {
  Results results = kNoResults;
  for (std::size_t i = 1; i < node.inputs; ++i) {  // a fused adapter's own matrices
    if (node.Wants(i)) results[i] = Allocate(node.in_elements[i], node.in_dtypes[i], "gradient");
  }
  const StorageId matrix = node.extra.coefficient > 0 ? DequantizedMatrix(node, node.out_dtype) : kNoStorage;
  StorageId repeated = kNoStorage;
  if (node.repeats_batch) {
    repeated = Allocate({node.extra.coefficient, Axis::kSequences}, node.out_dtype, "repeated weight");
  }
  if (node.Wants(0)) results[0] = GradientLike(node, 0);
  if (repeated != kNoStorage) Release(repeated);
  if (matrix != kNoStorage) Release(matrix);
  return results;
}

Tracer::Results Tracer::FusedNormGradients(const Node& node) {
  Results results = kNoResults;
  if (node.Wants(0)) {  // overwrites the incoming gradient
    Refer(node.gradients[0]);
    results[0] = node.gradients[0];
  }
  if (node.Wants(1)) results[1] = Allocate(node.in_elements[1], node.in_dtypes[1], "gradient");
  return results;
}

Tracer::Results Tracer::PreparedGradients(const Node& node) {
  Results results = kNoResults;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!node.Wants(i)) continue;
    Refer(node.saved[i]);
    results[i] = node.saved[i];
  }
  return results;
}

/// CopySlices (torch/csrc/autograd/functions/tensor.cpp): the gradient of the whole is copied, the view's part of it
/// cloned, the operation's gradient of the clone made and put back.
Tracer::Results Tracer::InPlaceOnViewGradient(const Node& node) {
  const StorageId whole = GradientLike(node, 0);
  const StorageId part = GradientLike(node, 0);
  Release(GradientLike(node, 0));
  Release(part);
  return {whole, kNoStorage, kNoStorage};
}

/// Every row's gradient is exp(x - logsumexp) times the incoming one; iterating a tensor unbinds it, so the rows are
/// stacked again. Then the gradient of the picked logits, a tensor of zeros but for the labels, is added to that.
Tracer::Results Tracer::LogSumExpRowsGradient(const Node& node) {
  const StorageId rows = GradientLike(node, 0);
  const StorageId shifted = Allocate(node.extra, node.out_dtype, "shifted logits of a sequence");
  Release(Allocate(node.extra, node.out_dtype, "probabilities of a sequence"));
  Release(shifted);
  const StorageId stacked = GradientLike(node, 0);
  Release(rows);
  Release(GradientLike(node, 0));
  return {stacked, kNoStorage, kNoStorage};
}

/// Row by row the kept log-probabilities give way to their gradient; then the rows are stacked.
Tracer::Results Tracer::LogSoftmaxRowsGradient(Node& node) {
  const StorageId picked = Allocate(node.extra, node.out_dtype, "gradient of a sequence's log_softmax");
  Release(Allocate(node.extra, node.out_dtype, "gradient of a sequence"));
  Release(picked);
  Release(node.saved[0]);
  node.saved_count = 0;
  const StorageId rows = GradientLike(node, 0);
  const StorageId stacked = GradientLike(node, 0);
  Release(rows);
  return {stacked, kNoStorage, kNoStorage};
}

/// At the first chunk everything is still kept, beside the gradients into and out of the softmax. From then on a chunk
/// of log-probabilities goes for every chunk of gradient, which weighs no more.
Tracer::Results Tracer::ChunkedLossGradients(Node& node) {
  const Dtype scores = step_.storages[static_cast<std::size_t>(node.saved[0])].dtype;
  const StorageId into = Allocate(node.extra, scores, "gradient");
  if (!fuses_) Release(Allocate(node.extra, scores, "gradient"));
  Release(into);
  Release(node.saved[0]);
  node.saved_count = 0;
  return {Allocate(node.in_elements[0], node.in_dtypes[0], "gradient"), kNoStorage, kNoStorage};
}

Tracer::Results Tracer::GradientsOf(Node& node) {
  switch (node.kind) {
    case OpKind::kView:
    case OpKind::kBoundary:
    case OpKind::kAdd:
    case OpKind::kCat:
    case OpKind::kUnitEntry:
    case OpKind::kUnitExit:
      return PassGradientOn(node);
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kMean:
    case OpKind::kSplit:
    case OpKind::kSelect:
    case OpKind::kExpandHeads:
    case OpKind::kExchange:
    case OpKind::kEmbedding:
    case OpKind::kNegativeLogLikelihood:
      return GradientsInOrder(node, {0});
    case OpKind::kCast:
      return {Allocate(node.in_elements[0], node.in_dtypes[0], "gradient"), kNoStorage, kNoStorage};
    case OpKind::kElementwise:
      return ElementwiseGradients(node);
    case OpKind::kSubtract:
      return SubtractGradients(node);
    case OpKind::kPow:
    case OpKind::kRsqrt:
      return PowerGradient(node);
    case OpKind::kDeviation:
      return DeviationGradient(node);
    case OpKind::kByHand:
      return GradientByHand(node);
    case OpKind::kLinear:
      return ProductGradients(node, {1, 0});
    case OpKind::kBatchMatmul:
      return GradientsInOrder(node, {1, 0});
    case OpKind::kFp8Linear:
      return Fp8Gradients(node);
    case OpKind::kFp8KeptLinear:
      return Fp8KeptGradients(node);
    case OpKind::kAddRows:
      return AddRowsGradients(node);
    case OpKind::kSplitMatmul:
      return SplitMatmulGradients(node);
    case OpKind::kKernel:
      return KernelGradients(node);
    case OpKind::kGroupedMatmul:
      return GradientsInOrder(node, {0, 1});
    case OpKind::kLinearBias:
      return ProductGradients(node, {0, 1, 2});
    case OpKind::kLayerNorm:
      return GradientsInOrder(node, {0, 1, 2});
    case OpKind::kAttention:
      return AttentionGradients(node);
    case OpKind::kDequantizedLinear:
    case OpKind::kFusedLoraLinear:
      return DequantizedGradients(node);
    case OpKind::kFusedNorm:
      return FusedNormGradients(node);
    case OpKind::kPrepared:
      return PreparedGradients(node);
    case OpKind::kInPlaceOnView:
      return InPlaceOnViewGradient(node);
    case OpKind::kAddThroughView:
    case OpKind::kCopyThroughView:
      return ThroughViewGradients(node);
    case OpKind::kLogSumExpRows:
      return LogSumExpRowsGradient(node);
    case OpKind::kLogSoftmaxRows:
      return LogSoftmaxRowsGradient(node);
    case OpKind::kChunkedLoss:
      return ChunkedLossGradients(node);
    case OpKind::kCheckpoint:
    case OpKind::kLeaf:
      break;
  }
  return kNoResults;
}

void Tracer::Hold(std::vector<HeldStorage>& held, StorageId storage) {
  Refer(storage);
  held.push_back({storage, step_.sections.back().repeats});
}

void Tracer::ReleaseHeldToEnd() {
  for (const HeldStorage& held : std::exchange(held_to_end_, {})) {
    std::int32_t& references = references_[static_cast<std::size_t>(held.storage)];
    if (--references != 0) continue;
    references = kUncounted;
    step_.events.push_back({held.storage, -static_cast<std::int32_t>(held.repeats)});
  }
}

void Tracer::RunNode(std::int32_t index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const bool reached =
      node.gradients[0] != kNoStorage || node.gradients[1] != kNoStorage || node.gradients[2] != kNoStorage;
  if (!reached || node.kind == OpKind::kLeaf) return;  // a leaf keeps what it was given
  fuses_ = node.compiled;
  runs_ = true;
  if (node.kind == OpKind::kCheckpoint) return RunCheckpoint(index);
  if (node.kind == OpKind::kUnitExit) node.units->BeforeBackward(node.unit);
  if (node.kind == OpKind::kUnitEntry) {
    node.units->AfterBackward(node.unit);
    if (node.saved_count > 0) {
      HoldToEnd(node.saved[0]);
      HoldToEnd(node.gradients[0]);
    }
  }
  // The graph of a module that ran again ends with it.
  if (node.holds_saved && node.saved_count > 0 && !in_recomputed_) HoldWithGraph(node.saved[0]);
  scope = node.scope;
  if (scope.term != Term::kLogitsAndLoss) scope.term = Term::kWorkspace;
  if (!fuses_ || !IsFusible(node.kind)) {
    for (const StorageId gradient : node.gradients) {
      if (gradient != kNoStorage) Make(gradient);
    }
  }
  const bool passes = node.kind == OpKind::kView || node.kind == OpKind::kAdd || node.kind == OpKind::kCat;
  const bool fused = fuses_ && IsFusible(node.kind) && !passes;
  if (!fused) WorkBackward(node);
  Results results = fused ? FusedGradients(node) : GradientsOf(node);
  DepositResults(node, results);
}

void Tracer::Backward(Value loss) {
  CloseSection();
  scope = {"", Term::kLogitsAndLoss, false};
  const std::vector<Mark> marks = std::exchange(marks_, {});
  auto mark = marks.rbegin();
  const auto enter = [this](const Mark& entering) {
    const Section& forward = entering.section;
    if (forward.layer >= 0) held_for_layers_.clear();
    const std::int64_t last = forward.layer < 0 ? -1 : forward.layer + forward.layers * (forward.repeats - 1);
    BeginSection(Moment::kBackward, last, forward.layers, forward.repeats);
  };
  if (mark != marks.rend()) enter(*mark);
  const StorageId seed = Allocate(At(loss).elements, At(loss).dtype, "gradient");
  // Where nothing that runs is trained there is nothing to walk.
  if (RequiresGradient(loss)) {
    Deposit(At(loss).source, seed);
  } else {
    Release(seed);
  }
  for (std::int32_t i = At(loss).source.node; i >= 0; --i) {
    while (mark != marks.rend() && i < mark->first_node) {
      ++mark;
      if (mark != marks.rend()) enter(*mark);
    }
    RunNode(i);
  }
  for (ShardedUnits* units : in_backward_) units->EndBackward();
  ReleaseHeldToEnd();
  held_.push_back(std::move(loss));
}

}  // namespace tunefit
