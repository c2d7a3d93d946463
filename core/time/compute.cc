#include "core/time/compute.h"

#include <algorithm>
#include <cmath>

namespace tunefit {
namespace {

void Add(Flops& flops, Effort effort, double count) {
  switch (effort) {
    case Effort::kForward:
      flops.forward += count;
      return;
    case Effort::kRecompute:
      flops.recompute += count;
      return;
    case Effort::kBackward:
      flops.backward += count;
      return;
  }
}

/// Matrix units read 16 bytes at a time.
constexpr std::int64_t kAlignedElements = 8;

/// A side of a head's matrices, by its square. A side of one is counted in tokens, whose number is not known here.
bool IsAligned(double squared_side) {
  const std::int64_t side = std::llround(std::sqrt(squared_side));
  return side <= 1 || side % kAlignedElements == 0;
}

/// In the products of attention's heads, which stand one after another in memory, each begins on a multiple of 16
/// bytes.
bool IsAligned(const Matmul& matmul) {
  const double batches = matmul.batches.coefficient;
  const bool has_weight =
      matmul.a.axis == Axis::kOnce || matmul.b.axis == Axis::kOnce || matmul.out.axis == Axis::kOnce;
  if (batches <= 1 || has_weight) return true;
  const double a = matmul.a.coefficient;
  const double b = matmul.b.coefficient;
  const double out = matmul.out.coefficient;
  return IsAligned(a * out / (b * batches)) && IsAligned(a * b / (out * batches)) && IsAligned(b * out / (a * batches));
}

Flops& FlopsOf(MicroBatchWork& sum, const Matmul& matmul) {
  if (matmul.dtype == Dtype::kFp8) return sum.matmul_fp8;
  return matmul.dtype == Dtype::kFp32 || !IsAligned(matmul) ? sum.matmul_fp32 : sum.matmul;
}

/// Keys that a query attends to, on average over a sequence.
double KeysOf(const AttentionSpan& span, double length) {
  const double window = span.window > 0 ? std::min(static_cast<double>(span.window), length) : length;
  if (!span.causal) return window;
  // The first `window` queries see as many keys as there are before them, all others the window.
  return window - window * (window - 1) / (2 * length);
}

/// A result of FP8 factors is written in 16 bits.
double OperandBytes(const Matmul& matmul, const Axes& axes) {
  const double size = BytesPerElement(matmul.dtype);
  return (axes(matmul.a) + axes(matmul.b)) * size + axes(matmul.out) * std::max(size, 2.0);
}

/// Where a loss runs over blocks of a fixed number of tokens the trace has one of them for all.
double BlocksOf(const ChunkRule& rule, const Axes& axes) {
  if (rule.tokens <= 0 || rule.power_of_two_share > 0 || rule.of_length > 0 || rule.parts > 0) return 1;
  return axes({1, Axis::kTokens}) / std::max(1.0, axes({1, Axis::kChunk}));
}

bool IsOfBlock(const Matmul& matmul) {
  return matmul.a.axis == Axis::kChunk || matmul.b.axis == Axis::kChunk || matmul.out.axis == Axis::kChunk;
}

}  // namespace

double FlopsOf(const Matmul& matmul, const Axes& axes) {
  const double batches = axes(matmul.batches);
  if (batches <= 0) return 0;
  return 2 * std::sqrt(axes(matmul.a) * axes(matmul.b) * axes(matmul.out) / batches);
}

/// Two products of each query with its keys: with the keys themselves, and of the probabilities with the values.
/// Backward makes the scores again, and has two products for each of these.
double FlopsOf(const FusedScores& scores, const Axes& axes, double parts) {
  const double length = parts * axes({1, Axis::kLength});
  if (length <= 0) return 0;
  const double keys = KeysOf(scores.span, length);
  const double by_keys = 2 * axes(scores.query) * keys;
  const double by_values = 2 * axes(scores.out) * keys;
  if (scores.effort != Effort::kBackward) return by_keys + by_values;
  return 3 * by_keys + 2 * by_values;
}

MicroBatchWork WorkOf(const Step& step, const Axes& axes, double parts, double reference_share) {
  MicroBatchWork sum;
  const double blocks = BlocksOf(step.chunk, axes);
  for (std::size_t i = 0; i < step.work.sections.size(); ++i) {
    const Work& work = step.work.sections[i];
    const Section& section = step.sections[i];
    const double share = section.moment == Moment::kReference ? reference_share : 1;
    const double repeats = share * static_cast<double>(section.repeats);
    for (std::int32_t j = work.first_matmul; j < work.end_matmul; ++j) {
      const Matmul& matmul = step.work.matmuls[static_cast<std::size_t>(j)];
      const double times = IsOfBlock(matmul) ? repeats * blocks : repeats;
      sum.operand_bytes += times * OperandBytes(matmul, axes);
      Add(FlopsOf(sum, matmul), matmul.effort, times * FlopsOf(matmul, axes));
    }
    for (std::int32_t j = work.first_scores; j < work.end_scores; ++j) {
      const FusedScores& scores = step.work.scores[static_cast<std::size_t>(j)];
      Add(sum.attention, scores.effort, repeats * FlopsOf(scores, axes, parts));
    }
    for (std::int32_t j = work.first_transfer; j < work.end_transfer; ++j) {
      const Transfer& transfer = step.work.transfers[static_cast<std::size_t>(j)];
      const double bytes = repeats * axes(transfer.elements) * transfer.bytes_per_element;
      const double mirrored = transfer.effort == Effort::kForward ? 2 * bytes : bytes;
      if (transfer.group == Group::kData) {
        sum.gathered_bytes += bytes;
        sum.gathers += repeats;
      }
      if (transfer.group == Group::kTensor) sum.tensor_bytes += mirrored;
      if (transfer.group == Group::kExpert) sum.expert_bytes += mirrored;
    }
    for (int axis = 0; axis < kAxisCount; ++axis) {
      const double times = static_cast<Axis>(axis) == Axis::kChunk ? repeats * blocks : repeats;
      sum.bytes += times * work.bytes[static_cast<std::size_t>(axis)] * axes({1, static_cast<Axis>(axis)});
    }
    sum.kernels += repeats * work.kernels;
  }
  return sum;
}

}  // namespace tunefit
