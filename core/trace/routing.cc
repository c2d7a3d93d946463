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
  if (RequiresGradient(weight)) Keep(node, At(x).storage);
  if (RequiresGradient(x)) Keep(node, At(weight).storage);
  if (NeedsBackward(node)) Keep(node, At(offsets).storage);
  const Dtype dtype = At(x).dtype;
  Value product = AddOutput(node, Allocate(out, dtype, "grouped mm"), out, dtype);
  x.Drop();
  return product;
}

}  // namespace tunefit
