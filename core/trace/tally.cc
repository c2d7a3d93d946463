// What operations compute: products and attention one by one, all else by the bytes that it moves.
#include <algorithm>
#include <cmath>

#include "core/trace/tracer.h"

namespace tunefit {
namespace {

bool IsFp8(OpKind kind) { return kind == OpKind::kFp8Linear || kind == OpKind::kFp8KeptLinear; }

bool IsProduct(OpKind kind) {
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBias:
    case OpKind::kFp8Linear:
    case OpKind::kFp8KeptLinear:
    case OpKind::kBatchMatmul:
    case OpKind::kDequantizedLinear:
    case OpKind::kFusedLoraLinear:
    case OpKind::kGroupedMatmul:
    case OpKind::kSplitMatmul:
      return true;
    default:
      return false;
  }
}

/// What backward hands on without touching it, or what another rank does.
bool MovesNothingBackward(OpKind kind) {
  switch (kind) {
    case OpKind::kView:
    case OpKind::kAdd:
    case OpKind::kCat:
    case OpKind::kBoundary:
    case OpKind::kUnitEntry:
    case OpKind::kUnitExit:
    case OpKind::kExchange:
    case OpKind::kPrepared:
      return true;
    default:
      return false;
  }
}

Dtype ProductDtype(OpKind kind, Dtype dtype) { return IsFp8(kind) ? Dtype::kFp8 : dtype; }

/// An adapter's low-rank states, from the sizes of both its matrices and of the one beside it.
Size LowRank(const Node& node) {
  const double in =
      std::sqrt(node.matrix.coefficient * node.in_elements[0].coefficient / node.out_elements.coefficient);
  return node.in_elements[0] * node.in_elements[1].coefficient / (in * in);
}

}  // namespace

void Tracer::BeginWork() {
  EndWork();
  Work& work = step_.work.sections.emplace_back();
  work.first_matmul = static_cast<std::int32_t>(step_.work.matmuls.size());
  work.first_transfer = static_cast<std::int32_t>(step_.work.transfers.size());
  work.first_scores = static_cast<std::int32_t>(step_.work.scores.size());
}

void Tracer::EndWork() {
  if (step_.work.sections.empty()) return;
  Work& work = step_.work.sections.back();
  work.end_matmul = static_cast<std::int32_t>(step_.work.matmuls.size());
  work.end_transfer = static_cast<std::int32_t>(step_.work.transfers.size());
  work.end_scores = static_cast<std::int32_t>(step_.work.scores.size());
}

Effort Tracer::EffortNow() const {
  if (mode_ == Mode::kRecompute) return Effort::kRecompute;
  return step_.sections.back().moment == Moment::kBackward ? Effort::kBackward : Effort::kForward;
}

void Tracer::Move(Size elements, double bytes_per_element) {
  if (step_.work.sections.empty() || !runs_) return;
  step_.work.sections.back().bytes[static_cast<std::size_t>(elements.axis)] += elements.coefficient * bytes_per_element;
}

void Tracer::Launch(double kernels) {
  if (!step_.work.sections.empty() && runs_) step_.work.sections.back().kernels += kernels;
}

void Tracer::Multiply(Size batches, Size a, Size b, Size out, Dtype dtype) {
  if (step_.work.sections.empty() || !runs_) return;
  step_.work.matmuls.push_back({batches, a, b, out, dtype, EffortNow()});
  Launch(1);
}

void Tracer::Send(Group group, Size elements, double bytes_per_element) {
  if (step_.work.sections.empty() || !runs_) return;
  step_.work.transfers.push_back({group, elements, bytes_per_element, EffortNow()});
}

void Tracer::Score(const Node& node, Size out, Dtype dtype) {
  if (step_.work.sections.empty() || !runs_) return;
  step_.work.scores.push_back({node.in_elements[0], out, node.span, dtype, EffortNow()});
  Launch(1);
}

void Tracer::WorkForward(const Node& node, Size out, Dtype dtype) {
  if (fuses_ && IsFusible(node.kind)) return;  // counted where it is written out
  const Size b = node.matrix.coefficient > 0 ? node.matrix : node.in_elements[1];
  if (node.kind == OpKind::kAttention) return Score(node, out, dtype);
  if (IsProduct(node.kind) || (node.kind == OpKind::kKernel && node.matrix.coefficient > 0)) {
    Multiply(node.batches, node.in_elements[0], b, out, ProductDtype(node.kind, dtype));
    if (node.kind != OpKind::kFusedLoraLinear) return;
    Node adapted = node;
    adapted.out_elements = out;
    const Size low = LowRank(adapted);
    Multiply(node.batches, node.in_elements[0], node.in_elements[1], low, dtype);
    return Multiply(node.batches, low, node.in_elements[2], out, dtype);
  }
  Launch(1);
  Move(out, BytesPerElement(dtype));
  if (node.kind == OpKind::kExchange) return;
  if (node.kind == OpKind::kEmbedding || node.kind == OpKind::kSelect) return Move(out, BytesPerElement(dtype));
  for (std::size_t i = 0; i < node.inputs; ++i) Move(node.in_elements[i], BytesPerElement(node.in_dtypes[i]));
}

void Tracer::WorkOfProductBackward(const Node& node) {
  const Dtype dtype = ProductDtype(node.kind, node.out_dtype);
  const Size b = node.matrix.coefficient > 0 ? node.matrix : node.in_elements[1];
  const Size& x = node.in_elements[0];
  if (node.Wants(0)) Multiply(node.batches, node.out_elements, b, x, dtype);
  if (node.kind != OpKind::kFusedLoraLinear) {
    if (node.Wants(1)) Multiply(node.batches, x, node.out_elements, b, dtype);
    return;
  }
  const Size low = LowRank(node);
  const std::array<Size, 3>& in = node.in_elements;
  Multiply(node.batches, node.out_elements, in[2], low, dtype);  // the gradient of the low-rank states
  Multiply(node.batches, x, in[1], low, dtype);                  // the states themselves, once more
  if (node.Wants(1)) Multiply(node.batches, x, low, in[1], dtype);
  if (node.Wants(2)) Multiply(node.batches, low, node.out_elements, in[2], dtype);
  if (node.Wants(0)) Multiply(node.batches, low, in[1], x, dtype);
}

void Tracer::WorkBackward(const Node& node) {
  if (node.kind == OpKind::kAttention) return Score(node, node.out_elements, node.out_dtype);
  if (IsProduct(node.kind) || (node.kind == OpKind::kKernel && node.matrix.coefficient > 0)) {
    return WorkOfProductBackward(node);
  }
  if (MovesNothingBackward(node.kind)) return;
  Launch(1);
  Move(node.out_elements, BytesPerElement(node.out_dtype));
  for (std::size_t i = 0; i < node.saved_count; ++i) {
    const Storage& saved = step_.storages[static_cast<std::size_t>(node.saved[i])];
    Move(saved.elements, BytesPerElement(saved.dtype));
  }
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (node.Wants(i)) Move(node.in_elements[i], BytesPerElement(node.out_dtype));
  }
}

/// A fused kernel reads what the operations before it were to read, and writes its result.
void Tracer::WorkOfMaking(StorageId storage) {
  Launch(1);
  std::vector<StorageId> ahead = {storage};
  std::vector<StorageId> seen;
  while (!ahead.empty()) {
    const StorageId id = ahead.back();
    ahead.pop_back();
    if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
    seen.push_back(id);
    const Storage& read = step_.storages[static_cast<std::size_t>(id)];
    if (id == storage || !IsDeferred(id)) Move(read.elements, BytesPerElement(read.dtype));
    if (!IsDeferred(id)) continue;
    const Deferred& deferred = deferred_[static_cast<std::size_t>(id)];
    for (std::int32_t i = 0; i < deferred.source_count; ++i) {
      ahead.push_back(sources_[static_cast<std::size_t>(deferred.first_source + i)]);
    }
  }
}

}  // namespace tunefit
