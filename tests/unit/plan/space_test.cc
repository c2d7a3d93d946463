// Which layouts a plan goes through.
#include "core/plan/space.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tunefit {
namespace {

Space Open(std::vector<std::int64_t> gpus) {
  Space space;
  for (StackSpace& stack : PlanStacks()) {
    if (stack.is_tried) space.stacks.push_back(std::move(stack));
  }
  space.methods = {TunedBy::kFull, TunedBy::kLora, TunedBy::kQlora};
  space.gpus = std::move(gpus);
  space.global_batch = 64;
  space.most_per_device = 1000;
  space.most_layers = 32;
  return space;
}

template <typename Is>
std::int64_t CountIf(const Space& space, Is is) {
  const std::vector<Shape> shapes = ShapesOf(space);
  return std::count_if(shapes.begin(), shapes.end(), is);
}

TEST(Space, OneGpuIsDividedByNobody) {
  const Space space = Open({1});
  EXPECT_EQ(CountIf(space, [](const Shape& shape) { return shape.layout.tensor > 1 || shape.layout.pipeline > 1; }), 0);
  // Full and LoRA, under transformers and Megatron-LM, LoRA and QLoRA under Unsloth, QLoRA under transformers: with and
  // without checkpoints; and DeepSpeed's two ways to offload, of both that it can.
  EXPECT_EQ(CountIf(space, [](const Shape& shape) { return !shape.layout.offloads(); }), 2 * (2 + 2 + 2 + 1));
  EXPECT_EQ(CountIf(space, [](const Shape& shape) { return shape.layout.offloads(); }), 2 * 2 * 2);
}

TEST(Space, RanksFillTheGpus) {
  const Space space = Open({8, 64});
  for (const Shape& shape : ShapesOf(space)) {
    const Layout& layout = shape.layout;
    EXPECT_EQ(layout.gpus % (layout.tensor * layout.pipeline * layout.context), 0);
    EXPECT_LE(layout.tensor, 8);
    // Stages are added where tensor ranks fill a machine.
    EXPECT_TRUE(layout.pipeline == 1 || layout.tensor == 8);
    const bool is_whole = layout.gpus == layout.tensor * layout.pipeline;
    EXPECT_EQ(layout.strategy == Strategy::kNone, is_whole);
  }
}

TEST(Space, WhatIsSaidIsNotChosen) {
  Space space = Open({16});
  space.said.tensor = 2;
  space.said.pipeline = 4;
  space.said.checkpointing = true;
  for (const Shape& shape : ShapesOf(space)) {
    EXPECT_EQ(shape.layout.tensor, 2);
    EXPECT_EQ(shape.layout.pipeline, 4);
    EXPECT_EQ(shape.checkpointing, Checkpointing::kNone);  // whatever the request says instead
  }
  space.said.strategy = Strategy::kZero3;
  EXPECT_EQ(CountIf(space, [](const Shape& shape) { return shape.layout.strategy != Strategy::kZero3; }), 0);
}

TEST(Space, OffloadsComeLast) {
  const std::vector<Shape> shapes = ShapesOf(Open({1, 2, 8}));
  const auto offloads = [](const Shape& shape) { return shape.layout.offloads(); };
  EXPECT_TRUE(std::is_partitioned(shapes.begin(), shapes.end(), [&](const Shape& shape) { return !offloads(shape); }));
  EXPECT_EQ(shapes.front().layout.gpus, 8);
  // No library moves packed weights by ZeRO.
  const auto packed = [&](const Shape& shape) {
    return offloads(shape) && shape.method == TunedBy::kQlora && shape.layout.strategy != Strategy::kFsdp;
  };
  EXPECT_EQ(std::count_if(shapes.begin(), shapes.end(), packed), 0);
}

TEST(Space, MicroBatchesFillTheGlobalBatch) {
  Space space = Open({8});
  const Layout eight{.gpus = 8, .strategy = Strategy::kDdp};
  const std::vector<MicroBatch> batches = MicroBatchesOf(space, eight);
  ASSERT_EQ(batches.size(), 4);
  EXPECT_EQ(batches.front(), (MicroBatch{1, 8}));
  EXPECT_EQ(batches.back(), (MicroBatch{8, 1}));
  const Layout three{.gpus = 3, .strategy = Strategy::kDdp};
  EXPECT_EQ(MicroBatchesOf(space, three).back(), (MicroBatch{16, 2}));  // 96 of the wished 64: none is left out
  space.global_batch = 4;
  EXPECT_TRUE(MicroBatchesOf(space, eight).empty());
  space.said.per_device = 4;
  space.said.gradient_accumulation = 2;
  EXPECT_EQ(MicroBatchesOf(space, eight), (std::vector<MicroBatch>{{4, 2}}));
}

}  // namespace
}  // namespace tunefit
