#include "tests/property/random_workload.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/architectures.h"

namespace tunefit::test {
namespace {

/// Uniform over a range without std::uniform_int_distribution, whose results differ between standard libraries.
std::int64_t Between(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
}

bool Chance(std::mt19937& random, int percent) { return Between(random, 1, 100) <= percent; }

template <typename Choice>
Choice Any(std::mt19937& random, std::initializer_list<Choice> choices) {
  return choices.begin()[Between(random, 0, static_cast<std::int64_t>(choices.size()) - 1)];
}

Attention RandomAttention(std::mt19937& random, std::int64_t hidden) {
  Attention attention;
  attention.kv_heads = Between(random, 1, 4);
  attention.heads = attention.kv_heads * Between(random, 1, 4);
  attention.head_dim = 16 * Between(random, 1, 4);
  const std::int64_t q = attention.heads * attention.head_dim;
  const std::int64_t kv = attention.kv_heads * attention.head_dim;
  const bool bias = Chance(random, 30);
  attention.rotary = Chance(random, 80) ? Rotary::kHalves : Rotary::kNone;
  if (Chance(random, 25)) {
    attention.layout = QkvLayout::kFused;
    attention.query = {"c_attn", hidden, q + 2 * kv, bias};
  } else {
    attention.query = {"q_proj", hidden, q, bias};
    attention.key = {"k_proj", hidden, kv, bias};
    attention.value = {"v_proj", hidden, kv, bias};
    attention.qk_norm = Chance(random, 25) ? QkNorm::kHead : QkNorm::kNone;
  }
  attention.output = {"o_proj", q, hidden, Chance(random, 20)};
  attention.score_softcap = Chance(random, 15);
  attention.dropout = Chance(random, 15) ? 0.1 : 0;
  attention.eager = Any(random, {EagerStyle::kFp32Softmax, EagerStyle::kFp32Softmax, EagerStyle::kTypedSoftmax,
                                 EagerStyle::kFp32Scores, EagerStyle::kOwnSoftmax, EagerStyle::kSinks});
  attention.sinks = attention.eager == EagerStyle::kSinks;
  return attention;
}

Block RandomBlock(std::mt19937& random, std::int64_t hidden) {
  Block block;
  block.norm =
      Any(random, {NormKind::kRmsNorm, NormKind::kRmsNormUnitGain, NormKind::kRmsNormFp32Gain, NormKind::kLayerNorm,
                   NormKind::kLayerNormNoBias, NormKind::kLayerNormBare, NormKind::kLayerNormWritten});
  block.arrangement =
      Any(random, {Arrangement::kPreNorm, Arrangement::kPreNorm, Arrangement::kSandwichNorm, Arrangement::kNormAfter,
                   Arrangement::kPostNorm, Arrangement::kParallel, Arrangement::kParallelTwoNorms});
  block.mixer = RandomAttention(random, hidden);
  const std::int64_t width = 64 * Between(random, 1, 12);
  const bool bias = Chance(random, 20);
  Mlp mlp;
  mlp.gated = Chance(random, 70);
  mlp.gate = {"gate_proj", hidden, width, bias};
  mlp.up = {"up_proj", hidden, width, bias};
  mlp.down = {"down_proj", width, hidden, bias};
  mlp.activation =
      Any(random, {Activation::kSilu, Activation::kGelu, Activation::kGeluNew, Activation::kGeluFast, Activation::kRelu,
                   Activation::kReluSquared, Activation::kGeluByHand, Activation::kXielu});
  block.feed_forward = mlp;
  block.residual_dropout = Chance(random, 15) ? 0.1 : 0;
  block.scales_residual = Chance(random, 15);
  return block;
}

Architecture RandomArchitecture(std::mt19937& random) {
  Architecture architecture;
  architecture.model_type = "random";
  architecture.hidden_size = 64 * Between(random, 1, 8);
  architecture.vocab_size = Between(random, 100, 5000);
  architecture.tied_head = Chance(random, 40);
  architecture.scales_embedding = Chance(random, 15);
  architecture.scales_logits = Chance(random, 15);
  architecture.logits_softcap = Chance(random, 15);
  architecture.embedding_dropout = Chance(random, 15) ? 0.1 : 0;
  architecture.position_rows = Chance(random, 20) ? 4096 : 0;
  architecture.final_norm = Any(random, {NormKind::kRmsNorm, NormKind::kLayerNorm});
  const std::int64_t runs = Between(random, 1, 2);
  for (std::int64_t i = 0; i < runs; ++i) {
    LayerRun run;
    run.repeats = Between(random, 1, 6);
    const std::int64_t period = Between(random, 1, 2);
    for (std::int64_t k = 0; k < period; ++k) run.period.push_back(RandomBlock(random, architecture.hidden_size));
    architecture.runs.push_back(run);
  }
  return architecture;
}

void RandomizeIa3(std::mt19937& random, Workload& workload) {
  Method& method = workload.method;
  method.kind = MethodKind::kIa3;
  if (Chance(random, 60)) {
    method.all_linear = false;
    method.target_modules = Any<std::vector<std::string>>(random, {{"down_proj"}, {"o_proj"}, {"down_proj", "o_proj"}});
  }
  method.feedforward_modules =
      Any<std::vector<std::string>>(random, {{}, {"down_proj"}, {"down_proj", "o_proj"}, {"q_proj"}});
  method.saves_embedding = Chance(random, 15);
  method.saves_head = Chance(random, 15);
  if (Chance(random, 60)) return;
  workload.quantization.kind = Any(random, {QuantizationKind::kNf4, QuantizationKind::kFp4, QuantizationKind::kInt8});
  workload.quantization.prepare = Any(random, {PrepareKbit::kNone, PrepareKbit::kPeft, PrepareKbit::kTrl});
}

void RandomizeMethod(std::mt19937& random, Workload& workload) {
  if (Chance(random, 35)) return;
  if (Chance(random, 15)) return RandomizeIa3(random, workload);
  if (Chance(random, 15)) {
    workload.method.kind = MethodKind::kPromptTuning;
    workload.method.virtual_tokens = Between(random, 1, 100);
    if (Chance(random, 30)) workload.quantization.kind = Any(random, {QuantizationKind::kNf4, QuantizationKind::kGptq});
    return;
  }
  if (Chance(random, 15)) {
    workload.method.kind = MethodKind::kFreeze;
    workload.method.trainable_layers = Between(random, 1, workload.architecture.layers());
    return;
  }
  workload.method.kind = MethodKind::kLora;
  workload.method.dora = Chance(random, 20);
  workload.habits.dora_reuses_base = Chance(random, 50);
  workload.method.rank = Between(random, 1, 16);
  if (Chance(random, 15)) workload.method.rank_pattern = {{"down_proj", Between(random, 1, 32)}};
  workload.method.dropout = Chance(random, 30) ? 0.05 : 0;
  if (Chance(random, 40)) {
    workload.method.all_linear = false;
    workload.method.target_modules =
        Any<std::vector<std::string>>(random, {{"down_proj"}, {"o_proj"}, {"down_proj", "o_proj"}});
  }
  workload.method.saves_embedding = Chance(random, 15);
  workload.method.saves_head = Chance(random, 15);
  workload.method.adapts_embedding = !workload.method.saves_embedding && !workload.method.dora && Chance(random, 15);
  workload.method.adapts_head = !workload.method.saves_head && Chance(random, 15);
  if (Chance(random, 50)) {
    workload.quantization.kind =
        Any(random, {QuantizationKind::kNf4, QuantizationKind::kFp4, QuantizationKind::kInt8, QuantizationKind::kGptq,
                     QuantizationKind::kAwq, QuantizationKind::kHqq, QuantizationKind::kFp8});
    workload.quantization.group_size = Any<std::int64_t>(random, {32, 128, 1'000'000});
    workload.habits.gptq_unpacks_in_torch = Chance(random, 50);
    workload.quantization.double_quant = Chance(random, 50);
    workload.quantization.prepare = Any(random, {PrepareKbit::kNone, PrepareKbit::kPeft, PrepareKbit::kTrl});
  }
}

void RandomizeStages(std::mt19937& random, Workload& workload) {
  if (Chance(random, 75) || workload.architecture.layers() < 2 || workload.method.kind == MethodKind::kFreeze) return;
  workload.parallel.pipeline = Between(random, 1, std::min<std::int64_t>(4, workload.architecture.layers()));
  workload.parallel.gpus *= workload.parallel.pipeline;
  if (workload.parallel.pipeline == 1 || Chance(random, 60)) return;
  const std::int64_t most = workload.architecture.layers() / workload.parallel.pipeline;
  workload.parallel.interleave = Between(random, 1, std::min<std::int64_t>(3, most));
}

void RandomizeExpertRanks(std::mt19937& random, Workload& workload) {
  const Strategy strategy = workload.parallel.strategy;
  const bool keeps_whole = strategy == Strategy::kDdp || strategy == Strategy::kZero1 || strategy == Strategy::kFsdp2;
  if (!keeps_whole || workload.quantization.kind != QuantizationKind::kNone || Chance(random, 30)) return;
  Workload shared = workload;
  shared.parallel.expert = Between(random, 2, 4);
  shared.parallel.gpus *= shared.parallel.expert;
  if (!HasError(Validate(shared))) workload = shared;
}

void RandomizeTensorRanks(std::mt19937& random, Workload& workload) {
  if (Chance(random, 80) || workload.architecture.vision) return;
  Workload shared = workload;
  shared.parallel.tensor = 2;
  shared.parallel.gpus *= 2;
  shared.parallel.sequence_parallel = Chance(random, 60);
  if (shared.parallel.expert > 1 && Chance(random, 50)) shared.parallel.expert_tensor = 1;
  shared.habits.gathers_tokens_again = Chance(random, 50);
  if (!HasError(Validate(shared))) workload = shared;
}

/// Sizes about those of the random models, so that every rule is met on both of its sides.
ZeroSettings RandomZero(std::mt19937& random) {
  const auto elements = [&random] {
    return Between(random, 0, 1) == 0 ? 0 : std::int64_t{1} << Between(random, 4, 24);
  };
  return {.reduce_bucket_size = Between(random, 1, 1 << 20),
          .overlap_comm = Chance(random, 50),
          .contiguous_gradients = Chance(random, 80),
          .prefetch_bucket_size = elements(),
          .param_persistence_threshold = elements(),
          .max_live_parameters = elements(),
          .max_reuse_distance = elements(),
          .sub_group_size = Between(random, 1, 1 << 22)};
}

/// One copy of the model on some of the ranks; stage 3 may have a second one on some of them instead.
void RandomizeShards(std::mt19937& random, Parallel& parallel) {
  if (!ShardsParameters(parallel.strategy) || Chance(random, 60)) return;
  const std::int64_t ranks = Between(random, 2, 4);
  parallel.gpus *= ranks;
  if (parallel.strategy == Strategy::kZero3 && Chance(random, 50)) {
    parallel.zero.hpz_partition_size = ranks;
  } else {
    parallel.shard = parallel.gpus / ranks;
  }
}

void RandomizeSharding(std::mt19937& random, Workload& workload) {
  if (Chance(random, 60)) return;
  workload.parallel.strategy = Any(random, {Strategy::kDdp, Strategy::kZero1, Strategy::kZero2, Strategy::kZero3,
                                            Strategy::kFsdp, Strategy::kFsdp2});
  workload.habits.fsdp1_keeps_gradients = Chance(random, 50);
  workload.habits.fsdp_upcasts_trainable = Chance(random, 50);
  workload.parallel.gpus = Between(random, 1, 16);
  workload.parallel.reshard_after_forward = Chance(random, 60);
  workload.parallel.reduce_dtype = Any(random, {Dtype::kFp32, Dtype::kBf16});
  workload.parallel.gradient_as_bucket_view = Chance(random, 50);
  workload.parallel.zero = RandomZero(random);
  RandomizeShards(random, workload.parallel);
}

/// FP8 products in torchao's manner and in TransformerEngine's, which knows no sharded parameters and no experts.
void RandomizeFp8(std::mt19937& random, Workload& workload) {
  if (Chance(random, 75)) return;
  workload.precision.fp8_products = true;
  if (ShardsParameters(workload.parallel.strategy) || workload.parallel.expert > 1) return;
  workload.habits.fp8_operands = Any(random, {Fp8Operands::kCast, Fp8Operands::kKept});
  workload.precision.fp8_transposes = Chance(random, 50);
  workload.precision.fp8_weights = workload.precision.weights == Dtype::kBf16 && Chance(random, 30);
}

/// A decoder of Gemma 3n's kind where such a one may be trained so.
void RandomizeStreams(std::mt19937& random, Workload& workload) {
  if (Chance(random, 90)) return;
  Workload streamed = workload;
  const std::int64_t layers = Between(random, 4, 12);
  streamed.architecture = MakeGemma3n({.hidden = 64 * Between(random, 1, 4),
                                       .layers = layers,
                                       .borrowers = Between(random, 0, layers - 2),
                                       .sparse = Between(random, 0, 2)});
  streamed.compile = false;
  streamed.fused = {};
  streamed.precision.fp8_products = false;
  streamed.habits.recompute = Recompute::kStopsEarly;
  if (!HasError(Validate(streamed))) workload = streamed;
}

}  // namespace

Workload RandomWorkload(std::mt19937& random) {
  Workload workload;
  workload.architecture = RandomArchitecture(random);
  RandomizeMethod(random, workload);
  workload.precision.weights =
      workload.quantization.kind != QuantizationKind::kNone ? Dtype::kBf16 : Any(random, {Dtype::kFp32, Dtype::kBf16});
  workload.precision.autocast = AddsToFrozenModel(workload.method.kind) || Chance(random, 60);
  workload.optimizer = static_cast<Optimizer>(Between(random, 0, static_cast<std::int64_t>(Optimizer::kStableAdamw)));
  workload.optimizer_rank = Between(random, 1, 64);
  workload.precision.master_weights = Chance(random, 15);
  workload.habits.master_gradients = Any(random, {MasterGradients::kCastInStep, MasterGradients::kFp32Buffer});
  workload.checkpointing = Any(random, {Checkpointing::kNone, Checkpointing::kFull, Checkpointing::kFull,
                                        Checkpointing::kSelective, Checkpointing::kOffload});
  workload.checkpoint_every = Chance(random, 25) ? Between(random, 2, 4) : 1;
  workload.habits.selective_checkpoint =
      Any(random, {SelectiveCheckpoint::kCoreAttention, SelectiveCheckpoint::kAllButEverySecondProduct,
                   SelectiveCheckpoint::kAllButAttention});
  workload.habits.recompute = Any(random, {Recompute::kStopsEarly, Recompute::kWhole, Recompute::kReentrant});
  workload.attention = Any(random, {AttentionKernel::kEager, AttentionKernel::kSdpa, AttentionKernel::kFlash});
  workload.loss = Any(random, {Loss::kStandard, Loss::kChunked, Loss::kFusedCe, Loss::kFusedLinearCe});
  if (workload.method.adapts_head) workload.loss = Loss::kStandard;
  workload.fused = {Chance(random, 20), Chance(random, 20), Chance(random, 20), Chance(random, 20)};
  workload.habits.logits_upcast = Any(random, {LogitsUpcast::kNone, LogitsUpcast::kModel, LogitsUpcast::kLoss});
  workload.habits.loss_shifts_logits = Chance(random, 30);
  workload.habits.loss = {
      Any(random, {ChunkedLoss::kBlocksRunAgain, ChunkedLoss::kLogitsInChunks, ChunkedLoss::kHeadInChunks}),
      Between(random, 1, 8),
      Chance(random, 30) ? Between(random, 1, 300) : 0,
      Chance(random, 20),
      Chance(random, 70),
      Chance(random, 20),
      Chance(random, 20)};
  workload.batch = {Between(random, 1, 4), Between(random, 1, 2), Between(random, 1, 2048),
                    Any(random, {Packing::kNone, Packing::kPacked}), false};
  workload.optimizer_in_backward = workload.batch.gradient_accumulation == 1 && Chance(random, 15);
  RandomizeSharding(random, workload);
  RandomizeStages(random, workload);
  RandomizeExpertRanks(random, workload);
  workload.compile = Chance(random, 20);
  if (Chance(random, 15)) {
    workload.architecture.vision = MakeTower();
    workload.method.rank = std::min(workload.method.rank, workload.architecture.vision->hidden_size);
    workload.method.trains_vision_tower = Chance(random, 50);
  }
  RandomizeTensorRanks(random, workload);
  RandomizeFp8(random, workload);
  RandomizeStreams(random, workload);
  return workload;
}

std::string Describe(const Workload& workload) {
  std::ostringstream text;
  const Block& block = workload.architecture.runs.front().period.front();
  text << "method " << static_cast<int>(workload.method.kind) << ", quantization "
       << static_cast<int>(workload.quantization.kind) << ", checkpointing " << static_cast<int>(workload.checkpointing)
       << " every " << workload.checkpoint_every << " by " << static_cast<int>(workload.habits.selective_checkpoint)
       << " and " << static_cast<int>(workload.habits.recompute) << ", attention "
       << static_cast<int>(workload.attention) << ", loss " << static_cast<int>(workload.loss) << ", autocast "
       << workload.precision.autocast << ", weights " << DtypeName(workload.precision.weights) << ", batch "
       << workload.batch.per_device << " x " << workload.batch.sequence_length << ", norm "
       << static_cast<int>(block.norm) << ", fused qkv " << static_cast<int>(std::get<Attention>(block.mixer).layout)
       << ", strategy " << static_cast<int>(workload.parallel.strategy) << " over " << workload.parallel.gpus
       << ", pipeline " << workload.parallel.pipeline << " x " << workload.parallel.interleave << ", experts "
       << workload.parallel.expert << ", in " << workload.parallel.tensor << " parts and copies of "
       << workload.parallel.shard << ", parts of tokens " << workload.parallel.sequence_parallel << ", reshards "
       << workload.parallel.reshard_after_forward << ", layers " << workload.architecture.layers();
  return text.str();
}

}  // namespace tunefit::test
