// What each operation allocates and keeps in the forward pass; the order of statements is PyTorch's own order of
// allocations. Here: kernels that do several things at once, losses, and checkpoints.
#include <limits>
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {
namespace {

bool IsLowPrecision(Dtype dtype) { return dtype == Dtype::kBf16 || dtype == Dtype::kFp16; }

}  // namespace

Value Tracer::LayerNorm(Value x, const Value& weight, const Value& bias, Size rows, bool writes_fp8) {
  if (autocast_) x = Fp32(std::move(x));
  Value w = autocast_ && weight ? Fp32(weight) : weight;
  Value b = autocast_ && bias ? Fp32(bias) : bias;
  Node& node = Begin(OpKind::kLayerNorm);
  AddInput(node, x);
  AddInput(node, w);
  AddInput(node, b);
  const Tensor tensor = At(x);
  const bool wanted = NeedsBackward(node);
  if (wanted) {
    Keep(node, tensor.storage);
    if (w) Keep(node, At(w).storage);
    if (b) Keep(node, At(b).storage);
  }
  const Dtype written = writes_fp8 ? Dtype::kFp8 : tensor.dtype;
  const StorageId out = AllocateFused(tensor.elements, written, "layer_norm", {tensor.storage});
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

Value Tracer::FusedRmsNorm(Value x, const Value& weight, Size rows, bool writes_fp8) {
  Node& node = Begin(OpKind::kFusedNorm);
  AddInput(node, x);
  AddInput(node, weight);
  const Tensor tensor = At(x);
  if (NeedsBackward(node)) Keep(node, tensor.storage);
  const StorageId out = Allocate(tensor.elements, writes_fp8 ? Dtype::kFp8 : tensor.dtype, "rms_norm");
  const StorageId scale = Allocate(rows, Dtype::kFp32, "rstd");
  if (NeedsBackward(node)) Keep(node, scale);
  Release(scale);
  Value normed = AddOutput(node, out, tensor.elements, tensor.dtype);
  x.Drop();
  return normed;
}

Value Tracer::FusedAttention(Value q, Value k, Value v, Value mask, Size rows, AttentionSpan span) {
  q = LowPrecision(std::move(q));
  k = LowPrecision(std::move(k));
  v = LowPrecision(std::move(v));
  Node& node = Begin(OpKind::kAttention);
  AddInput(node, q);
  AddInput(node, k);
  AddInput(node, v);
  node.span = span;
  const Tensor query = At(q);
  const bool wanted = NeedsBackward(node);
  if (wanted) {
    Keep(node, query.storage);
    Keep(node, At(k).storage);
    Keep(node, At(v).storage);
    if (mask) Keep(node, At(mask).storage);
  }
  // As wide as the values, for every query head.
  const Size elements = query.elements * At(v).elements.coefficient / At(k).elements.coefficient;
  const StorageId out = AllocateAttention(elements, query.dtype, "attention output");
  const StorageId statistics = AllocateAttention(rows, Dtype::kFp32, "log-sum-exp");
  if (wanted) {
    Keep(node, out);
    Keep(node, statistics);
  }
  Release(statistics);
  mask.Drop();
  return AddOutput(node, out, elements, query.dtype);
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

Value Tracer::LogProbabilities(Value logits, double vocabulary) {
  const Tensor tensor = At(logits);
  const bool exact = tensor.dtype == Dtype::kFp32;
  Node& node = Begin(exact ? OpKind::kLogSumExpRows : OpKind::kLogSoftmaxRows);
  AddInput(node, logits);
  node.extra = {vocabulary, Axis::kKeptLength};
  const bool wanted = NeedsBackward(node);
  if (exact) {
    if (wanted) Keep(node, tensor.storage);
    Release(Allocate(node.extra, tensor.dtype, "shifted logits of a sequence"));
  } else {
    // Rows that nobody keeps end when the loop's next one has taken their name.
    const Size rows = wanted ? tensor.elements : node.extra * 2;
    const StorageId held = Allocate(rows, tensor.dtype, "log_softmax");
    if (wanted) Keep(node, held);
    Release(held);
  }
  constexpr Size kOnePerToken{1, Axis::kKept};
  const StorageId picked = Allocate(kOnePerToken, tensor.dtype, "log-probabilities");
  Value value = AddOutput(node, picked, kOnePerToken, tensor.dtype);
  logits.Drop();
  return value;
}

Value Tracer::ScaleThroughView(const Value& x) { return Look(OpKind::kInPlaceOnView, x, SizeOf(x)); }

Value Tracer::Prepared(const Value& x, const Value& y, const Value& x_gradient, const Value& y_gradient, Size out,
                       Dtype dtype, const char* role) {
  Node& node = Begin(OpKind::kPrepared);
  AddInput(node, x);
  AddInput(node, y);
  if (NeedsBackward(node)) {
    Keep(node, At(x_gradient).storage);
    if (y_gradient) Keep(node, At(y_gradient).storage);
  }
  return AddOutput(node, Allocate(out, dtype, role), out, dtype);
}

Value Tracer::FusedSwiglu(Value gate, Value up) {
  Value product = Prepared(gate, up, gate, up, SizeOf(gate), DtypeOf(gate), "swiglu");
  gate.Drop();
  up.Drop();
  return product;
}

Value Tracer::InPlaceCrossEntropy(Value logits) {
  const Value losses = Empty({1, Axis::kTokens}, Dtype::kFp32, "losses");
  Move(SizeOf(logits), 2 * BytesPerElement(DtypeOf(logits)));  // read twice, and overwritten
  Value loss = Prepared(logits, Value(), logits, Value(), {1, Axis::kOnce}, Dtype::kFp32, "loss");
  logits.Drop();
  return loss;
}

Value Tracer::ChunkedCrossEntropy(Value logits, const Value& upcast, Size chunk) {
  Node& node = Begin(OpKind::kChunkedLoss);
  AddInput(node, logits);
  node.extra = chunk;
  const Tensor tensor = At(logits);
  constexpr Size kScalar{1, Axis::kOnce};
  if (fuses_ && !upcast) {  // every chunk's loss is a graph of its own, which computes from the logits both ways
    if (NeedsBackward(node)) Keep(node, tensor.storage);
    return AddOutput(node, Allocate(kScalar, Dtype::kFp32, "loss"), kScalar, Dtype::kFp32);
  }
  if (upcast) logits.Drop();
  const bool upcasts = !upcast && tensor.dtype != Dtype::kFp32;
  const StorageId upcast_chunk = upcasts ? Allocate(chunk, Dtype::kFp32, "upcast chunk") : kNoStorage;
  const StorageId kept = Allocate(tensor.elements, Dtype::kFp32, "log-probabilities");
  Move(tensor.elements, 2 * BytesPerElement(Dtype::kFp32));
  if (upcasts) Release(upcast_chunk);
  if (NeedsBackward(node)) Keep(node, kept);
  Release(kept);
  return AddOutput(node, Allocate(kScalar, Dtype::kFp32, "loss"), kScalar, Dtype::kFp32);
}

Value Tracer::Checkpoint(const Module& module, const std::array<Value, 3>& inputs, const CheckpointRule& rule,
                         std::initializer_list<Value*> made, std::initializer_list<const Value*> held) {
  Node node;
  node.kind = OpKind::kCheckpoint;
  node.scope = scope;
  node.compiled = fuses_;
  for (const Value& input : inputs) {
    if (input) AddInput(node, input);
  }
  node.recomputation = static_cast<std::int32_t>(recomputations_.size());
  recomputations_.push_back({module, rule, 0, {}, made});
  const Mode outer = std::exchange(mode_, Mode::kDiscard);
  checkpoint_ = node.recomputation;
  products_ = 0;
  kept_ = 0;
  Value out = module(inputs);
  Make(At(out).storage);
  mode_ = outer;
  checkpoint_ = -1;
  Tensor& tensor = At(out);
  Recomputation& recomputation = recomputations_.back();
  if (!tensor.requires_gradient) {
    for (const StorageId output : recomputation.outputs) Release(output);
    return out;
  }
  recomputation.kept = rule.recompute == Recompute::kStopsEarly ? kept_ : std::numeric_limits<std::int32_t>::max();
  const std::int64_t repeats = step_.sections.back().repeats;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    const StorageId storage = At(inputs[i]).storage;
    node.saved[node.saved_count++] = storage;
    if (rule.to_host) {
      step_.host_checkpoints.push_back({storage, repeats});
    } else {
      Refer(storage);
    }
  }
  for (const Value* value : held) {
    if (!*value) continue;
    Refer(At(*value).storage);
    node.saved[node.saved_count++] = At(*value).storage;
  }
  node.out_elements = tensor.elements;
  node.out_dtype = tensor.dtype;
  const auto index = static_cast<std::int32_t>(nodes_.size());
  tensor.source = {index, 0};
  std::uint8_t slot = 0;
  for (const Value* value : made) {
    ++slot;
    if (*value && At(*value).requires_gradient) At(*value).source = {index, slot};
  }
  nodes_.push_back(node);
  return out;
}

}  // namespace tunefit
