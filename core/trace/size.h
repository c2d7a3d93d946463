#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/model/dtype.h"

namespace tunefit {

/// What a tensor's number of elements grows with. A tensor is a product of sides, so one of these and a coefficient say
/// its size for every batch and length: a trace is written once and read at any batch.
enum class Axis : std::uint8_t {
  kOnce,             ///< neither batch nor length
  kLength,           ///< s
  kKeptLength,       ///< the last tokens of a sequence whose logits are computed: s where all are
  kSequences,        ///< b
  kTokens,           ///< b * s
  kKept,             ///< b * kept length
  kScores,           ///< b * s * s
  kChunk,            ///< tokens of one block of a chunked loss
  kIfBatched,        ///< 1 where b > 1, else 0
  kTokensIfBatched,  ///< b * s where b > 1, else 0: copies that PyTorch avoids for a single sequence
  kKeptIfBatched,    ///< the same of b * kept length
  kPairs,            ///< s * s: one number for every pair of positions, whatever the sequence
  kShifted,          ///< b * (kept length - 1): logits without the last of each sequence
  kDataTokens,       ///< b * tokens of the data: all but virtual ones
  kCount,
};

constexpr int kAxisCount = static_cast<int>(Axis::kCount);

/// A number of elements: coefficient x axis.
struct Size {
  double coefficient = 0;
  Axis axis = Axis::kOnce;

  constexpr Size operator*(double factor) const { return {coefficient * factor, axis}; }
  /// A change of width is written `size * to / from`: exact, where `size * (to / from)` may be off in the last bit.
  constexpr Size operator/(double divisor) const { return {coefficient / divisor, axis}; }
  constexpr bool operator==(const Size&) const = default;
};

/// A parameter's shape as far as dividing it among ranks needs it: its first dimension, and all others as one.
struct WeightShape {
  double rows = 0;
  double columns = 1;
  double last = 0;  ///< of a stack of matrices the last dimension; 0 where the parameter is a matrix or a vector

  constexpr Size elements() const { return {rows * columns, Axis::kOnce}; }
};

constexpr WeightShape VectorShape(std::int64_t length) { return {static_cast<double>(length), 1}; }
constexpr WeightShape MatrixShape(std::int64_t rows, std::int64_t columns) {
  return {static_cast<double>(rows), static_cast<double>(columns)};
}

/// The same size where the batch is above one, else nothing.
constexpr Size IfBatched(Size size) {
  return {size.coefficient, size.axis == Axis::kTokens ? Axis::kTokensIfBatched : Axis::kIfBatched};
}

/// How many tokens a chunked loss works on at a time: a fixed number, the power of two next above a share, or a part of
/// every sequence.
struct ChunkRule {
  double tokens = 0;              ///< fixed
  double power_of_two_share = 0;  ///< where above zero: next_power_of_two(ceil(tokens / share))
  double of_length = 0;           ///< where above zero: so many tokens of every sequence
  double parts = 0;               ///< where above zero: every sequence in so many parts, the first of them

  constexpr double Tokens(double total) const {
    if (power_of_two_share <= 0) return std::min(total, tokens);
    double power = 1;
    while (power * power_of_two_share < total) power *= 2;
    return std::min(total, power);
  }
  constexpr double Tokens(double sequences, double length) const {
    if (of_length > 0) return sequences * std::min(length, of_length);
    if (parts <= 0) return Tokens(sequences * length);
    const auto whole = static_cast<std::int64_t>(length / parts);
    return sequences * static_cast<double>(whole + (static_cast<double>(whole) * parts < length ? 1 : 0));
  }
};

/// The values of the axes for one batch and length.
struct Axes {
  std::array<double, kAxisCount> values{};

  /// `kept`: tokens at the end of a sequence whose logits are computed; `data`: those that are no virtual ones; all
  /// unless told otherwise.
  static constexpr Axes Of(double batch, double length, const ChunkRule& chunk, double kept = 0, double data = 0) {
    const double batched = batch > 1 ? 1 : 0;
    const double tokens = batch * length;
    if (kept <= 0) kept = length;
    if (data <= 0) data = length;
    return {{1, length, kept, batch, tokens, batch * kept, tokens * length, chunk.Tokens(batch, length), batched,
             batched * tokens, batched * batch * kept, length * length, batch * (kept - 1), batch * data}};
  }
  constexpr double operator()(Size size) const { return size.coefficient * values[static_cast<int>(size.axis)]; }
  bool operator==(const Axes&) const = default;
};

}  // namespace tunefit
