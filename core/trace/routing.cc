// What each operation allocates and keeps in the forward pass; the order of statements is PyTorch's own order of
// allocations. Here: sending tokens to experts and back.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {

std::array<Value, 2> Tracer::TopK(Value x, Size out) {
  Node& node = Begin(OpKind::kSelect);
  AddInput(node, x);
  const Dtype dtype = At(x).dtype;
  const StorageId values = Allocate(out, dtype, "top k");
  const StorageId indices = Allocate(out, Dtype::kInt64, "top k indices");
  if (NeedsBackward(node)) Keep(node, indices);
  Value best = AddOutput(node, values, out, dtype);
  x.Drop();
  return {std::move(best), Wrap(indices, out, Dtype::kInt64, false)};
}

Value Tracer::Select(const Value& x, const Value& index, Size out) {
  Node& node = Begin(OpKind::kSelect);
  AddInput(node, x);
  if (NeedsBackward(node)) Keep(node, At(index).storage);
  const Dtype dtype = At(x).dtype;
  return AddOutput(node, Allocate(out, dtype, "index"), out, dtype);
}

Value Tracer::FillMasked(Value x, const Value& mask) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, At(mask).storage);
  Refer(tensor.storage);
  Value filled = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  return filled;
}

Value Tracer::AddInPlace(Value x, const Value& y) {
  Node& node = Begin(OpKind::kAdd);
  AddInput(node, x);
  AddInput(node, y);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  Value sum = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  return sum;
}

Value Tracer::AddRows(Value x, Value rows, const Value& index) {
  Node& node = Begin(OpKind::kAddRows);
  AddInput(node, x);
  AddInput(node, rows);
  const Tensor tensor = At(x);
  if (RequiresGradient(rows)) Keep(node, At(index).storage);
  Refer(tensor.storage);
  Value sum = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  rows.Drop();
  return sum;
}

Tracer::Results Tracer::AddRowsGradients(const Node& node) {
  Results results = kNoResults;
  if (node.Wants(0)) {
    Refer(node.gradients[0]);
    results[0] = node.gradients[0];
  }
  if (node.Wants(1)) results[1] = GradientLike(node, 1);
  return results;
}

Value Tracer::Divide(Value x, Value divisor) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  AddInput(node, divisor);
  const Tensor tensor = At(x);
  if (RequiresGradient(divisor)) Keep(node, tensor.storage);
  if (NeedsBackward(node)) Keep(node, At(divisor).storage);
  Value quotient = AddOutput(node, Allocate(tensor.elements, tensor.dtype, "div"), tensor.elements, tensor.dtype);
  x.Drop();
  divisor.Drop();
  return quotient;
}

Value Tracer::DivideInPlace(Value x, const Value& divisor) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  AddInput(node, divisor);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) {
    const StorageId original = Allocate(tensor.elements, tensor.dtype, "dividend");
    Keep(node, original);
    Keep(node, At(divisor).storage);
    Release(original);
  }
  Refer(tensor.storage);
  Value quotient = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  return quotient;
}

Value Tracer::SumOver(Value x, Size out) {
  Node& node = Begin(OpKind::kView);
  AddInput(node, x);
  const Dtype dtype = At(x).dtype;
  Value sum = AddOutput(node, Allocate(out, dtype, "sum"), out, dtype);
  x.Drop();
  return sum;
}

Value Tracer::GroupedMatmul(Value x, const Value& weight, const Value& offsets, Size out) {
  x = Cast(std::move(x), At(weight).dtype);
  Node& node = Begin(OpKind::kGroupedMatmul);
  AddInput(node, x);
  AddInput(node, weight);
  node.batches = At(offsets).elements;
  if (RequiresGradient(weight)) Keep(node, At(x).storage);
  if (RequiresGradient(x)) Keep(node, At(weight).storage);
  if (NeedsBackward(node)) Keep(node, At(offsets).storage);
  const Dtype dtype = At(x).dtype;
  Value product = AddOutput(node, Allocate(out, dtype, "grouped mm"), out, dtype);
  x.Drop();
  return product;
}

Value Tracer::SplitMatmul(Value x, const Value& weight, Size out, double experts) {
  x = LowPrecision(std::move(x));
  const Value w = LowPrecisionWeight(weight);
  Node& node = Begin(OpKind::kSplitMatmul);
  AddInput(node, x);
  AddInput(node, w);
  node.batches = {experts, Axis::kOnce};
  if (RequiresGradient(w)) Keep(node, At(x).storage);
  if (RequiresGradient(x)) Keep(node, At(w).storage);
  const Dtype dtype = At(x).dtype;
  const StorageId parts = Allocate(out, dtype, "products by expert");
  const StorageId joined = Allocate(out, dtype, "joined products");
  Release(parts);
  Value product = AddOutput(node, joined, out, dtype);
  x.Drop();
  return product;
}

Tracer::Results Tracer::SplitMatmulGradients(const Node& node) {
  Results results = kNoResults;
  if (node.Wants(1)) {  // one expert's gradient, spread over the whole parameter, joins the sum of the others'
    results[1] = GradientLike(node, 1);
    Release(GradientLike(node, 1));
  }
  if (node.Wants(0)) {
    const StorageId parts = GradientLike(node, 0);
    results[0] = GradientLike(node, 0);
    Release(parts);
  }
  return results;
}

Value Tracer::Stretch(const Value& x, Size out) { return Look(OpKind::kSlice, x, out); }

Value Tracer::Pad(const Value& x, Size out) {
  Node& node = Begin(OpKind::kSlice);
  AddInput(node, x);
  const Dtype dtype = At(x).dtype;
  return AddOutput(node, Allocate(out, dtype, "pad"), out, dtype);
}

Value Tracer::Kernel(const std::array<Value, 3>& inputs, std::initializer_list<Value> kept, Size out, Dtype dtype,
                     Size workspace, const char* role, Size matrix) {
  Node& node = Begin(OpKind::kKernel);
  for (const Value& input : inputs) AddInput(node, input);
  node.extra = workspace;
  node.matrix = matrix;
  if (NeedsBackward(node)) {
    for (const Value& value : kept) {
      if (value) Keep(node, At(value).storage);
    }
  }
  return AddOutput(node, Allocate(out, dtype, role), out, dtype);
}

Tracer::Results Tracer::KernelGradients(const Node& node) {
  Results results = kNoResults;
  const StorageId workspace = Allocate(node.extra, Dtype::kFp32, "workspace");
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (node.Wants(i)) results[i] = Allocate(node.in_elements[i], node.in_dtypes[i], "gradient");
  }
  Release(workspace);
  return results;
}

}  // namespace tunefit
