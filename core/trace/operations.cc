// What each operation allocates and keeps in the forward pass. The order of statements is the order of PyTorch's own
// allocations; tests/oracle prints them for comparison.
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {
namespace {

bool IsLowPrecision(Dtype dtype) { return dtype == Dtype::kBf16 || dtype == Dtype::kFp16; }

Size Larger(Size a, Size b) {
  if (a.axis == b.axis) return a.coefficient >= b.coefficient ? a : b;
  return static_cast<int>(a.axis) > static_cast<int>(b.axis) ? a : b;
}

}  // namespace

Value Tracer::View(const Value& x) {
  Node& node = Begin(OpKind::kView);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  return AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
}

Value Tracer::Reshape(const Value& x) {
  Node& node = Begin(OpKind::kReshape);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  return AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
}

Value Tracer::Slice(const Value& x, double share) {
  Node& node = Begin(OpKind::kSlice);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  return AddOutput(node, tensor.storage, tensor.elements * share, tensor.dtype);
}

Value Tracer::Copy(Value x, const char* role) {
  Node& node = Begin(OpKind::kView);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Value copy = AddOutput(node, Allocate(tensor.elements, tensor.dtype, role), tensor.elements, tensor.dtype);
  x.Drop();
  return copy;
}

Value Tracer::Cast(Value x, Dtype to) {
  const Tensor tensor = At(x);
  if (tensor.dtype == to) return x;
  Node& node = Begin(OpKind::kCast);
  AddInput(node, x);
  Value cast = AddOutput(node, Allocate(tensor.elements, to, "cast"), tensor.elements, to);
  x.Drop();
  return cast;
}

Value Tracer::Elementwise(Value x, bool keeps_input, bool keeps_output, const char* role) {
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const bool wanted = NeedsBackward(node);
  if (wanted && keeps_input) Keep(node, tensor.storage);
  const StorageId out = Allocate(tensor.elements, tensor.dtype, role);
  if (wanted && keeps_output) Keep(node, out);
  Value value = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return value;
}

Value Tracer::Scale(Value x) { return Elementwise(std::move(x), false, false, "mul"); }
Value Tracer::Silu(Value x) { return Elementwise(std::move(x), true, false, "silu"); }
Value Tracer::Gelu(Value x) { return Elementwise(std::move(x), true, false, "gelu"); }
Value Tracer::Tanh(Value x) { return Elementwise(std::move(x), false, true, "tanh"); }

Value Tracer::Shift(Value x) {
  Node& node = Begin(OpKind::kView);  // the gradient of x + constant is the gradient itself
  AddInput(node, x);
  const Tensor tensor = At(x);
  Value sum = AddOutput(node, Allocate(tensor.elements, tensor.dtype, "add"), tensor.elements, tensor.dtype);
  x.Drop();
  return sum;
}

Value Tracer::Pow(Value x) {
  if (autocast_) x = Fp32(std::move(x));
  Node& node = Begin(OpKind::kPow);
  AddInput(node, x);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  Value power = AddOutput(node, Allocate(tensor.elements, tensor.dtype, "pow"), tensor.elements, tensor.dtype);
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
  const StorageId out = Allocate(tensor.elements, tensor.dtype, "rsqrt");
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
  Value sum = AddOutput(node, Allocate(elements, dtype, "add"), elements, dtype);
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
  Value product = AddOutput(node, Allocate(elements, dtype, "mul"), elements, dtype);
  a.Drop();
  b.Drop();
  return product;
}

Value Tracer::Softmax(Value x) { return Elementwise(std::move(x), false, true, "softmax"); }

Value Tracer::Dropout(Value x, double probability) {
  if (probability <= 0) return x;
  Node& node = Begin(OpKind::kElementwise);
  AddInput(node, x);
  const Tensor tensor = At(x);
  const StorageId out = Allocate(tensor.elements, tensor.dtype, "dropout");
  const StorageId mask = Allocate(tensor.elements, Dtype::kBool, "dropout mask");
  if (NeedsBackward(node)) Keep(node, mask);
  Release(mask);
  Value dropped = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return dropped;
}

Value Tracer::Cat(Value a, Value b) {
  Node& node = Begin(OpKind::kCat);
  AddInput(node, a);
  AddInput(node, b);
  const Size elements{At(a).elements.coefficient + At(b).elements.coefficient, At(a).elements.axis};
  const Dtype dtype = At(a).dtype;
  Value joined = AddOutput(node, Allocate(elements, dtype, "cat"), elements, dtype);
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
  Value expanded = AddOutput(node, Allocate(elements, tensor.dtype, "repeated heads"), elements, tensor.dtype);
  x.Drop();
  return expanded;
}

std::array<Value, 3> Tracer::Split(const Value& x, const std::array<Size, 3>& sizes) {
  Node& node = Begin(OpKind::kSplit);
  AddInput(node, x);
  const Tensor tensor = At(x);
  std::array<Value, 3> parts;
  Refer(tensor.storage);
  parts[0] = AddOutput(node, tensor.storage, tensor.elements, tensor.dtype);
  At(parts[0]).elements = sizes[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Refer(tensor.storage);
    parts[i] = Wrap(tensor.storage, sizes[i], tensor.dtype, At(parts[0]).requires_gradient);
    At(parts[i]).source = {At(parts[0]).source.node, static_cast<std::uint8_t>(i)};
  }
  return parts;
}

// --- matrices
// ---------------------------------------------------------------------------------------------------------

Value Tracer::Fp32(Value x) { return Cast(std::move(x), Dtype::kFp32); }

Value Tracer::LowPrecision(Value x) {
  if (!autocast_ || !IsFloat(At(x).dtype)) return x;
  return Cast(std::move(x), *autocast_);
}

Value Tracer::LowPrecisionWeight(const Value& weight) {
  const Tensor tensor = At(weight);
  if (!autocast_ || tensor.dtype == *autocast_) return weight;
  const bool cached = tensor.is_weight && tensor.requires_gradient && tensor.dtype == Dtype::kFp32;
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
  Node& node = Begin(b ? OpKind::kLinearBias : OpKind::kLinear);
  AddInput(node, x);
  AddInput(node, w);
  AddInput(node, b);
  if (RequiresGradient(w)) Keep(node, At(x).storage);
  if (RequiresGradient(x)) Keep(node, At(w).storage);
  const Size elements = At(x).elements * (out_features / in_features);
  const Dtype dtype = At(x).dtype;
  Value product = AddOutput(node, Allocate(elements, dtype, "mm"), elements, dtype);
  x.Drop();
  w.Drop();
  return product;
}

Value Tracer::DequantizedLinear(Value x, const Value& bias, double in_features, double out_features) {
  Node& node = Begin(OpKind::kDequantizedLinear);
  AddInput(node, x);
  node.extra = {in_features * out_features, Axis::kOnce};
  const Tensor tensor = At(x);
  // The packed matrix is kept for backward: it is resident and costs nothing, but counts as kept for recomputation.
  if (NeedsBackward(node) && mode_ != Mode::kRecord) ++kept_;
  const Scope outer = scope;
  scope.term = Term::kWorkspace;
  const StorageId matrix = Allocate(node.extra, tensor.dtype, "dequantized weight");
  scope = outer;
  const Size elements = tensor.elements * (out_features / in_features);
  const StorageId out = Allocate(elements, tensor.dtype, "mm");
  Release(matrix);
  Value product = AddOutput(node, out, elements, tensor.dtype);
  x.Drop();
  if (bias) product = Add(std::move(product), Cast(bias, tensor.dtype));
  return product;
}

Value Tracer::Int8Linear(Value x, const Value& bias, double in_features, double out_features) {
  Node& node = Begin(OpKind::kDequantizedLinear);
  AddInput(node, x);
  node.extra = {in_features * out_features, Axis::kOnce};
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const Size elements = tensor.elements * (out_features / in_features);
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

Value Tracer::FusedLoraLinear(Value x, const Value& down, const Value& up, bool dequantizes, double in_features,
                              double out_features) {
  x = LowPrecision(std::move(x));
  Node& node = Begin(OpKind::kFusedLoraLinear);
  AddInput(node, x);
  AddInput(node, down);
  AddInput(node, up);
  node.extra = {dequantizes ? in_features * out_features : 0, Axis::kOnce};
  const Tensor tensor = At(x);
  Keep(node, tensor.storage);
  const Size elements = tensor.elements * (out_features / in_features);
  const StorageId matrix = Allocate(node.extra, tensor.dtype, "dequantized weight");
  const StorageId out = Allocate(elements, tensor.dtype, "mm");
  Release(matrix);
  const double rank = At(down).elements.coefficient / in_features;
  Value low = Empty(tensor.elements * (rank / in_features), tensor.dtype, "low-rank input");
  Value product = AddOutput(node, out, elements, tensor.dtype);
  x.Drop();
  return product;
}

Value Tracer::BatchMatmul(Value a, Value b, Size out) {
  a = LowPrecision(std::move(a));
  b = LowPrecision(std::move(b));
  Node& node = Begin(OpKind::kBatchMatmul);
  AddInput(node, a);
  AddInput(node, b);
  if (RequiresGradient(b)) Keep(node, At(a).storage);
  if (RequiresGradient(a)) Keep(node, At(b).storage);
  const Dtype dtype = At(a).dtype;
  Value product = AddOutput(node, Allocate(out, dtype, "bmm"), out, dtype);
  a.Drop();
  b.Drop();
  return product;
}

Value Tracer::LayerNorm(Value x, const Value& weight, const Value& bias, Size rows) {
  if (autocast_) x = Fp32(std::move(x));
  Value w = autocast_ ? Fp32(weight) : weight;
  Value b = autocast_ ? Fp32(bias) : bias;
  Node& node = Begin(OpKind::kLayerNorm);
  AddInput(node, x);
  AddInput(node, w);
  AddInput(node, b);
  const Tensor tensor = At(x);
  const bool wanted = NeedsBackward(node);
  if (wanted) {
    Keep(node, tensor.storage);
    Keep(node, At(w).storage);
    Keep(node, At(b).storage);
  }
  const StorageId out = Allocate(tensor.elements, tensor.dtype, "layer_norm");
  const Dtype statistics = IsLowPrecision(tensor.dtype) ? Dtype::kFp32 : tensor.dtype;
  const StorageId mean = Allocate(rows, statistics, "mean");
  const StorageId rstd = Allocate(rows, statistics, "rstd");
  if (wanted) {
    Keep(node, mean);
    Keep(node, rstd);
  }
  Release(mean);
  Release(rstd);
  Value normed = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return normed;
}

Value Tracer::FusedRmsNorm(Value x, const Value& weight, Size rows) {
  Node& node = Begin(OpKind::kFusedNorm);
  AddInput(node, x);
  AddInput(node, weight);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const StorageId out = Allocate(tensor.elements, tensor.dtype, "rms_norm");
  const StorageId scale = Allocate(rows, Dtype::kFp32, "rstd");
  if (NeedsBackward(node)) Keep(node, scale);
  Release(scale);
  Value normed = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return normed;
}

Value Tracer::FusedSwiglu(Value gate, Value up) {
  Node& node = Begin(OpKind::kPrepared);
  AddInput(node, gate);
  AddInput(node, up);
  const Tensor tensor = At(gate);
  if (NeedsBackward(node)) {
    Keep(node, tensor.storage);
    Keep(node, At(up).storage);
  }
  Value product = AddOutput(node, Allocate(tensor.elements, tensor.dtype, "swiglu"), tensor.elements, tensor.dtype);
  gate.Drop();
  up.Drop();
  return product;
}

Value Tracer::Embedding(const Value& ids, const Value& weight, Size out) {
  Node& node = Begin(OpKind::kEmbedding);
  AddInput(node, weight);
  if (NeedsBackward(node)) Keep(node, At(ids).storage);
  const Dtype dtype = At(weight).dtype;
  return AddOutput(node, Allocate(out, dtype, "embedding"), out, dtype);
}

Value Tracer::FusedAttention(Value q, Value k, Value v, Value mask, Size rows) {
  q = LowPrecision(std::move(q));
  k = LowPrecision(std::move(k));
  v = LowPrecision(std::move(v));
  Node& node = Begin(OpKind::kAttention);
  AddInput(node, q);
  AddInput(node, k);
  AddInput(node, v);
  const Tensor query = At(q);
  const bool wanted = NeedsBackward(node);
  if (wanted) {
    Keep(node, query.storage);
    Keep(node, At(k).storage);
    Keep(node, At(v).storage);
    if (mask) Keep(node, At(mask).storage);
  }
  const StorageId out = Allocate(query.elements, query.dtype, "attention output");
  const StorageId statistics = Allocate(rows, Dtype::kFp32, "log-sum-exp");
  if (wanted) {
    Keep(node, out);
    Keep(node, statistics);
  }
  Release(statistics);
  mask.Drop();
  return AddOutput(node, out, query.elements, query.dtype);
}

Value Tracer::NegativeLogLikelihood(Value log_probabilities, Value labels) {
  Node& node = Begin(OpKind::kNegativeLogLikelihood);
  AddInput(node, log_probabilities);
  const Dtype dtype = At(log_probabilities).dtype;
  constexpr Size kScalar{1, Axis::kOnce};
  if (NeedsBackward(node)) {
    Keep(node, At(log_probabilities).storage);
    Keep(node, At(labels).storage);
  }
  const StorageId loss = Allocate(kScalar, dtype, "loss");
  const StorageId weight = Allocate(kScalar, dtype, "total weight");
  if (NeedsBackward(node)) Keep(node, weight);
  Release(weight);
  Value value = AddOutput(node, loss, kScalar, dtype);
  log_probabilities.Drop();
  labels.Drop();
  return value;
}

Value Tracer::InPlaceCrossEntropy(Value logits) {
  Node& node = Begin(OpKind::kPrepared);
  AddInput(node, logits);
  constexpr Size kScalar{1, Axis::kOnce};
  const bool wanted = NeedsBackward(node);
  if (wanted) Keep(node, At(logits).storage);
  Value losses = Empty({1, Axis::kTokens}, Dtype::kFp32, "losses");
  Value loss = AddOutput(node, Allocate(kScalar, Dtype::kFp32, "loss"), kScalar, Dtype::kFp32);
  logits.Drop();
  return loss;
}

Value Tracer::Prepared(const Value& x, const Value& weight, const Value& x_gradient, const Value& weight_gradient,
                       Size out, Dtype dtype) {
  Node& node = Begin(OpKind::kPrepared);
  AddInput(node, x);
  AddInput(node, weight);
  if (NeedsBackward(node)) {
    Keep(node, At(x_gradient).storage);
    if (weight_gradient) Keep(node, At(weight_gradient).storage);
  }
  return AddOutput(node, Allocate(out, dtype, "loss"), out, dtype);
}

Value Tracer::Narrow(const Value& x, Size part) {
  Node& node = Begin(OpKind::kSlice);
  AddInput(node, x);
  const Tensor tensor = At(x);
  Refer(tensor.storage);
  return AddOutput(node, tensor.storage, part, tensor.dtype);
}

Value Tracer::Checkpoint(const std::function<Value(const Value&)>& module, const Value& x) {
  Node node;
  node.kind = OpKind::kCheckpoint;
  node.scope = scope;
  AddInput(node, x);
  const Mode outer = std::exchange(mode_, Mode::kDiscard);
  kept_ = 0;
  Value out = module(x);
  mode_ = outer;
  Tensor& tensor = At(out);
  if (!tensor.requires_gradient) return out;
  node.recomputation = static_cast<std::int32_t>(recomputations_.size());
  recomputations_.push_back({module, kept_});
  Refer(At(x).storage);
  node.saved[node.saved_count++] = At(x).storage;
  node.out_elements = tensor.elements;
  node.out_dtype = tensor.dtype;
  tensor.source = {static_cast<std::int32_t>(nodes_.size()), 0};
  nodes_.push_back(node);
  return out;
}

}  // namespace tunefit
