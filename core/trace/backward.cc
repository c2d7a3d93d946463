// The backward pass: autograd's engine walking the recorded operations in reverse, and what each rule allocates.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {

void Tracer::Deposit(Edge edge, StorageId gradient) {
  Node& node = nodes_[static_cast<std::size_t>(edge.node)];
  StorageId& slot = node.gradients[edge.slot];
  if (node.kind == OpKind::kLeaf && node.is_weight) {
    Storage& storage = step_.storages[static_cast<std::size_t>(gradient)];
    storage.term = Term::kGradients;
    storage.role = "gradient";
    if (step_.gradients_alive) {  // added in place to the gradient that exists
      Release(gradient);
      return;
    }
  }
  if (slot == kNoStorage) {
    slot = gradient;
    return;
  }
  // A second use of the tensor: the engine adds the two into a new one.
  const Storage first = step_.storages[static_cast<std::size_t>(slot)];
  const StorageId sum = Allocate(first.elements, first.dtype, "gradient sum");
  if (first.term == Term::kGradients) step_.storages.back().term = Term::kGradients;
  Release(slot);
  Release(gradient);
  slot = sum;
}

StorageId Tracer::GradientLike(const Node& node, int input, const char* role) {
  return Allocate(node.in_elements[static_cast<std::size_t>(input)], node.out_dtype, role);
}

/// The engine casts a gradient to its input's dtype, frees what the node held, then passes the results on.
void Tracer::DepositResults(Node& node, std::array<StorageId, 3>& results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kNoStorage) continue;
    const Storage result = step_.storages[static_cast<std::size_t>(results[i])];
    if (result.dtype == node.in_dtypes[i] || node.edges[i].node < 0) continue;
    const StorageId cast = Allocate(result.elements, node.in_dtypes[i], "gradient cast");
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

void Tracer::RunNode(std::int32_t index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  const bool reached =
      node.gradients[0] != kNoStorage || node.gradients[1] != kNoStorage || node.gradients[2] != kNoStorage;
  if (!reached) return;
  scope = node.scope;
  scope.term = node.scope.term == Term::kLogitsAndLoss ? Term::kLogitsAndLoss : Term::kWorkspace;
  const StorageId gradient = node.gradients[0];
  std::array<StorageId, 3> results{kNoStorage, kNoStorage, kNoStorage};
  const auto wanted = [&node](std::size_t i) { return node.edges[i].node >= 0; };
  switch (node.kind) {
    case OpKind::kView:
    case OpKind::kAdd:
      for (std::size_t i = 0; i < node.inputs; ++i) {
        if (!wanted(i)) continue;
        Refer(gradient);
        results[i] = gradient;
      }
      break;
    case OpKind::kCat:
      for (std::size_t i = 0; i < 2; ++i) {
        if (!wanted(i)) continue;
        Refer(gradient);
        results[i] = gradient;
      }
      break;
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kMean:
    case OpKind::kSplit:
    case OpKind::kExpandHeads:
      results[0] = GradientLike(node, 0, "gradient");
      break;
    case OpKind::kCast:
      results[0] = Allocate(node.in_elements[0], node.in_dtypes[0], "gradient");
      break;
    case OpKind::kElementwise:
      for (std::size_t i = 0; i < node.inputs; ++i) {
        if (wanted(i)) results[i] = Allocate(node.out_elements, node.out_dtype, "gradient");
      }
      for (std::size_t i = 0; i < node.inputs; ++i) {
        if (!wanted(i) || node.in_elements[i] == node.out_elements) continue;
        const StorageId sum = GradientLike(node, static_cast<int>(i), "gradient");
        Release(results[i]);
        results[i] = sum;
      }
      break;
    case OpKind::kPow:
    case OpKind::kRsqrt: {
      const StorageId power = GradientLike(node, 0, "power");
      const StorageId scaled = GradientLike(node, 0, "power");
      results[0] = GradientLike(node, 0, "gradient");
      Release(scaled);
      Release(power);
      break;
    }
    case OpKind::kLinear:
      if (wanted(1)) results[1] = GradientLike(node, 1, "gradient");
      if (wanted(0)) results[0] = GradientLike(node, 0, "gradient");
      break;
    case OpKind::kLinearBias:
      if (wanted(0)) results[0] = GradientLike(node, 0, "gradient");
      if (wanted(1)) results[1] = GradientLike(node, 1, "gradient");
      if (wanted(2)) results[2] = GradientLike(node, 2, "gradient");
      break;
    case OpKind::kBatchMatmul:
      if (wanted(1)) results[1] = GradientLike(node, 1, "gradient");
      if (wanted(0)) results[0] = GradientLike(node, 0, "gradient");
      break;
    case OpKind::kDequantizedLinear: {
      const StorageId matrix = Allocate(node.extra, node.out_dtype, "dequantized weight");
      results[0] = GradientLike(node, 0, "gradient");
      Release(matrix);
      break;
    }
    case OpKind::kFusedLoraLinear: {
      for (std::size_t i = 1; i < 3; ++i) {
        if (wanted(i)) results[i] = Allocate(node.in_elements[i], node.in_dtypes[i], "gradient");
      }
      const StorageId matrix = Allocate(node.extra, node.out_dtype, "dequantized weight");
      if (wanted(0)) results[0] = GradientLike(node, 0, "gradient");
      Release(matrix);
      break;
    }
    case OpKind::kLayerNorm:
    case OpKind::kAttention:
      for (std::size_t i = 0; i < 3; ++i) {
        if (wanted(i)) results[i] = GradientLike(node, static_cast<int>(i), "gradient");
      }
      break;
    case OpKind::kFusedNorm:
      if (wanted(0)) {
        Refer(gradient);
        results[0] = gradient;
      }
      if (wanted(1)) results[1] = Allocate(node.in_elements[1], node.in_dtypes[1], "gradient");
      break;
    case OpKind::kEmbedding:
    case OpKind::kNegativeLogLikelihood:
      results[0] = GradientLike(node, 0, "gradient");
      break;
    case OpKind::kPrepared:
      // saved: the input's gradient, then the weight's; the forward pass computed both.
      for (std::size_t i = 0; i < 2; ++i) {
        if (!wanted(i)) continue;
        Refer(node.saved[i]);
        results[i] = node.saved[i];
      }
      break;
    case OpKind::kCheckpoint:
      RunCheckpoint(index);
      return;
    case OpKind::kLeaf:
      return;  // a leaf keeps what it was given
  }
  DepositResults(node, results);
}

void Tracer::RunCheckpoint(std::int32_t index) {
  const Node node = nodes_[static_cast<std::size_t>(index)];
  nodes_[static_cast<std::size_t>(index)].gradients.fill(kNoStorage);
  const auto first = static_cast<std::int32_t>(nodes_.size());
  const Recomputation recomputation = recomputations_[static_cast<std::size_t>(node.recomputation)];

  mode_ = Mode::kRecompute;
  kept_ = 0;
  kept_limit_ = recomputation.kept;
  Refer(node.saved[0]);
  Value input = Wrap(node.saved[0], node.in_elements[0], node.in_dtypes[0], false);
  if (node.edges[0].node >= 0) input = RequireGradient(std::move(input));
  Value out = recomputation.module(input);
  EndAutocast();
  const Edge seed = At(out).source;
  mode_ = Mode::kRecord;
  out.Drop();

  Deposit(seed, node.gradients[0]);
  for (auto i = static_cast<std::int32_t>(nodes_.size()) - 1; i >= first; --i) RunNode(i);
  const StorageId result = nodes_[static_cast<std::size_t>(first)].gradients[0];
  nodes_.resize(static_cast<std::size_t>(first));
  input.Drop();
  Release(node.saved[0]);
  if (node.edges[0].node >= 0 && result != kNoStorage) Deposit(node.edges[0], result);
}

void Tracer::Backward(Value loss) {
  CloseSection();
  scope = {"", Term::kLogitsAndLoss, false};
  const std::vector<Mark> marks = std::exchange(marks_, {});
  auto mark = marks.rbegin();
  const auto enter = [this](const Mark& entering) {
    const Section& forward = entering.section;
    const std::int64_t last = forward.layer < 0 ? -1 : forward.layer + forward.layers * (forward.repeats - 1);
    BeginSection(Moment::kBackward, last, forward.layers, forward.repeats);
  };
  if (mark != marks.rend()) enter(*mark);
  const StorageId seed = Allocate(At(loss).elements, At(loss).dtype, "gradient");
  Deposit(At(loss).source, seed);
  for (std::int32_t i = At(loss).source.node; i >= 0; --i) {
    while (mark != marks.rend() && i < mark->first_node) {
      ++mark;
      if (mark != marks.rend()) enter(*mark);
    }
    RunNode(i);
  }
  held_.push_back(std::move(loss));
}

}  // namespace tunefit
