// Several streams of hidden states (Gemma 3n): tests/golden/architectures.jsonl holds the whole against PyTorch, here
// are its rules one by one.
#include "core/trace/streams.h"

#include <gtest/gtest.h>

#include <string>

#include "core/memory/replay.h"
#include "core/model/kv_cache.h"
#include "core/model/parameters.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

Workload Streamed(const test::StreamSizes& sizes = {}) {
  Workload workload = test::MakeWorkload();
  workload.architecture = test::MakeGemma3n(sizes);
  return workload;
}

double WeightElements(const Step& step) {
  double elements = 0;
  for (const Resident& weight : step.weights) {
    elements += static_cast<double>(weight.count) *
                step.storages[static_cast<std::size_t>(weight.storage)].elements.coefficient;
  }
  return elements;
}

/// What a token more leaves after the forward pass.
double KeptBytes(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const auto kept = [&step](double length) { return ReplayStep(step, Axes::Of(1, length, step.chunk)).after_forward; };
  return (kept(2048) - kept(1024)) / 1024;
}

TEST(Streams, EveryParameterIsTracedAndTrains) {
  const Workload workload = Streamed();
  const std::int64_t parameters = CountParameters(workload.architecture).total();
  const Step step = TraceTrainingStep(workload);
  EXPECT_EQ(WeightElements(step), static_cast<double>(parameters));
  EXPECT_EQ(step.trained_parameters, parameters);
}

TEST(Streams, ABorrowerHasNoKeysOfItsOwn) {
  const Architecture own = test::MakeGemma3n({.borrowers = 0});
  const Architecture borrows = test::MakeGemma3n({.borrowers = 2});
  // Two matrices of 64 x 32 and the norm of a head's keys.
  EXPECT_EQ(CountParameters(own).total() - CountParameters(borrows).total(), 2 * (2 * 64 * 32 + 16));
  // Keys and values of a token, in bf16: nothing of theirs is in a cache.
  EXPECT_EQ(KvCacheBytes(own, Dtype::kBf16, 1) - KvCacheBytes(borrows, Dtype::kBf16, 1), 2 * 2 * 32 * 2);
}

TEST(Streams, ABorrowerKeepsNoKeysOfItsOwn) {
  // Two heads of 16 numbers: in fp32 as their norm reads them, what the power of each head is taken of and what comes
  // out; of keys, which have a weight, normalized too; in bf16 as the kernel reads them. Turning them keeps nothing.
  const double keys = 32 * 4 + 2 * 4 + 2 * 4 + 32 * 4 + 32 * 2;
  const double values = 32 * 4 + 2 * 4 + 2 * 4 + 32 * 2;
  EXPECT_EQ(KeptBytes(Streamed({.borrowers = 0})) - KeptBytes(Streamed({.borrowers = 2})), 2 * (keys + values));
}

TEST(Streams, ACheckpointIsFourStreamsWide) {
  Workload workload = Streamed({.layers = 8, .borrowers = 0});
  Workload deeper = Streamed({.layers = 9, .borrowers = 0});
  workload.checkpointing = deeper.checkpointing = Checkpointing::kFull;
  // Four streams of 64 numbers in bf16. For one layer more 32 numbers of the embeddings: in fp32 as their norm reads
  // and normalizes them, with two numbers of their magnitude, and in bf16 as the layer reads them.
  EXPECT_EQ(KeptBytes(deeper) - KeptBytes(workload), 4 * 64 * 2 + (32 * 4 + 4 + 4 + 32 * 4) + 32 * 2);
}

TEST(Streams, WhatIsNotModelledIsRefused) {
  const auto field = [](const auto& change) {
    Workload workload = Streamed();
    change(workload);
    const Issues issues = Validate(workload);
    return issues.empty() ? std::string() : std::string(issues.front().field);
  };
  EXPECT_EQ(field([](Workload& /*same*/) {}), "");
  EXPECT_EQ(field([](Workload& workload) { workload.parallel.gpus = workload.parallel.tensor = 2; }),
            "parallel.tensor");
  EXPECT_EQ(field([](Workload& workload) { workload.parallel.gpus = workload.parallel.pipeline = 2; }),
            "parallel.pipeline");
  EXPECT_EQ(field([](Workload& workload) { workload.compile = true; }), "compile");
  EXPECT_EQ(field([](Workload& workload) { workload.fused.rope = true; }), "fused_kernels");
  EXPECT_EQ(field([](Workload& workload) { workload.checkpointing = Checkpointing::kOffload; }),
            "gradient_checkpointing");
  EXPECT_EQ(field([](Workload& workload) {
              workload.checkpointing = Checkpointing::kFull;
              workload.habits.recompute = Recompute::kReentrant;
            }),
            "gradient_checkpointing");
  EXPECT_EQ(field([](Workload& workload) { workload.task = Task::kSequenceClassification; }), "task");
}

TEST(Streams, CoefficientsAreNeverPacked) {
  Workload workload = Streamed();
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 16;  // more than the four streams: no fault
  workload.quantization.kind = QuantizationKind::kNf4;
  EXPECT_TRUE(Validate(workload).empty());
  const Step step = TraceTrainingStep(workload);
  double plain = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
    const std::string module = storage.module;
    if (storage.term == Term::kWeights && module.find("_coefs") != std::string::npos) {
      plain += static_cast<double>(weight.count) * storage.elements.coefficient;
    }
  }
  EXPECT_EQ(plain, 6 * (4 * 16 + 4 * 4));  // of six layers, in numbers and not in packed bytes
}

}  // namespace
}  // namespace tunefit
