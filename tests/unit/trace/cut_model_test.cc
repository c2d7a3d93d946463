// Pipelines whose stages hold several pieces, and experts on ranks of their own, worked out by hand.

#include <gtest/gtest.h>

#include <vector>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/model/parameters.h"
#include "core/model/share.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

using Counts = std::vector<std::int64_t>;

/// 8 layers of width 64, two tokens, layer inputs checkpointed: 2 x 64 x 4 = 512 bytes each.
Workload Pipelined(std::int64_t stages, std::int64_t interleave) {
  Workload workload = test::MakeWorkload(test::SmallSizes(8));
  workload.precision = {Dtype::kFp32, Dtype::kFp32, false};
  workload.checkpointing = Checkpointing::kFull;
  workload.batch.sequence_length = 2;
  workload.batch.gradient_accumulation = 8;
  workload.parallel.gpus = stages;
  workload.parallel.pipeline = stages;
  workload.parallel.interleave = interleave;
  return workload;
}

double Waiting(Workload rank, const Counts& in_flight) {
  rank.stage.in_flight = in_flight;
  const Step step = TraceTrainingStep(rank);
  return ReplayStep(step, Axes::Of(1, static_cast<double>(rank.batch.sequence_length), step.chunk)).waiting;
}

TEST(CutModel, AStageHoldsEveryOtherPiece) {
  const Workload rank = RankOf(Pipelined(2, 2), 1);  // layers 3, 4, 7 and 8
  ASSERT_EQ(rank.architecture.runs.size(), 2U);
  EXPECT_EQ(rank.architecture.runs[0].repeats, 2);
  EXPECT_EQ(rank.architecture.runs[0].piece, 0);
  EXPECT_EQ(rank.architecture.runs[1].repeats, 2);
  EXPECT_EQ(rank.architecture.runs[1].piece, 1);
}

// Before its first backward pass stage s of P, with v pieces, goes through 2 (P - s - 1) + (v - 1) P passes, then one
// more; pieces get P micro-batches in turn.
TEST(CutModel, PiecesGetMicroBatchesInTurn) {
  EXPECT_EQ(RankOf(Pipelined(2, 2), 0).stage.in_flight, (Counts{3, 2}));  // 5: 0 0 1 1 0
  EXPECT_EQ(RankOf(Pipelined(2, 2), 1).stage.in_flight, (Counts{2, 1}));  // 3: 0 0 1
  EXPECT_EQ(RankOf(Pipelined(4, 2), 0).stage.in_flight, (Counts{7, 4}));  // 6 + 4 + 1 = 11
  EXPECT_EQ(RankOf(Pipelined(2, 1), 0).stage.in_flight, (Counts{2}));
  Workload few = Pipelined(4, 2);
  few.batch.gradient_accumulation = 2;
  EXPECT_EQ(RankOf(few, 0).stage.in_flight, (Counts{2, 2}));  // all there are
}

// Korthikanti et al. 2022, section 4.2.3: interleaving keeps 1 + (P - 1) / (P v) times the activations; here 5/4.
TEST(CutModel, InterleavingKeepsAQuarterMoreOnTwoStagesOfTwoPieces) {
  const Counts plain = RankOf(Pipelined(2, 1), 0).stage.in_flight;
  const Counts pieces = RankOf(Pipelined(2, 2), 0).stage.in_flight;
  const std::int64_t layers_kept_plain = plain[0] * 4;
  const std::int64_t layers_kept = (pieces[0] + pieces[1]) * 2;
  EXPECT_EQ(4 * layers_kept, 5 * layers_kept_plain);
}

TEST(CutModel, EachPieceWaitsWithWhatItKeeps) {
  const Workload first = RankOf(Pipelined(2, 2), 0);
  const double one_of_each = Waiting(first, {2, 2});
  // A micro-batch more in the second piece: what it received, which its first layer keeps, its second layer's input,
  // and its output, which the last section holds.
  EXPECT_EQ(Waiting(first, {2, 3}) - one_of_each, 3 * 512);
  // In the first piece: two layers' inputs, token ids and labels, and the rotary tables that layers read when they run
  // again, 2 x 16 x 4 bytes each; all of them blocks of 512.
  EXPECT_EQ(Waiting(first, {3, 2}) - one_of_each, 6 * 512);
}

TEST(CutModel, InterleavedStagesHoldTheSameWeights) {
  const auto weights = [](const Workload& rank) {
    const Step step = TraceTrainingStep(rank);
    return ReplayStep(step, Axes::Of(1, 2, step.chunk)).weights;
  };
  EXPECT_EQ(weights(RankOf(Pipelined(2, 2), 0)), weights(RankOf(Pipelined(2, 1), 0)));
  EXPECT_EQ(weights(RankOf(Pipelined(2, 2), 1)), weights(RankOf(Pipelined(2, 1), 1)));
}

TEST(CutModel, MorePiecesThanLayersAreRefused) {
  const Issues issues = Validate(Pipelined(4, 4));
  ASSERT_EQ(issues.size(), 1U);
  EXPECT_EQ(issues[0].code, "pipeline_over_layers");
  EXPECT_EQ(issues[0].field, "parallel.interleave");
}

/// Under an adapter the first stage's embeddings ask for no gradient; what the second one receives does, so that its
/// first layer keeps more. The third has the second's layers, and no more in flight.
TEST(CutModel, AStageThatReceivesStatesCanHoldMoreThanTheFirst) {
  Workload workload = Pipelined(4, 1);
  workload.method.kind = MethodKind::kLora;
  workload.checkpointing = Checkpointing::kNone;
  workload.method.all_linear = true;
  workload.method.rank = 4;
  workload.batch.gradient_accumulation = 1;
  EXPECT_EQ(StagesToCompare(workload), (Counts{0, 1, 3}));
  const std::vector<RankMemory> ranks = EstimateRanks(workload, nullptr, Overheads{});
  EXPECT_GT(ranks[1].phases.after_forward - ranks[1].phases.static_bytes,
            ranks[0].phases.after_forward - ranks[0].phases.static_bytes);
}

/// The busiest stage is one that is neither the first nor the last where its layers weigh more.
TEST(CutModel, AHeavyStageInTheMiddleIsTheBusiest) {
  Workload workload = Pipelined(4, 1);
  workload.batch.gradient_accumulation = 1;
  Block heavy = workload.architecture.runs[0].period[0];
  auto& mlp = std::get<Mlp>(heavy.feed_forward);
  mlp.gate.out_features = mlp.up.out_features = mlp.down.in_features = 4096;
  const Block light = workload.architecture.runs[0].period[0];
  workload.architecture.runs = {{{light}, 4}, {{heavy}, 2}, {{light}, 2}};
  EXPECT_EQ(StagesToCompare(workload), (Counts{0, 1, 2, 3}));
  const double busiest = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).phases.static_bytes;
  const Step step = TraceTrainingStep(RankOf(workload, 2));
  EXPECT_EQ(busiest, ReplayStep(step, Axes::Of(1, 2, step.chunk)).weights);
}

/// A layer: attention 4 x 64 x 64 = 16,384; router 8 x 64 = 512; 8 experts of 3 x 64 x 128 = 24,576; two norms of 64.
Workload WithExperts(Strategy strategy, std::int64_t gpus, std::int64_t expert) {
  Workload workload = test::MakeWorkload(test::SmallSizes());
  Block& block = workload.architecture.runs[0].period[0];
  Experts experts;
  experts.count = 8;
  experts.per_token = 2;
  experts.expert = std::get<Mlp>(block.feed_forward);
  experts.router.matrix = {.name = "gate", .in_features = 64, .out_features = 8};
  block.feed_forward = experts;
  workload.precision = {Dtype::kFp32, Dtype::kFp32, false};
  workload.optimizer = Optimizer::kAdamwFused;
  workload.parallel.strategy = strategy;
  workload.parallel.gpus = gpus;
  workload.parallel.expert = expert;
  return workload;
}

Phases PhasesOf(const Workload& workload) {
  return EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary).phases;
}

constexpr double kExpertsOfALayer = 8 * 24576;

TEST(CutModel, ExpertRanksHoldAPartOfTheExpertsAndAllElse) {
  const double one = PhasesOf(WithExperts(Strategy::kNone, 1, 1)).static_bytes;
  // Of weights and DDP's bucket three quarters of the experts are elsewhere, in both layers.
  const double ddp = PhasesOf(WithExperts(Strategy::kDdp, 4, 1)).static_bytes;
  const double shared = PhasesOf(WithExperts(Strategy::kDdp, 4, 4)).static_bytes;
  EXPECT_EQ(ddp, 2 * one);
  EXPECT_EQ(ddp - shared, 2 * 4 * 2 * kExpertsOfALayer * 3 / 4);
}

TEST(CutModel, StatesOfExpertsAreDividedAmongFewerRanks) {
  // Two moments in fp32. Four ranks divide all states; of two expert groups of two each, a group's experts have two
  // copies, so that a rank keeps half of half of them: as much.
  const auto states = [](std::int64_t expert) {
    const Phases phases = PhasesOf(WithExperts(Strategy::kZero1, 4, expert));
    return phases.between_steps - phases.static_bytes;
  };
  EXPECT_EQ(states(2), states(1));
  EXPECT_EQ(states(4), states(1));
}

TEST(CutModel, FullyShardedExpertsWeighTheSameAndGatherLess) {
  const Workload whole = WithExperts(Strategy::kFsdp2, 4, 1);
  const Workload shared = WithExperts(Strategy::kFsdp2, 4, 2);
  EXPECT_EQ(PhasesOf(shared).static_bytes, PhasesOf(whole).static_bytes);
  EXPECT_LT(PhasesOf(shared).peak_step, PhasesOf(whole).peak_step);
}

TEST(CutModel, ParametersAreTheWholeModels) {
  Workload workload = WithExperts(Strategy::kZero1, 4, 4);
  workload.optimizer = Optimizer::kAdamwForeach;  // without counters on the card, of which each rank writes its own
  const MemoryEstimate estimate = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  EXPECT_EQ(estimate.parameters.trainable, CountParameters(workload.architecture).total());
  workload.parallel = {};
  const MemoryEstimate alone = EstimateMemory(workload, nullptr, Overheads{}, Detail::kSummary);
  EXPECT_EQ(estimate.disk_bytes, alone.disk_bytes);
}

// Rows travel to their experts' ranks and back: as many as a rank sends, it gets. What a layer keeps stays the same but
// for the order in which rows of several experts lie, two counts of 8 bytes a visit.
TEST(CutModel, RowsThatTravelAreNotKept) {
  const auto kept = [](std::int64_t expert) {
    Workload workload = WithExperts(Strategy::kDdp, 8, expert);
    workload.batch.sequence_length = 64;
    const Phases phases = PhasesOf(workload);
    return phases.after_forward - phases.between_steps;
  };
  EXPECT_EQ(kept(8), kept(1));  // one expert a rank: nothing to sort
}

// Experts that tensor ranks do not share: each works on its own half of the tokens, and holds whole experts.
TEST(CutModel, ExpertsOfWholeMatricesTakeTheirRanksTokens) {
  Workload workload = WithExperts(Strategy::kDdp, 8, 4);
  workload.parallel.tensor = 2;
  workload.parallel.sequence_parallel = true;
  workload.batch.sequence_length = 64;
  Workload whole = workload;
  whole.parallel.expert_tensor = 1;
  const auto weights = [](const Workload& of) {
    const Step step = TraceTrainingStep(RankOf(of, 0));
    return ReplayStep(step, Axes::Of(1, 64, step.chunk)).weights;
  };
  // Two experts of eight, cut in halves or whole, in two layers.
  EXPECT_EQ(weights(whole) - weights(workload), 2 * 4 * kExpertsOfALayer / 4 / 2);
  // What a layer keeps of its experts, by visit: rows of 64, gate, up, its activation and the product of 128, the
  // output of 64: half of the width of all tokens against the whole width of half of them. The rows, which are not cut,
  // come to half, and so do the router's scores.
  EXPECT_LT(PhasesOf(whole).after_forward - PhasesOf(whole).between_steps,
            PhasesOf(workload).after_forward - PhasesOf(workload).between_steps);
}

// One adapter of rank 4 for each of 8 experts: on gate and up together 4 x (64 + 256), on down 4 x (128 + 64).
TEST(CutModel, StackedExpertsHaveAnAdapterEach) {
  Workload workload = WithExperts(Strategy::kNone, 1, 1);
  workload.method.kind = MethodKind::kLora;
  workload.method.rank = 4;
  workload.method.all_linear = false;
  workload.method.target_modules = {"gate_proj", "up_proj", "down_proj"};
  AdaptExpertStacks(workload.architecture);
  ASSERT_TRUE(Validate(workload).empty());
  EXPECT_EQ(TraceTrainingStep(workload).adapter_parameters, 2 * 8 * (4 * (64 + 256) + 4 * (128 + 64)));
  Workload shared = workload;
  shared.parallel.strategy = Strategy::kDdp;
  shared.parallel.gpus = shared.parallel.expert = 4;
  EXPECT_EQ(TraceTrainingStep(RankOf(shared, 0)).adapter_parameters * 4,
            TraceTrainingStep(workload).adapter_parameters);
  EXPECT_EQ(CountTrainedParameters(shared).adapters, TraceTrainingStep(workload).adapter_parameters);
}

TEST(CutModel, ExpertsMustDivide) {
  const auto fault = [](const Workload& workload) {
    const Issues issues = Validate(workload);
    return issues.empty() ? std::string() : issues[0].code + " " + issues[0].field;
  };
  EXPECT_EQ(fault(WithExperts(Strategy::kDdp, 3, 3)), "experts_do_not_divide parallel.expert");
  EXPECT_EQ(fault(WithExperts(Strategy::kDdp, 4, 8)), "copies_do_not_divide parallel.expert");
  EXPECT_EQ(fault(WithExperts(Strategy::kDdp, 4, 4)), "");
  Workload dense = WithExperts(Strategy::kDdp, 2, 2);
  dense.architecture = test::MakeLlama();
  EXPECT_EQ(fault(dense), "experts_do_not_divide parallel.expert");
}

}  // namespace
}  // namespace tunefit
