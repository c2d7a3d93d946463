// What each operation allocates and keeps in the forward pass; the order of statements is PyTorch's own order of
// allocations. Here: matrix products and what autocast does to their operands.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {
namespace {

/// Of an element of a packed matrix, about: 4 bits, with its constants.
constexpr double kPackedBytes = 0.53;

}  // namespace

Value Tracer::Fp32(Value x) { return Cast(std::move(x), Dtype::kFp32); }

Value Tracer::LowPrecision(Value x) {
  if (!autocast_ || !IsFloat(At(x).dtype)) return x;
  if (At(x).cast_is_cached) return LowPrecisionWeight(x);
  return Cast(std::move(x), *autocast_);
}

Value Tracer::LowPrecisionWeight(const Value& weight) {
  const Tensor tensor = At(weight);
  if (!autocast_ || tensor.dtype == *autocast_) return weight;
  const bool cached = tensor.cast_is_cached && tensor.dtype == Dtype::kFp32;
  if (cached) {
    for (const WeightCopy& copy : weight_copies_) {
      if (copy.weight == weight.index_) return copy.value;
    }
  }
  const Scope outer = scope;
  scope.term = Term::kAutocastCopies;
  Value copy = Cast(weight, *autocast_);
  scope = outer;
  // A recomputation's copies end with it, inside the same section.
  const std::int64_t repeats = mode_ == Mode::kRecompute ? 1 : step_.sections.back().repeats;
  if (cached) weight_copies_.push_back({weight.index_, repeats, copy});
  return copy;
}

Value Tracer::Linear(Value x, const Value& weight, const Value& bias, double in_features, double out_features) {
  x = LowPrecision(std::move(x));
  Value w = LowPrecisionWeight(weight);
  Value b = bias ? LowPrecisionWeight(bias) : Value();
  const OpKind kind = b ? OpKind::kLinearBias : OpKind::kLinear;
  return MatrixProduct(kind, std::move(x), std::move(w), std::move(b), in_features, out_features);
}

Value Tracer::Product(Value x, const Value& weight, double in_features, double out_features) {
  x = LowPrecision(std::move(x));
  const Scope outer = scope;
  scope.term = Term::kAutocastCopies;
  Value w = autocast_ ? Cast(weight, *autocast_) : weight;  // transposed, it is a view: autocast never caches that
  scope = outer;
  return MatrixProduct(OpKind::kLinear, std::move(x), std::move(w), Value(), in_features, out_features);
}

Value Tracer::MatrixProduct(OpKind kind, Value x, Value w, Value b, double in_features, double out_features) {
  Node& node = Begin(kind);
  AddInput(node, x);
  AddInput(node, w);
  AddInput(node, b);
  const StorageId part = At(x).kept_part;
  if (RequiresGradient(w)) Keep(node, part != kNoStorage ? part : At(x).storage);
  node.joins_again = part != kNoStorage && RequiresGradient(w);
  if (RequiresGradient(x)) Keep(node, At(w).storage);
  const Size elements = At(x).elements * out_features / in_features;
  const Dtype dtype = At(x).dtype;
  const StorageId out = b ? Allocate(elements, dtype, "mm") : AllocateProduct(elements, dtype, "mm");
  Value product = AddOutput(node, out, elements, dtype);
  x.Drop();
  w.Drop();
  b.Drop();
  return product;
}

StorageId Tracer::DequantizedMatrix(const Node& node, Dtype dtype) {
  const Size elements = node.extra;
  const std::uint8_t copies = node.copies;
  const std::uint8_t kernels = node.kernels;
  const Scope outer = scope;
  scope.term = Term::kWorkspace;
  const StorageId unpacked = copies > 1 ? Allocate(elements * (copies - 1), dtype, "unpacked weight") : kNoStorage;
  const StorageId matrix = Allocate(elements, dtype, "dequantized weight");
  if (unpacked != kNoStorage) Release(unpacked);
  Move(elements, kPackedBytes + copies * BytesPerElement(dtype));
  Launch(kernels);
  scope = outer;
  return matrix;
}

Value Tracer::DequantizedLinear(Value x, const Value& bias, double in_features, double out_features,
                                const Dequantization& how) {
  Node& node = Begin(OpKind::kDequantizedLinear);
  AddInput(node, x);
  node.extra = {in_features * out_features, Axis::kOnce};
  node.matrix = node.extra;
  node.copies = how.copies;
  node.kernels = how.kernels;
  node.repeats_batch = how.repeats_batch;
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) {
    // The packed matrix is kept for backward: it is resident and costs nothing, but counts as kept for recomputation.
    if (mode_ != Mode::kRecord) ++kept_;
    if (how.keeps_input) Keep(node, tensor.storage);
    node.holds_saved = how.on_context;
  }
  const Size elements = tensor.elements * out_features / in_features;
  StorageId out = kNoStorage;
  if (how.in_forward) {
    const StorageId matrix = DequantizedMatrix(node, tensor.dtype);
    out = AllocateProduct(elements, tensor.dtype, "mm");
    Release(matrix);
  } else {
    Value quantized = Empty(tensor.elements, Dtype::kFp8, "fp8 input");
    out = AllocateProduct(elements, tensor.dtype, "mm");
  }
  Value product = AddOutput(node, out, elements, tensor.dtype);
  x.Drop();
  if (bias) product = Add(std::move(product), Cast(bias, tensor.dtype));
  return product;
}

Value Tracer::Int8Linear(Value x, const Value& bias, double in_features, double out_features) {
  Node& node = Begin(OpKind::kDequantizedLinear);
  AddInput(node, x);
  node.extra = {in_features * out_features, Axis::kOnce};
  node.matrix = node.extra;
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const Size elements = tensor.elements * out_features / in_features;
  Value half = Empty(tensor.elements, Dtype::kFp16, "fp16 input");
  Value quantized = Empty(tensor.elements, Dtype::kInt8, "int8 input");
  half.Drop();
  Value accumulated = Empty(elements, Dtype::kInt32, "int32 product");
  const StorageId out = Allocate(elements, tensor.dtype, "mm");
  accumulated.Drop();
  quantized.Drop();
  Value product = AddOutput(node, out, elements, tensor.dtype);
  x.Drop();
  if (bias) product = Add(std::move(product), Cast(bias, tensor.dtype));
  return product;
}

Value Tracer::FusedLoraLinear(Value x, const Value& down, const Value& up, const std::optional<Dequantization>& how,
                              double in_features, double out_features) {
  x = LowPrecision(std::move(x));
  Node& node = Begin(OpKind::kFusedLoraLinear);
  AddInput(node, x);
  AddInput(node, down);
  AddInput(node, up);
  node.matrix = {in_features * out_features, Axis::kOnce};
  if (how) {
    node.extra = node.matrix;
    node.kernels = how->kernels;
  }
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const Size elements = tensor.elements * out_features / in_features;
  const StorageId matrix = how ? DequantizedMatrix(node, tensor.dtype) : kNoStorage;
  const StorageId out = Allocate(elements, tensor.dtype, "mm");
  if (matrix != kNoStorage) Release(matrix);
  const double rank = At(down).elements.coefficient / in_features;
  Value low = Empty(tensor.elements * rank / in_features, tensor.dtype, "low-rank input");
  Value product = AddOutput(node, out, elements, tensor.dtype);
  x.Drop();
  return product;
}

Value Tracer::BatchMatmul(Value a, Value b, Size out, Size batches) {
  a = LowPrecision(std::move(a));
  b = LowPrecision(std::move(b));
  Node& node = Begin(OpKind::kBatchMatmul);
  AddInput(node, a);
  AddInput(node, b);
  node.batches = batches;
  if (RequiresGradient(b)) Keep(node, At(a).storage);
  if (RequiresGradient(a)) Keep(node, At(b).storage);
  const Dtype dtype = At(a).dtype;
  Value product = AddOutput(node, Allocate(out, dtype, "bmm"), out, dtype);
  a.Drop();
  b.Drop();
  return product;
}

Value Tracer::Embedding(const Value& ids, const Value& weight, Size out) {
  Node& node = Begin(OpKind::kEmbedding);
  AddInput(node, weight);
  if (NeedsBackward(node)) Keep(node, At(ids).storage);
  const Dtype dtype = At(weight).dtype;
  return AddOutput(node, Allocate(out, dtype, "embedding"), out, dtype);
}

}  // namespace tunefit
