// Laws that hold for every model and recipe, checked over seeded random ones. A failure prints the seed.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/memory/estimate.h"
#include "core/memory/moments.h"
#include "core/memory/replay.h"
#include "core/model/device_map.h"
#include "core/model/parameters.h"
#include "core/model/share.h"
#include "core/trace/training_step.h"
#include "tests/property/random_workload.h"

namespace tunefit {
namespace {

class Laws : public testing::Test {
 protected:
  /// Calls `check` with `test::kLawCases` random workloads, each of its own seed.
  template <typename Check>
  void ForEachWorkload(Check check) {
    for (unsigned seed = 1; seed <= test::kLawCases; ++seed) {
      std::mt19937 random(seed);
      const Workload workload = test::RandomWorkload(random);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << test::Describe(workload));
      ASSERT_FALSE(HasError(Validate(workload)));
      check(workload);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }
};

Axes AxesOf(const Workload& workload, const Step& step) { return AxesOf(step, workload, workload.batch); }

MemoryEstimate Estimate(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kFull);
}

std::vector<RankMemory> Ranks(const Workload& workload) { return EstimateRanks(workload, nullptr, Overheads{}); }

/// On each of the ranks that share the model: which of them fills its card most may change.
void ExpectNoRankPeaksLower(const std::vector<RankMemory>& larger, const std::vector<RankMemory>& ranks) {
  ASSERT_EQ(larger.size(), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_GE(larger[i].phases.peak_step, ranks[i].phases.peak_step) << "stage " << i;
  }
}

TEST_F(Laws, FoldedLayersAreTheUnrolledOnes) {
  ForEachWorkload([](const Workload& workload) {
    const Step folded = TraceTrainingStep(workload, Unrolling::kFolded);
    const Step unrolled = TraceTrainingStep(workload, Unrolling::kAll);
    const Replay a = ReplayStep(folded, AxesOf(workload, folded));
    const Replay b = ReplayStep(unrolled, AxesOf(workload, unrolled));
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.optimizer_states, b.optimizer_states);
    EXPECT_EQ(a.after_forward, b.after_forward);
    EXPECT_EQ(a.peak_forward.bytes, b.peak_forward.bytes);
    EXPECT_EQ(a.after_backward, b.after_backward);
    EXPECT_EQ(a.peak_backward.bytes, b.peak_backward.bytes);
  });
}

TEST_F(Laws, TermsSumToThePeakAndNoneIsNegative) {
  ForEachWorkload([](const Workload& workload) {
    const MemoryEstimate estimate = Estimate(workload);
    double sum = 0;
    for (const TermBytes& term : estimate.terms) {
      EXPECT_GT(term.bytes, 0) << TermName(term.term);
      for (const LedgerItem& item : term.items) EXPECT_GT(item.count, 0) << item.name;
      sum += term.bytes;
    }
    EXPECT_EQ(sum, estimate.phases.peak_step);
  });
}

TEST_F(Laws, NothingStaysAliveThatShouldNot) {
  ForEachWorkload([](const Workload& workload) {
    const Phases phases = Estimate(workload).phases;
    EXPECT_GE(phases.between_steps, phases.static_bytes);
    // FSDP's gradients of the last step are still there between steps, and end when the next one begins.
    const bool carries = workload.parallel.strategy == Strategy::kFsdp && workload.habits.fsdp1_keeps_gradients;
    EXPECT_GE(phases.after_forward, carries ? phases.static_bytes : phases.between_steps);
    EXPECT_GE(phases.peak_forward, phases.after_forward);
    EXPECT_GE(phases.peak_backward, phases.after_backward);
    EXPECT_GE(phases.peak_optimizer, phases.after_backward);
  });
}

TEST_F(Laws, MoreBatchOrLengthNeverNeedsLess) {
  ForEachWorkload([](const Workload& workload) {
    const std::vector<RankMemory> ranks = Ranks(workload);
    Workload larger = workload;
    ++larger.batch.per_device;
    ExpectNoRankPeaksLower(Ranks(larger), ranks);
    larger = workload;
    larger.batch.sequence_length += 64;
    if (larger.architecture.position_rows > 0) larger.architecture.position_rows += 64;
    ExpectNoRankPeaksLower(Ranks(larger), ranks);
    if (workload.method.kind != MethodKind::kPromptTuning) return;
    larger = workload;
    larger.method.virtual_tokens += 64;
    ExpectNoRankPeaksLower(Ranks(larger), ranks);
  });
}

TEST_F(Laws, TheEstimateIsOfTheRankThatFillsItsCardMost) {
  ForEachWorkload([](const Workload& workload) {
    double fullest = 0;
    for (const RankMemory& rank : Ranks(workload)) fullest = std::max(fullest, rank.device.expected);
    EXPECT_EQ(Estimate(workload).device.expected, fullest);
  });
}

TEST_F(Laws, SequenceParallelRanksNeverKeepMore) {
  ForEachWorkload([](const Workload& workload) {
    // Where a product keeps what was gathered, and the residual stream is what it was gathered from, both stay.
    if (workload.parallel.tensor == 1 || workload.method.kind != MethodKind::kFull) return;
    Workload whole = workload;
    whole.parallel.sequence_parallel = false;
    whole.parallel.gpus /= whole.parallel.pipeline;
    whole.parallel.pipeline = 1;  // another rank of a pipeline may be the busiest
    Workload divided = whole;
    divided.parallel.sequence_parallel = true;
    divided.habits.gathers_tokens_again = true;
    const Phases of_whole = Estimate(whole).phases;
    const Phases of_divided = Estimate(divided).phases;
    EXPECT_EQ(of_divided.between_steps, of_whole.between_steps);
    // Parts of a few tokens are blocks of 512 bytes like the whole, and some are kept beside it.
    const double blocks = 512 * 8 * static_cast<double>(whole.architecture.layers());
    EXPECT_LE(of_divided.after_forward, of_whole.after_forward + blocks);
  });
}

TEST_F(Laws, CheckpointingNeverKeepsMoreAfterTheForwardPass) {
  ForEachWorkload([](const Workload& workload) {
    Workload plain = workload;
    // A compiled layer of a narrow MLP and few heads, its residual stream in fp32, may keep less than its input weighs.
    plain.compile = false;
    plain.parallel.pipeline = 1;  // another rank of a pipeline may be the busiest
    plain.parallel.gpus = 2;
    plain.checkpointing = Checkpointing::kNone;
    Workload checkpointed = plain;
    checkpointed.checkpointing = Checkpointing::kFull;
    checkpointed.checkpoint_every = 1;
    // The rotary tables and the mask stay for the recomputation: a sliver where layers keep next to nothing. Where only
    // the end of a layer is adapted nothing else needs them, nor the first layer's input and the table's output that it
    // is made of: at most 4 bytes a number.
    double bound = Estimate(plain).phases.after_forward * 1.02;
    if (AdaptsModules(plain.method.kind) && !plain.method.all_linear) {
      const Block& block = plain.architecture.runs.front().period.front();
      const double head_dim = static_cast<double>(std::get<Attention>(block.mixer).head_dim);
      const double length = static_cast<double>(plain.batch.sequence_length);
      const double numbers = length + 2 * head_dim + 2 * static_cast<double>(plain.architecture.hidden_size);
      const double shared = 4 * static_cast<double>(plain.batch.per_device) * length * numbers;
      bound = std::max(bound, Estimate(plain).phases.after_forward + shared);
    }
    EXPECT_LE(Estimate(checkpointed).phases.after_forward, bound);
  });
}

TEST_F(Laws, EveryStageHasTheSameLeftAfterBackwardHoweverMuchRunsAgain) {
  ForEachWorkload([](const Workload& workload) {
    for (std::int64_t stage = 0; stage < workload.parallel.pipeline; ++stage) {
      Workload rank = RankOf(workload, stage);
      rank.habits.model.embeddings_require_gradient = false;  // else their output is held where layers run again
      const auto after_backward = [&rank](Checkpointing checkpointing) {
        rank.checkpointing = checkpointing;
        const Step step = TraceTrainingStep(rank);
        return ReplayStep(step, AxesOf(rank, step)).after_backward;
      };
      const double plain = after_backward(Checkpointing::kNone);
      EXPECT_EQ(after_backward(Checkpointing::kFull), plain) << "stage " << stage;
      EXPECT_EQ(after_backward(Checkpointing::kSelective), plain) << "stage " << stage;
    }
  });
}

TEST_F(Laws, OffloadedCheckpointsAreOnTheHostOrOnTheCard) {
  ForEachWorkload([](const Workload& workload) {
    Workload full = workload;
    full.parallel = {};  // another rank of a pipeline may be the busiest
    full.checkpointing = Checkpointing::kFull;
    Workload offloaded = full;
    offloaded.checkpointing = Checkpointing::kOffload;
    offloaded.habits.offload_blocks_on_card = 0;
    const MemoryEstimate on_card = Estimate(full);
    const MemoryEstimate on_host = Estimate(offloaded);
    EXPECT_EQ(on_card.host.total(), 0);
    EXPECT_LE(on_host.phases.after_forward, on_card.phases.after_forward);
    EXPECT_LE(on_card.phases.after_forward, on_host.phases.after_forward + on_host.host.total());
  });
}

TEST_F(Laws, FewerCheckpointedLayersNeverKeepLess) {
  ForEachWorkload([](const Workload& workload) {
    Workload checkpointed = workload;
    checkpointed.compile = false;
    checkpointed.parallel = {};  // another rank of a pipeline may be the busiest
    checkpointed.checkpointing = Checkpointing::kFull;
    checkpointed.compile = false;  // see above
    checkpointed.checkpoint_every = 1;
    const double all = Estimate(checkpointed).phases.after_forward;
    checkpointed.checkpoint_every = 2;
    EXPECT_GE(Estimate(checkpointed).phases.after_forward * 1.02, all);
  });
}

TEST_F(Laws, EachStageOfZeroHoldsNoMoreStates) {
  ForEachWorkload([](const Workload& workload) {
    Workload staged = workload;
    staged.parallel = {};
    staged.parallel.gpus = 4;
    staged.habits.fsdp_upcasts_trainable = false;
    staged.habits.fsdp1_keeps_gradients = false;
    staged.optimizer = Optimizer::kAdamwForeach;
    double earlier = 0;
    for (const Strategy stage : {Strategy::kDdp, Strategy::kZero1, Strategy::kZero2, Strategy::kFsdp}) {
      staged.parallel.strategy = stage;
      const double states = Estimate(staged).phases.between_steps;
      if (stage != Strategy::kDdp) {
        EXPECT_LE(states, earlier) << static_cast<int>(stage);
      }
      earlier = states;
    }
  });
}

TEST_F(Laws, FewerRanksThatShareACopyHoldMore) {
  ForEachWorkload([](const Workload& workload) {
    if (!ShardsParameters(workload.parallel.strategy)) return;
    Workload hybrid = workload;
    hybrid.parallel.tensor = hybrid.parallel.pipeline = 1;
    hybrid.parallel.gpus = 8;
    hybrid.parallel.zero.hpz_partition_size = 1;
    double fewer = 0;
    for (const std::int64_t shard : {8, 4, 2}) {
      hybrid.parallel.shard = shard;
      const double states = Estimate(hybrid).phases.between_steps;
      EXPECT_GE(states, fewer) << shard;
      fewer = states;
    }
    // As much as on no more ranks than share a copy.
    const double alone = [&hybrid] {
      Workload two = hybrid;
      two.parallel.gpus = 2;
      two.parallel.shard = 0;
      return Estimate(two).phases.between_steps;
    }();
    EXPECT_EQ(fewer, alone);
  });
}

TEST_F(Laws, WhatStageThreeMayHoldItHoldsAtMost) {
  ForEachWorkload([](const Workload& workload) {
    Workload tight = workload;
    tight.parallel = {};
    tight.parallel.strategy = Strategy::kZero3;
    tight.parallel.gpus = 2;
    tight.parallel.zero.reduce_bucket_size = 1;
    tight.parallel.zero.param_persistence_threshold = 0;
    tight.parallel.zero.prefetch_bucket_size = 0;
    tight.parallel.zero.max_reuse_distance = 0;
    const Phases least = Estimate(tight).phases;
    for (std::int64_t ZeroSettings::*setting :
         {&ZeroSettings::reduce_bucket_size, &ZeroSettings::param_persistence_threshold,
          &ZeroSettings::prefetch_bucket_size, &ZeroSettings::max_reuse_distance}) {
      Workload loose = tight;
      loose.parallel.zero.*setting = 1 << 20;
      const Phases more = Estimate(loose).phases;
      EXPECT_GE(more.peak_step, least.peak_step);
      EXPECT_GE(more.after_forward, least.after_forward);
    }
  });
}

TEST_F(Laws, CardsOfOneProcessHoldTheModelBetweenThem) {
  ForEachWorkload([](const Workload& workload) {
    // Not modelled together yet.
    if (workload.method.kind == MethodKind::kFreeze || workload.architecture.streams) return;
    Workload whole = workload;
    whole.parallel = {};
    const auto estimate = [](const Workload& of) { return EstimateMemory(of, nullptr, Overheads{}, Detail::kSummary); };
    const MemoryEstimate of_whole = estimate(whole);
    Workload placed = whole;
    placed.parallel.strategy = Strategy::kDeviceMap;
    placed.parallel.gpus = 2 + workload.batch.sequence_length % 3;
    const MemoryEstimate busiest = estimate(placed);
    EXPECT_EQ(busiest.disk_bytes, of_whole.disk_bytes);
    // A later card is sent hidden states as the table makes them; adapters and norms in fp32 may have widened those.
    if (whole.precision.weights == Dtype::kFp32) {
      const auto cards = static_cast<double>(placed.parallel.gpus);
      double highest = 0;
      for (const RankMemory& card : Ranks(placed)) highest = std::max(highest, card.phases.peak_step);
      EXPECT_GE(cards * highest, of_whole.phases.peak_step);
    }
    const auto weights = [](const Workload& of) {
      const Step step = TraceTrainingStep(of);
      return ReplayStep(step, AxesOf(of, step)).weights;
    };
    double sum = 0;
    for (const DevicePlace& place : PlaceOnDevices(placed)) sum += weights(DeviceOf(whole, place));
    EXPECT_EQ(sum, weights(whole));
  });
}

TEST_F(Laws, AnAdapterOfRankOneTrainsLessThanTheModel) {
  ForEachWorkload([](const Workload& workload) {
    Workload full = workload;
    full.method = {};
    full.method.trains_vision_tower = true;
    full.quantization = {};
    full.parallel = {};                     // the buckets of DDP are static, and the more the more trains
    full.precision.master_weights = false;  // their gradient buffers are static
    full.parallel = {};                     // buckets and shards of trained parameters are static, too
    Workload lora = full;
    lora.method.kind = MethodKind::kLora;
    lora.method.rank = 1;
    const MemoryEstimate small = Estimate(lora);
    const MemoryEstimate large = Estimate(full);
    EXPECT_EQ(large.parameters.trainable, CountParameters(full.architecture).total());
    EXPECT_LT(small.parameters.trainable, large.parameters.trainable);
    EXPECT_EQ(small.parameters.adapters, small.parameters.trainable);
    EXPECT_GT(small.phases.static_bytes, large.phases.static_bytes);
  });
}

TEST_F(Laws, VectorsAndVirtualTokensTrainNoMoreThanAnAdapterOfRankOne) {
  ForEachWorkload([](const Workload& workload) {
    Workload full = workload;
    full.method = {};
    full.quantization = {};
    full.parallel = {};                         // buckets and shards of trained parameters are static
    full.precision.master_weights = false;      // gradient buffers too
    full.optimizer = Optimizer::kAdamwForeach;  // others pack or project large matrices only
    Workload lora = full;
    lora.method.kind = MethodKind::kLora;
    lora.method.rank = 1;
    Workload vectors = full;
    vectors.method.kind = MethodKind::kIa3;
    if (AdaptsModules(workload.method.kind)) {
      lora.method.all_linear = vectors.method.all_linear = workload.method.all_linear;
      lora.method.target_modules = vectors.method.target_modules = workload.method.target_modules;
    }
    vectors.method.feedforward_modules = workload.method.feedforward_modules;
    Workload prompted = full;
    prompted.method.kind = MethodKind::kPromptTuning;
    prompted.method.virtual_tokens = 1;
    const auto states = [](const MemoryEstimate& estimate) {
      return estimate.phases.between_steps - estimate.phases.static_bytes;
    };
    const MemoryEstimate of_lora = Estimate(lora);
    const MemoryEstimate of_full = Estimate(full);
    for (const MemoryEstimate& small : {Estimate(vectors), Estimate(prompted)}) {
      EXPECT_LE(small.parameters.trainable, of_lora.parameters.trainable);
      EXPECT_LT(small.parameters.trainable, of_full.parameters.trainable);
      EXPECT_LE(states(small), states(of_lora));
      EXPECT_LE(states(small), states(of_full));
      EXPECT_LE(small.disk_bytes, of_lora.disk_bytes);
    }
  });
}

TEST_F(Laws, RangesAreOrderedOnEveryCard) {
  Overheads overheads;
  overheads.allocated_low_fraction = 0.1;
  overheads.allocated_high_fraction = 0.05;
  overheads.reserved_low_fraction = 0.05;
  overheads.reserved_high_fraction = 0.2;
  overheads.reserved_high_of_loss = 0.5;
  overheads.contexts = {{"", {5e5, 6e5, 9e5}}};
  ForEachWorkload([&overheads](const Workload& workload) {
    const double device = EstimateMemory(workload, nullptr, overheads, Detail::kSummary).device.expected;
    for (const double share : {0.3, 0.8, 0.95, 1.0, 1.05, 1.3, 5.0}) {
      Gpu gpu;
      gpu.usable_bytes = device * share;
      const MemoryEstimate estimate = EstimateMemory(workload, &gpu, overheads, Detail::kSummary);
      double expected = estimate.phases.peak_step;
      for (const Overhead& overhead : estimate.overheads) {
        EXPECT_LE(overhead.bytes.low, overhead.bytes.expected) << overhead.id;
        EXPECT_LE(overhead.bytes.expected, overhead.bytes.high) << overhead.id;
        expected += overhead.bytes.expected;
      }
      EXPECT_NEAR(expected, estimate.device.expected, 1);
      for (const Range& range : {estimate.allocated, estimate.reserved, estimate.device}) {
        EXPECT_LE(range.low, range.expected);
        EXPECT_LE(range.expected, range.high);
      }
    }
  });
}

TEST_F(Laws, DoubleTheLayersAreTwiceTheLayersParameters) {
  ForEachWorkload([](const Workload& workload) {
    Architecture doubled = workload.architecture;
    for (LayerRun& run : doubled.runs) run.repeats *= 2;
    const ParameterCounts once = CountParameters(workload.architecture);
    const ParameterCounts twice = CountParameters(doubled);
    EXPECT_EQ(twice.attention, 2 * once.attention);
    EXPECT_EQ(twice.mlp, 2 * once.mlp);
    EXPECT_EQ(twice.embedding, once.embedding);
  });
}

TEST_F(Laws, TheBreakdownIsTheSameInASecondRun) {
  ForEachWorkload([](const Workload& workload) {
    const MemoryEstimate first = Estimate(workload);
    const MemoryEstimate second = Estimate(workload);
    ASSERT_EQ(first.terms.size(), second.terms.size());
    for (std::size_t i = 0; i < first.terms.size(); ++i) {
      ASSERT_EQ(first.terms[i].items.size(), second.terms[i].items.size());
      for (std::size_t k = 0; k < first.terms[i].items.size(); ++k) {
        EXPECT_EQ(first.terms[i].items[k].name, second.terms[i].items[k].name);
        EXPECT_EQ(first.terms[i].items[k].bytes, second.terms[i].items[k].bytes);
      }
    }
  });
}

}  // namespace
}  // namespace tunefit
