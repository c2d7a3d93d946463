// DeBERTa's attention by hand: a model of hidden size 256 (h), 4 heads of 64, an MLP 1,024 wide (f), and 64 rows of
// distances; two sequences of 256 tokens: 512 tokens (t).

#include <gtest/gtest.h>

#include <utility>

#include "core/memory/replay.h"
#include "core/model/parameters.h"
#include "core/trace/training_step.h"
#include "tests/support/architectures.h"

namespace tunefit {
namespace {

constexpr std::int64_t kHidden = 256;
constexpr std::int64_t kWidth = 1024;
constexpr std::int64_t kRows = 64;

Attention MakeAttention() {
  Attention attention;
  attention.heads = attention.kv_heads = 4;
  attention.head_dim = 64;
  attention.query = {"query_proj", kHidden, kHidden, true};
  attention.key = {"key_proj", kHidden, kHidden, true};
  attention.value = {"value_proj", kHidden, kHidden, true};
  attention.output = {"attention.output.dense", kHidden, kHidden, true};
  attention.rotary = Rotary::kNone;
  attention.eager = EagerStyle::kDisentangled;
  attention.dropout = attention.distance_dropout = 0.1;
  return attention;
}

Workload MakeDeberta(std::int64_t layers) {
  Workload workload = test::MakeWorkload();
  Architecture architecture;
  architecture.model_type = "deberta-v2";
  architecture.hidden_size = kHidden;
  architecture.vocab_size = 1000;
  architecture.distance_rows = kRows;
  architecture.norms_distances = architecture.masks_embeddings = architecture.embedding_norm = true;
  architecture.tied_head = architecture.head_bias = architecture.eager_only = true;
  architecture.encoder = EncoderKind::kDeberta;
  architecture.final_norm = NormKind::kLayerNorm;
  architecture.has_final_norm = false;
  architecture.embedding_dropout = 0.1;
  Block block;
  block.arrangement = Arrangement::kPostNorm;
  block.norm = NormKind::kLayerNorm;
  block.mixer = MakeAttention();
  block.residual_dropout = 0.1;
  Mlp mlp;
  mlp.gated = false;
  mlp.up = {"intermediate.dense", kHidden, kWidth, true};
  mlp.down = {"output.dense", kWidth, kHidden, true};
  mlp.activation = Activation::kGelu;
  block.feed_forward = mlp;
  architecture.runs = {{{block}, layers}};
  workload.architecture = std::move(architecture);
  workload.batch.packing = Packing::kNone;
  return workload;
}

Replay ReplayOf(const Workload& workload, Unrolling unrolling = Unrolling::kFolded) {
  const Step step = TraceTrainingStep(workload, unrolling);
  return ReplayStep(step, Axes::Of(2, 256, step.chunk));
}

TEST(Disentangled, ALayerKeepsByHand) {
  const double th = 512.0 * kHidden;
  const double tf = 512.0 * kWidth;
  const double scores = 2.0 * 4 * 256 * 256;
  const double pairs = 256.0 * 256;
  const double table = static_cast<double>(kRows * kHidden);
  // q, k, k scaled and v as heads, the output; after both parts a mask of 1, the sum and its norm of 2 each, and two
  // statistics of 4 t.
  const double states = 2 * 5 * th + 2 * (1 + 2 + 2) * th + 2 * 2 * 4 * 512;
  // Probabilities 2, their mask 1, dropped 2; what is forbidden, a byte for each pair of a sequence.
  const double attention = 5 * scores + 2 * pairs;
  // The table dropped, 2 and 1; its queries and keys for two sequences, 2 each; each pair's place twice as int64.
  const double distances = 3 * table + 2 * 2 * 2 * table + 2 * 8 * pairs;
  const double mlp = 2 * 2 * tf;
  const auto kept = [](std::int64_t layers) {
    const Replay replay = ReplayOf(MakeDeberta(layers));
    return replay.after_forward - replay.weights - replay.optimizer_states;
  };
  EXPECT_EQ(kept(10) - kept(9), states + attention + distances + mlp);
}

TEST(Disentangled, HoldsEveryParameterOnce) {
  Workload workload = MakeDeberta(3);
  // The masked language model's head on top: a matrix of h x h with its bias, a norm, a bias for every token.
  EXPECT_EQ(TraceTrainingStep(workload).trained_parameters,
            CountParameters(workload.architecture).total() + kHidden * kHidden + kHidden + 2 * kHidden + 1000);
  workload.architecture.labels = 2;
  workload.task = Task::kSequenceClassification;
  EXPECT_EQ(TraceTrainingStep(workload).trained_parameters, CountParameters(workload.architecture).total());
}

TEST(Disentangled, ParametersByHand) {
  // Tokens 1,000 and distances 64 of 256; norms of 512 after both tables and twice in a layer; in a layer four matrices
  // of 256 x 256 and two of 256 x 1,024, with biases.
  const std::int64_t layer = 4 * (256 * 256 + 256) + 2 * 256 * 1024 + 1024 + 256 + 2 * 512;
  EXPECT_EQ(CountParameters(MakeDeberta(3).architecture).total(), 1064 * 256 + 2 * 512 + 3 * layer);
}

TEST(Disentangled, FoldedLayersAreTheUnrolledOnes) {
  for (int variant = 0; variant < 32; ++variant) {
    Workload workload = MakeDeberta((variant & 1) != 0 ? 9 : 2);
    if ((variant & 2) != 0) workload.checkpointing = Checkpointing::kFull;
    if ((variant & 4) != 0) workload.method.kind = MethodKind::kLora;
    workload.precision.autocast = (variant & 8) != 0;
    workload.habits.recompute = (variant & 16) != 0 ? Recompute::kReentrant : Recompute::kStopsEarly;
    const Replay a = ReplayOf(workload, Unrolling::kFolded);
    const Replay b = ReplayOf(workload, Unrolling::kAll);
    EXPECT_EQ(a.after_forward, b.after_forward) << variant;
    EXPECT_EQ(a.peak_forward.bytes, b.peak_forward.bytes) << variant;
    EXPECT_EQ(a.after_backward, b.after_backward) << variant;
    EXPECT_EQ(a.peak_backward.bytes, b.peak_backward.bytes) << variant;
  }
}

TEST(Disentangled, LayersOfLaterStagesHaveNoTable) {
  Workload workload = MakeDeberta(4);
  EXPECT_TRUE(Validate(workload).empty());
  workload.parallel.gpus = workload.parallel.pipeline = 2;
  EXPECT_EQ(Validate(workload).at(0).field, "parallel.pipeline");
}

}  // namespace
}  // namespace tunefit
