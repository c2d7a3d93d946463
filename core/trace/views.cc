// What operations allocate and keep that join tensors or change them through views, forward and backward.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {

/// torch.stack, which casts its parts to the widest of their dtypes: gradients are views of that of the whole. A node
/// has three inputs, so that further parts join what is there.
Value Tracer::Stack(std::vector<Value> parts) {
  Dtype dtype = At(parts.front()).dtype;
  for (const Value& part : parts) dtype = Promote(dtype, At(part).dtype);
  for (Value& part : parts) part = Cast(part, dtype);
  const Size elements = At(parts.front()).elements * static_cast<double>(parts.size());
  const StorageId storage = Allocate(elements, dtype, "stack");
  Move(elements, 2 * BytesPerElement(dtype));
  Launch(1);
  Value joined;
  for (std::size_t next = 0; next < parts.size();) {
    Node& node = Begin(OpKind::kCat);
    if (joined) {
      AddInput(node, joined);
      Refer(storage);
    }
    while (node.inputs < node.edges.size() && next < parts.size()) AddInput(node, parts[next++]);
    joined = Tie(node, storage, elements, dtype);
  }
  return joined;
}

Value Tracer::Subtract(Value a, Value b) {
  Node& node = Begin(OpKind::kSubtract);
  AddInput(node, a);
  AddInput(node, b);
  const Size elements = At(a).elements;
  const Dtype dtype = Promote(At(a).dtype, At(b).dtype);
  Value difference = AddOutput(node, Allocate(elements, dtype, "sub"), elements, dtype);
  a.Drop();
  b.Drop();
  return difference;
}

Tracer::Results Tracer::SubtractGradients(const Node& node) {
  Results results = kNoResults;
  if (node.Wants(0)) {
    Refer(node.gradients[0]);
    results[0] = node.gradients[0];
  }
  if (!node.Wants(1)) return results;
  results[1] = Allocate(node.out_elements, node.out_dtype, "gradient");
  if (node.in_elements[1] == node.out_elements) return results;
  const StorageId sum = GradientLike(node, 1);  // over what it was broadcast to
  Release(std::exchange(results[1], sum));
  return results;
}

Value Tracer::Deviation(const Value& x, Size rows) {
  Node& node = Begin(OpKind::kDeviation);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const StorageId out = Allocate(rows, tensor.dtype, "std");
  if (NeedsBackward(node)) {
    Keep(node, tensor.storage);
    Keep(node, out);
  }
  return AddOutput(node, out, rows, tensor.dtype);
}

/// std_backward and var_backward (torch/csrc/autograd/FunctionsManual.cpp).
Tracer::Results Tracer::DeviationGradient(const Node& node) {
  const StorageId centred = GradientLike(node, 0);
  const StorageId gradient = GradientLike(node, 0);
  Release(centred);
  return {gradient, kNoStorage, kNoStorage};
}

Value Tracer::AddThroughView(Value x, const Value& y, Size part) {
  Node& node = Begin(OpKind::kAddThroughView);
  AddInput(node, x);
  AddInput(node, y);
  node.extra = part;
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  Value sum = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  return sum;
}

/// CopySlices (torch/csrc/autograd/functions/tensor.cpp): the gradient of the whole is copied and the view's part of it
/// cloned, whatever is wanted; that is the gradient of what was added or copied, too. What a copy overwrites has one of
/// zeros (CopyBackwards).
Tracer::Results Tracer::ThroughViewGradients(const Node& node) {
  Results results = kNoResults;
  results[0] = Allocate(node.out_elements, node.out_dtype, "gradient");
  const StorageId part = Allocate(node.extra, node.out_dtype, "gradient");
  if (node.kind == OpKind::kCopyThroughView) Release(Allocate(node.extra, node.out_dtype, "gradient"));
  if (!node.Wants(0)) Release(std::exchange(results[0], kNoStorage));
  if (!node.Wants(1)) {
    Release(part);
  } else if (node.in_elements[1] == node.extra) {
    results[1] = part;
  } else {
    results[1] = GradientLike(node, 1);  // summed over what it was broadcast to
    Release(part);
  }
  return results;
}

Value Tracer::CopyThroughView(Value x, const Value& y) {
  Node& node = Begin(OpKind::kCopyThroughView);
  AddInput(node, x);
  AddInput(node, y);
  node.extra = At(y).elements;
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  Value changed = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  x.Drop();
  return changed;
}

}  // namespace tunefit
