// Matrix products in FP8, forward and backward: torchao's, which casts operands for each, and TransformerEngine's,
// which keeps them.
#include <array>
#include <utility>

#include "core/trace/tracer.h"

namespace tunefit {

Value Tracer::Fp8Linear(Value x, const Value& weight, double in_features, double out_features) {
  x = LowPrecision(std::move(x));
  Value w = LowPrecisionWeight(weight);
  const StorageId input = Allocate(At(x).elements, Dtype::kFp8, "input in FP8");
  const StorageId matrix = Allocate(At(w).elements, Dtype::kFp8, "weight in FP8");
  Value product = MatrixProduct(OpKind::kFp8Linear, std::move(x), std::move(w), Value(), in_features, out_features);
  Release(matrix);
  Release(input);
  return product;
}

Fp8Copy Tracer::CopyInFp8(const Value& x, bool keeps, bool transposes) {
  const Tensor tensor = At(x);
  Make(tensor.storage);
  Fp8Copy copy = tensor.fp8;
  const auto in_fp8 = [this](StorageId storage) {
    const Storage stored = step_.storages[static_cast<std::size_t>(storage)];
    if (stored.dtype != Dtype::kFp8) return Allocate(stored.elements, Dtype::kFp8, "input in FP8");
    Refer(storage);
    return storage;
  };
  if (copy.read == kNoStorage) copy.read = in_fp8(tensor.storage);
  if (keeps && copy.kept == kNoStorage) {
    if (tensor.kept_part != kNoStorage) {
      copy.kept = in_fp8(tensor.kept_part);
    } else if (transposes) {
      copy.kept = Allocate(tensor.elements, Dtype::kFp8, "input in FP8, transposed");
    } else {
      Refer(copy.read);
      copy.kept = copy.read;
    }
  }
  At(x).fp8 = copy;
  return copy;
}

Value Tracer::Fp8KeptLinear(const Value& input, const Value& weight, double in_features, double out_features,
                            bool transposes) {
  const Value x = LowPrecision(input);
  const bool trains = RequiresGradient(weight);
  const Fp8Copy copy = CopyInFp8(x, trains, transposes);
  Node& node = Begin(OpKind::kFp8KeptLinear);
  AddInput(node, x);
  AddInput(node, weight);
  node.transposes = transposes;
  node.joins_again = trains && At(x).kept_part != kNoStorage;
  if (trains) Keep(node, copy.kept);
  if (RequiresGradient(x)) Keep(node, At(weight).storage);
  const Size elements = At(x).elements * out_features / in_features;
  const Dtype dtype = At(x).dtype;
  return AddOutput(node, AllocateProduct(elements, dtype, "mm"), elements, dtype);
}

/// torchao's matmul_with_hp_or_float8_args: the input's gradient first, each product on its own casts.
Tracer::Results Tracer::Fp8Gradients(const Node& node) {
  Results results = kNoResults;
  for (const int i : {0, 1}) {
    if (!node.Wants(static_cast<std::size_t>(i))) continue;
    const StorageId gradient = Allocate(node.out_elements, Dtype::kFp8, "gradient in FP8");
    const StorageId other = Allocate(node.in_elements[static_cast<std::size_t>(1 - i)], Dtype::kFp8, "operand in FP8");
    results[static_cast<std::size_t>(i)] = GradientLike(node, i);
    Release(other);
    Release(gradient);
  }
  return results;
}

/// TransformerEngine's _linear_backward: the gradient in FP8 for both products, the input's first; tokens of all ranks
/// are joined in FP8 and transposed then.
Tracer::Results Tracer::Fp8KeptGradients(const Node& node) {
  Results results = kNoResults;
  std::array<StorageId, 3> work{kNoStorage, kNoStorage, kNoStorage};
  work[0] = Allocate(node.out_elements, Dtype::kFp8, "gradient in FP8");
  if (node.transposes && node.Wants(1)) {
    work[1] = Allocate(node.out_elements, Dtype::kFp8, "gradient in FP8, transposed");
  }
  if (node.joins_again) work[2] = Allocate(node.in_elements[0], Dtype::kFp8, "tokens of all ranks");
  if (node.Wants(0)) results[0] = GradientLike(node, 0);
  if (node.Wants(1)) {
    const bool turns = node.joins_again && node.transposes;
    const StorageId turned =
        turns ? Allocate(node.in_elements[0], Dtype::kFp8, "tokens of all ranks, transposed") : kNoStorage;
    results[1] = GradientLike(node, 1);
    if (turns) Release(turned);
  }
  for (const StorageId storage : work) {
    if (storage != kNoStorage) Release(storage);
  }
  return results;
}

}  // namespace tunefit
