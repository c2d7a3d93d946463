#include "core/trace/tracer.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "core/memory/replay.h"

namespace tunefit {
namespace {

/// One element a token: at 512 tokens of fp32, 2,048 bytes.
constexpr Size kRow{1, Axis::kTokens};
constexpr double kRowBytes = 2048;
constexpr Axes kAxes = Axes::Of(1, 512, {});

Value Data(Tracer& tracer) { return tracer.Input(kRow, Dtype::kFp32, "data"); }

Value Trained(Tracer& tracer, double elements) {
  return tracer.Weight({elements, 1}, Dtype::kFp32, Term::kWeights, "weight", true, 1);
}

/// Live bytes after the traced operations, and the most along the way.
Replay Finished(Tracer& tracer) { return ReplayStep(tracer.Finish(), kAxes); }

TEST(Tracer, ATensorEndsWithItsLastReference) {
  Tracer tracer(std::nullopt, false);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  {
    Value a = Data(tracer);
    const Value b = a;
    a.Drop();
    Value c = tracer.Scale(b);
  }
  const Replay replay = Finished(tracer);
  EXPECT_EQ(replay.after_forward, 0);
  EXPECT_EQ(replay.peak_forward.bytes, 2 * kRowBytes);
}

TEST(Tracer, AViewSharesItsStorage) {
  Tracer tracer(std::nullopt, false);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  Value a = Data(tracer);
  const Value view = tracer.View(a);
  a.Drop();
  EXPECT_EQ(Finished(tracer).after_forward, kRowBytes);
}

TEST(Tracer, AFrozenMatrixKeepsNoInput) {
  Tracer tracer(std::nullopt, false);
  const Value frozen = tracer.Weight({1, 1}, Dtype::kFp32, Term::kWeights, "weight", false, 1);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  const Value y = tracer.Linear(Data(tracer), frozen, Value(), 1, 1);
  EXPECT_FALSE(tracer.RequiresGradient(y));
  EXPECT_EQ(Finished(tracer).after_forward, 512 + kRowBytes);  // the weight, and y: not the data
}

TEST(Tracer, ATrainedMatrixKeepsItsInputUntilBackward) {
  Tracer tracer(std::nullopt, false);
  const Value weight = Trained(tracer, 1);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  Value y = tracer.Linear(Data(tracer), weight, Value(), 1, 1);
  tracer.Backward(std::move(y));
  const Replay replay = Finished(tracer);
  EXPECT_EQ(replay.after_forward, 512 + 2 * kRowBytes);     // weight, data, y
  EXPECT_EQ(replay.after_backward, 512 + kRowBytes + 512);  // weight, y (the loss is held), gradient
}

TEST(Tracer, AutocastCastsAndCachesATrainedWeight) {
  Tracer tracer(Dtype::kBf16, false);
  const Value weight = Trained(tracer, 512);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  const Value a = tracer.Linear(Data(tracer), weight, Value(), 512, 512);
  const Value b = tracer.Linear(Data(tracer), weight, Value(), 512, 512);
  // Each matmul keeps its bf16 input (half a row); the weight's bf16 copy (1,024 bytes) exists once.
  EXPECT_EQ(tracer.DtypeOf(a), Dtype::kBf16);
  EXPECT_EQ(Finished(tracer).after_forward, 2048 + 1024 + 4 * kRowBytes / 2);
}

TEST(Tracer, GradientsOfTwoUsesAreSummed) {
  Tracer tracer(std::nullopt, false);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  Value x = tracer.RequireGradient(Data(tracer));
  Value left = tracer.Scale(x);
  Value right = tracer.Scale(x);
  x.Drop();
  Value y = tracer.Add(std::move(left), std::move(right));
  tracer.Backward(std::move(y));
  const Replay replay = Finished(tracer);
  // Nothing of x itself is kept. Backward: y, its gradient, two products, their sum.
  EXPECT_EQ(replay.peak_backward.bytes, 5 * kRowBytes - kRowBytes);
  EXPECT_EQ(replay.after_backward, 2 * kRowBytes);  // y and the gradient of x
}

TEST(Tracer, ACheckpointKeepsItsInputAndRunsAgain) {
  const auto trace = [](bool checkpointed) {
    Tracer tracer(std::nullopt, false);
    const Value weight = Trained(tracer, 1);
    tracer.BeginSection(Moment::kForward, -1, 1, 1);
    const auto module = [&tracer, &weight](const std::array<Value, 3>& inputs) {
      Value y = tracer.Silu(tracer.Linear(inputs[0], weight, Value(), 1, 1));
      return tracer.Linear(std::move(y), weight, Value(), 1, 1);
    };
    const Value x = tracer.RequireGradient(Data(tracer));
    Value y = checkpointed ? tracer.Checkpoint(module, {x}, {}) : module({x});
    tracer.Backward(std::move(y));
    return Finished(tracer);
  };
  const Replay plain = trace(false);
  const Replay checkpointed = trace(true);
  // Plain: x, the matmul's output (silu keeps it), silu's output (the next matmul keeps it), y, the weight.
  EXPECT_EQ(plain.after_forward, 4 * kRowBytes + 512);
  EXPECT_EQ(checkpointed.after_forward, 2 * kRowBytes + 512);
  EXPECT_EQ(checkpointed.after_backward, plain.after_backward);
}

TEST(Tracer, GradientsThatExistAreAddedTo) {
  Tracer tracer(std::nullopt, true);
  const Value weight = Trained(tracer, 512);
  tracer.BeginSection(Moment::kForward, -1, 1, 1);
  Value y = tracer.Linear(Data(tracer), weight, Value(), 512, 512);
  tracer.Backward(std::move(y));
  const Step step = tracer.Finish();
  EXPECT_EQ(ReplayStep(step, kAxes).live_gradients, 2048);
  EXPECT_EQ(ReplayStep(step, kAxes).after_backward, 2048 + 2048 + kRowBytes);  // weight, gradient, y
}

}  // namespace
}  // namespace tunefit
