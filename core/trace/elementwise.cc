// What each operation allocates and keeps in the forward pass; the order of statements is PyTorch's own order of
// allocations. Here: views, casts and whatever works element by element.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {
namespace {

Size Larger(Size a, Size b) {
  if (a.axis == b.axis) return a.coefficient >= b.coefficient ? a : b;
  return static_cast<int>(a.axis) > static_cast<int>(b.axis) ? a : b;
}

}  // namespace

Value Tracer::Look(OpKind kind, const Value& x, Size elements) {
  Node& node = Begin(kind);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  return Tie(node, tensor.storage, elements, tensor.dtype);
}

Value Tracer::View(const Value& x) { return Look(OpKind::kView, x, SizeOf(x)); }
Value Tracer::Reshape(const Value& x) { return Look(OpKind::kReshape, x, SizeOf(x)); }
Value Tracer::Slice(const Value& x, double share) { return Narrow(x, SizeOf(x) * share); }
Value Tracer::Narrow(const Value& x, Size part) { return Look(OpKind::kSlice, x, part); }

Value Tracer::Exchange(const Value& x, Size out, const char* role, const Value& part) {
  Node& node = Begin(OpKind::kExchange);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Value exchanged = AddOutput(node, Allocate(out, StoredIn(x), role), out, tensor.dtype);
  if (part) At(exchanged).kept_part = At(part).storage;
  return exchanged;
}

Value Tracer::Copy(Value x, const char* role) {
  Node& node = Begin(OpKind::kView);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Value copy = AddOutput(node, AllocateFused(tensor.elements, tensor.dtype, role, {tensor.storage}), tensor.elements,
                         tensor.dtype);
  x.Drop();
  return copy;
}

Value Tracer::Cast(Value x, Dtype to) {
  const Tensor tensor = At(x);
  if (tensor.dtype == to) return x;
  Node& node = Begin(OpKind::kCast);
  AddInput(node, x);
  Value cast = AddOutput(node, AllocateFused(tensor.elements, to, "cast", {tensor.storage}), tensor.elements, to);
  x.Drop();
  return cast;
}

Value Tracer::Elementwise(Value x, bool keeps_input, bool keeps_output, const char* role) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const bool wanted = NeedsBackward(node);
  if (wanted && keeps_input) Keep(node, tensor.storage);
  const StorageId out = AllocateFused(tensor.elements, tensor.dtype, role, {tensor.storage});
  if (wanted && keeps_output) Keep(node, out);
  Value value = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return value;
}

Value Tracer::Scale(Value x) { return Elementwise(std::move(x), false, false, "mul"); }
Value Tracer::Silu(Value x) { return Elementwise(std::move(x), true, false, "silu"); }
Value Tracer::Gelu(Value x) { return Elementwise(std::move(x), true, false, "gelu"); }
Value Tracer::Sigmoid(Value x) { return Elementwise(std::move(x), false, true, "sigmoid"); }
Value Tracer::Square(Value x) { return Elementwise(std::move(x), true, false, "square"); }
Value Tracer::Tanh(Value x) { return Elementwise(std::move(x), false, true, "tanh"); }

/// The gradient of x + constant is the gradient itself, as that of a copy is.
Value Tracer::Shift(Value x) { return Copy(std::move(x), "add"); }

Value Tracer::Pow(Value x) {
  if (autocast_) x = Fp32(std::move(x));
  Node& node = Begin(OpKind::kPow);
  AddInput(node, x);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  Value power = AddOutput(node, AllocateFused(tensor.elements, tensor.dtype, "pow", {tensor.storage}), tensor.elements,
                          tensor.dtype);
  x.Drop();
  return power;
}

Value Tracer::Mean(Value x, Size rows) {
  Node& node = Begin(OpKind::kMean);
  AddInput(node, x);
  const Dtype dtype = At(x).dtype;
  Value mean = AddOutput(node, Allocate(rows, dtype, "mean"), rows, dtype);
  x.Drop();
  return mean;
}

Value Tracer::Rsqrt(Value x) {
  Node& node = Begin(OpKind::kRsqrt);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const StorageId out = AllocateFused(tensor.elements, tensor.dtype, "rsqrt", {tensor.storage});
  if (NeedsBackward(node)) Keep(node, out);
  Value root = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return root;
}

Value Tracer::Add(Value a, Value b) {
  Node& node = Begin(OpKind::kAdd);
  AddInput(node, a);
  AddInput(node, b);
  const Size elements = Larger(At(a).elements, At(b).elements);
  const Dtype dtype = Promote(At(a).dtype, At(b).dtype);
  Value sum = AddOutput(node, AllocateFused(elements, dtype, "add", {At(a).storage, At(b).storage}), elements, dtype);
  a.Drop();
  b.Drop();
  return sum;
}

Value Tracer::Mul(Value a, Value b) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, a);
  AddInput(node, b);
  if (RequiresGradient(b)) Keep(node, At(a).storage);
  if (RequiresGradient(a)) Keep(node, At(b).storage);
  const Size elements = Larger(At(a).elements, At(b).elements);
  const Dtype dtype = Promote(At(a).dtype, At(b).dtype);
  Value product =
      AddOutput(node, AllocateFused(elements, dtype, "mul", {At(a).storage, At(b).storage}), elements, dtype);
  a.Drop();
  b.Drop();
  return product;
}

Value Tracer::Where(Value condition, Value a, Value b) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, a);
  AddInput(node, b);
  const Tensor tensor = At(a);
  if (NeedsBackward(node)) Keep(node, At(condition).storage);
  Value chosen = AddOutput(node, Allocate(tensor.elements, tensor.dtype, "where"), tensor.elements, tensor.dtype);
  condition.Drop();
  a.Drop();
  b.Drop();
  return chosen;
}

Value Tracer::ByHand(Value x, int temporaries, const char* role) {
  Node& node = Begin(OpKind::kByHand);
  AddInput(node, x);
  const Tensor tensor = At(x);
  node.extra = tensor.elements * static_cast<double>(temporaries);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const StorageId work = Allocate(node.extra, tensor.dtype, "temporaries");
  Release(work);
  Value value = AddOutput(node, Allocate(tensor.elements, tensor.dtype, role), tensor.elements, tensor.dtype);
  x.Drop();
  return value;
}

Value Tracer::Softmax(Value x) { return Elementwise(std::move(x), false, true, "softmax"); }

Value Tracer::Dropout(Value x, double probability) {
  if (probability <= 0) return x;
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  const Tensor tensor = At(x);
  // Fused, the mask is what random numbers leave, and the output comes of it; else the kernel makes both at once.
  const StorageId whole = fuses_ ? kNoStorage : Allocate(tensor.elements, tensor.dtype, "dropout");
  const StorageId mask = Allocate(tensor.elements, Dtype::kBool, "dropout mask");
  const StorageId out =
      fuses_ ? AllocateFused(tensor.elements, tensor.dtype, "dropout", {tensor.storage, mask}) : whole;
  if (NeedsBackward(node)) Keep(node, mask);
  Release(mask);
  Value dropped = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return dropped;
}

Value Tracer::Cat(Value a, Value b) {
  const Size out{At(a).elements.coefficient + At(b).elements.coefficient, At(a).elements.axis};
  return Cat(std::move(a), std::move(b), out);
}

Value Tracer::Cat(Value a, Value b, Size elements) {
  Node& node = Begin(OpKind::kCat);
  AddInput(node, a);
  AddInput(node, b);
  const Dtype dtype = At(a).dtype;
  Value joined =
      AddOutput(node, AllocateFused(elements, dtype, "cat", {At(a).storage, At(b).storage}), elements, dtype);
  a.Drop();
  b.Drop();
  return joined;
}

Value Tracer::ExpandHeads(Value x, double copies) {
  if (copies == 1) return x;
  Node& node = Begin(OpKind::kExpandHeads);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const Size elements = tensor.elements * copies;
  Value expanded = AddOutput(node, AllocateFused(elements, tensor.dtype, "repeated heads", {tensor.storage}), elements,
                             tensor.dtype);
  x.Drop();
  return expanded;
}

Value Tracer::StretchHeads(const Value& x, double copies) {
  if (copies == 1) return x;
  return Look(OpKind::kExpandHeads, x, SizeOf(x) * copies);
}

std::array<Value, 2> Tracer::Halve(const Value& x) {
  const Size half = SizeOf(x) * 0.5;
  std::array<Value, 3> parts = Split(x, {half, half, {}});
  return {std::move(parts[0]), std::move(parts[1])};
}

std::array<Value, 3> Tracer::Split(const Value& x, const std::array<Size, 3>& sizes) {
  Node& node = Begin(OpKind::kSplit);
  AddInput(node, x);
  const Tensor tensor = At(x);
  std::array<Value, 3> parts;
  Refer(tensor.storage);
  parts[0] = Tie(node, tensor.storage, tensor.elements, tensor.dtype);
  At(parts[0]).elements = sizes[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Refer(tensor.storage);
    parts[i] = Wrap(tensor.storage, sizes[i], tensor.dtype, At(parts[0]).requires_gradient);
    At(parts[i]).source = {At(parts[0]).source.node, static_cast<std::uint8_t>(i)};
  }
  return parts;
}

}  // namespace tunefit
