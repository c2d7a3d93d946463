#include "core/model/workload.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace tunefit {
namespace {

/// Calls `visit(linear)` for every matrix that an adapter may sit on, each kind of block once.
template <typename Visit>
void ForEachLinear(const Architecture& architecture, Visit visit) {
  ForEachBlock(architecture, [&visit](const Block& block, std::int64_t /*repeats*/) { ForEachMatrix(block, visit); });
  if (architecture.streams) ForEachMatrix(*architecture.streams, visit);
  if (architecture.vision) ForEachMatrix(*architecture.vision, visit);
}

void ValidateTargets(Issues& issues, const Workload& workload) {
  for (std::size_t i = 0; i < workload.method.target_modules.size(); ++i) {
    const std::string& target = workload.method.target_modules[i];
    bool found = false;
    std::string known;
    ForEachLinear(workload.architecture, [&](const LinearShape& linear) {
      found = found || target == linear.name;
      if (known.find(linear.name) == std::string::npos) known += (known.empty() ? "" : " ") + std::string(linear.name);
    });
    if (found) continue;
    issues.push_back({.code = "unknown_target_module",
                      .field = "method.target_modules." + std::to_string(i),
                      .message = "This model has no linear module named \"" + target + "\"; it has " + known + ".",
                      .values = {{"value", target}, {"known", known}}});
  }
}

void ValidateRank(Issues& issues, const Workload& workload) {
  const Method& method = workload.method;
  std::int64_t smallest = 0;
  std::int64_t rank = 0;
  const auto compare = [&](const char* name, std::int64_t side) {
    const std::int64_t own = AdapterRank(method, name);
    if (own <= side || (rank != 0 && smallest <= side)) return;
    smallest = side;
    rank = own;
  };
  ForEachLinear(workload.architecture, [&](const LinearShape& linear) {
    const std::vector<std::string>& targets = method.target_modules;
    const bool chosen =
        method.all_linear || std::find(targets.begin(), targets.end(), std::string(linear.name)) != targets.end();
    const std::int64_t side = std::min(linear.in_features, linear.out_features);
    // A gate to a single number is no matrix of a rank: PEFT adapts it like any other.
    if (chosen && side > 1 && !linear.any_rank) compare(linear.name, side);
  });
  const std::int64_t side = std::min(workload.architecture.hidden_size, workload.architecture.vocab_size);
  if (method.adapts_embedding) compare("embed_tokens", side);
  if (method.adapts_head) compare("lm_head", side);
  if (rank == 0) return;
  const std::string value = std::to_string(rank);
  const std::string high = std::to_string(smallest);
  issues.push_back(
      {.code = "rank_over_matrix",
       .field = rank == method.rank ? "method.rank" : "method.rank_pattern",
       .message = "A rank of " + value + " exceeds the smallest adapted matrix, whose smaller side is " + high + ".",
       .values = {{"value", value}, {"high", high}}});
}

void ValidatePositions(Issues& issues, const Workload& workload) {
  const std::int64_t rows = workload.architecture.position_rows - workload.architecture.position_offset;
  const std::int64_t tokens = LayerTokens(workload, workload.batch.sequence_length);
  if (workload.architecture.position_rows == 0 || tokens <= rows) return;
  const std::string length = std::to_string(tokens);
  const std::string high = std::to_string(rows);
  issues.push_back({.code = "length_over_positions",
                    .field = "batch.sequence_length",
                    .message = "The model has learned positions for " + high + " tokens only; " + length +
                               " cannot be trained without changing it.",
                    .values = {{"value", length}, {"high", high}}});
}

/// What of a mixer tensor ranks share: heads, or channels where it has none; 0 for nothing.
std::int64_t SharedHeads(const Attention& attention) { return attention.heads; }
std::int64_t SharedHeads(const LatentAttention& attention) { return attention.scores.heads; }
std::int64_t SharedHeads(const Mamba1& mamba) { return mamba.inner; }
std::int64_t SharedHeads(const Mamba2& mamba) { return mamba.heads; }
std::int64_t SharedHeads(const GatedDelta& delta) { return delta.value_heads; }
std::int64_t SharedHeads(const LightningAttention& attention) { return attention.heads; }
std::int64_t SharedHeads(const ShortConvolution& mixer) { return mixer.convolution.channels; }
std::int64_t SharedHeads(const NoPart& /*none*/) { return 0; }

/// What else of a part they share, by its name in a config.
struct SharedWidth {
  std::int64_t width;
  const char* name;
  bool of_expert = false;  ///< routed experts have ranks of their own
};
using SharedWidths = std::vector<SharedWidth>;

SharedWidths WidthsOf(const Attention& attention) { return {{attention.kv_heads, "num_key_value_heads"}}; }
SharedWidths WidthsOf(const Mamba2& mamba) { return {{mamba.groups, "mamba_n_groups"}}; }
SharedWidths WidthsOf(const GatedDelta& delta) { return {{delta.key_heads, "linear_num_key_heads"}}; }
SharedWidths WidthsOf(const Mlp& mlp) { return {{mlp.width(), "intermediate_size"}}; }
SharedWidths WidthsOf(const Experts& experts) {
  SharedWidths widths = {{experts.expert.width(), "moe_intermediate_size", true}};
  if (experts.has_shared) widths.push_back({experts.shared.width(), "shared_expert_intermediate_size"});
  return widths;
}
template <typename Part>
SharedWidths WidthsOf(const Part& /*heads alone*/) {
  return {};
}

void CannotShare(Issues& issues, std::int64_t ranks, const SharedWidth& shared) {
  const std::string value = std::to_string(ranks);
  const std::string width = std::to_string(shared.width);
  issues.push_back(
      {.code = "tensor_over_width",
       .field = "parallel.tensor",
       .message = std::string(shared.name) + ", " + width + ", cannot be divided among " + value + " ranks.",
       .values = {{"value", value}, {"width", width}, {"name", shared.name}}});
}

/// True where ranks share the block evenly. Megatron-LM asserts each division (core/utils.py, divide;
/// ssm/mamba_mixer.py), torchtitan's and transformers' shards of a head no longer fit its shape.
bool ValidateShare(Issues& issues, const Parallel& parallel, const Block& block) {
  const std::int64_t ranks = parallel.tensor;
  const std::int64_t shared = std::visit([](const auto& mixer) { return SharedHeads(mixer); }, block.mixer);
  if (shared % ranks != 0) {
    const std::string value = std::to_string(ranks);
    const std::string heads = std::to_string(shared);
    issues.push_back({.code = "tensor_over_heads",
                      .field = "parallel.tensor",
                      .message = heads + " attention heads cannot be divided among " + value + " ranks.",
                      .values = {{"value", value}, {"heads", heads}}});
    return false;
  }
  SharedWidths widths = std::visit([](const auto& mixer) { return WidthsOf(mixer); }, block.mixer);
  for (const SharedWidth& width : std::visit([](const auto& part) { return WidthsOf(part); }, block.feed_forward)) {
    widths.push_back(width);
  }
  const auto ranks_of = [&parallel](const SharedWidth& width) {
    return width.of_expert ? parallel.ExpertTensor() : parallel.tensor;
  };
  const auto odd = std::find_if(widths.begin(), widths.end(),
                                [&](const SharedWidth& width) { return width.width % ranks_of(width) != 0; });
  if (odd == widths.end()) return true;
  CannotShare(issues, ranks_of(*odd), *odd);
  return false;
}

/// Layers of a model share their faults: the first is said.
void ValidateShares(Issues& issues, const Workload& workload) {
  for (const LayerRun& run : workload.architecture.runs) {
    for (const Block& block : run.period) {
      if (!ValidateShare(issues, workload.parallel, block)) return;
    }
  }
}

void ValidateStages(Issues& issues, const Workload& workload) {
  const std::int64_t layers = workload.architecture.layers();
  const std::int64_t pieces = workload.parallel.pipeline * workload.parallel.interleave;
  if (pieces <= layers) return;
  const std::string value = std::to_string(pieces);
  const std::string high = std::to_string(layers);
  const bool interleaves = workload.parallel.interleave > 1;
  issues.push_back({.code = "pipeline_over_layers",
                    .field = interleaves ? "parallel.interleave" : "parallel.pipeline",
                    .message = "A model of " + high + " layers cannot be cut into " + value +
                               (interleaves ? " pieces (pipeline x interleave)." : " stages."),
                    .values = {{"value", value}, {"high", high}}});
}

void ValidateExperts(Issues& issues, const Workload& workload) {
  const std::int64_t ranks = workload.parallel.expert;
  if (ranks == 1) return;
  const std::string value = std::to_string(ranks);
  bool found = false;
  std::int64_t undivided = 0;
  ForEachExperts(workload.architecture, [&](const Experts& experts) {
    found = true;
    if (undivided == 0 && experts.count % ranks != 0) undivided = experts.count;
  });
  if (undivided > 0) {
    const std::string count = std::to_string(undivided);
    issues.push_back({.code = "experts_do_not_divide",
                      .field = "parallel.expert",
                      .message = count + " experts cannot be divided among " + value + " ranks.",
                      .values = {{"value", value}, {"experts", count}}});
  }
  if (found) return;
  issues.push_back({.code = "experts_do_not_divide",
                    .field = "parallel.expert",
                    .message = "This model has no experts that " + value + " ranks could share.",
                    .values = {{"value", value}, {"experts", "0"}}});
}

void NotModelled(Issues& issues, const char* field, const char* message) {
  issues.push_back({.code = "not_modelled", .field = field, .message = message, .values = {}});
}

/// What is traced of an encoder-decoder: whole layers on one rank, in the order of transformers' own classes.
void ValidateEncoderDecoder(Issues& issues, const Workload& workload) {
  if (workload.task != Task::kSft && workload.task != Task::kPretrain) {
    NotModelled(issues, "task", "An encoder-decoder trains on pairs of source and target (sft) here.");
  }
  if (workload.method.kind == MethodKind::kFreeze) {
    NotModelled(issues, "method.kind", "Freezing layers of an encoder-decoder is not modelled yet.");
  }
  const Parallel& parallel = workload.parallel;
  if (parallel.tensor * parallel.pipeline * parallel.context > 1 || ShardsParameters(parallel.strategy) ||
      parallel.strategy == Strategy::kDeviceMap) {
    NotModelled(issues, "parallel", "An encoder-decoder divided among GPUs is not modelled yet: only copies are.");
  }
  if (workload.batch.packing != Packing::kNone) {
    NotModelled(issues, "batch.packing", "Sources and targets of an encoder-decoder are padded here, not packed.");
  }
  if (workload.loss != Loss::kStandard) {
    NotModelled(issues, "loss", "An encoder-decoder's class has its own loss; others are not modelled yet.");
  }
  if (workload.checkpointing == Checkpointing::kSelective || workload.checkpointing == Checkpointing::kOffload) {
    NotModelled(issues, "gradient_checkpointing", "An encoder-decoder's layers run again whole here, or not at all.");
  }
  const QuantizationKind kind = workload.quantization.kind;
  if (kind != QuantizationKind::kNone && kind != QuantizationKind::kNf4 && kind != QuantizationKind::kFp4 &&
      kind != QuantizationKind::kInt8) {
    NotModelled(issues, "quantization.kind", "Of quantized encoder-decoders only bitsandbytes' are modelled.");
  }
  if (workload.precision.weights == Dtype::kFp16) {
    NotModelled(issues, "precision.weights",
                "An encoder-decoder in fp16 is not modelled yet: its class clamps its states.");
  }
  if (workload.architecture.hears() && workload.attention == AttentionKernel::kEager) {
    NotModelled(issues, "attention", "Attention over frames of sound is modelled with fused kernels only.");
  }
  if (workload.architecture.hears() && workload.evaluation.per_device > 0) {
    NotModelled(issues, "evaluation", "Evaluation of a speech model is not modelled yet.");
  }
  if (workload.compile) NotModelled(issues, "compile", "A compiled encoder-decoder is not modelled yet.");
}

/// TRL's trainers run whole models on whole sequences, on ranks that differ in their examples alone.
void ValidateTaskRanks(Issues& issues, const Workload& workload) {
  if (workload.task == Task::kSft || workload.task == Task::kPretrain) return;
  const Parallel& parallel = workload.parallel;
  if (parallel.tensor > 1) {
    NotModelled(issues, "parallel.tensor", "Matrices shared among GPUs are not modelled for this task.");
  }
  if (parallel.pipeline > 1) {
    NotModelled(issues, "parallel.pipeline", "Stages of layers are not modelled for this task.");
  }
  if (parallel.context > 1) {
    NotModelled(issues, "parallel.context", "Sequences shared among GPUs are not modelled for this task.");
  }
  if (parallel.gpus == 1) return;
  if (IsPlaced(parallel)) {
    NotModelled(issues, "parallel.strategy", "Layers placed on several GPUs are not modelled for this task.");
  }
  const bool fsdp = parallel.strategy == Strategy::kFsdp || parallel.strategy == Strategy::kFsdp2;
  if (workload.task == Task::kPpo && fsdp) {
    // It generates with `model.policy`, whose root parameters nothing gathers then (ppo_trainer.py, train).
    NotModelled(issues, "parallel.strategy",
                "TRL's ppo trainer does not gather what FSDP shards: DDP and DeepSpeed are modelled.");
  }
}

/// Which stage of a pipeline trains and evaluates what.
void ValidateCutStages(Issues& issues, const Workload& workload) {
  if (workload.parallel.pipeline <= 1 && !IsPlaced(workload.parallel)) return;
  if (workload.method.kind == MethodKind::kFreeze) {
    NotModelled(issues, "method.kind",
                "Freezing layers of a model that is cut into stages or placed on several cards is not modelled yet.");
  }
  if (workload.parallel.pipeline > 1 && workload.evaluation.per_device > 0) {
    NotModelled(issues, "evaluation", "Evaluation of a model that is cut into stages is not modelled yet.");
  }
}

/// Where layers that only images reach stand among those that run is not said.
void ValidateCrossLayers(Issues& issues, const Workload& workload) {
  constexpr const char* kWhy = "Layers of the language model that only images reach are modelled whole and together.";
  if (workload.parallel.tensor > 1) NotModelled(issues, "parallel.tensor", kWhy);
  if (workload.parallel.pipeline > 1) NotModelled(issues, "parallel.pipeline", kWhy);
  if (IsPlaced(workload.parallel)) NotModelled(issues, "parallel.strategy", kWhy);
  if (workload.method.kind == MethodKind::kFreeze) NotModelled(issues, "method.kind", kWhy);
}

/// transformers runs such a model on one card, or one whole layer after another. What else reads or moves its streams,
/// and what its class does not know, is refused.
void ValidateStreams(Issues& issues, const Workload& workload) {
  constexpr const char* kWhole = "Several streams of hidden states are modelled with whole layers and sequences only.";
  constexpr const char* kNoKernels = "This model's class has no fused kernels, and compiled it is not modelled yet.";
  const Parallel& parallel = workload.parallel;
  if (parallel.tensor > 1) NotModelled(issues, "parallel.tensor", kWhole);
  if (parallel.pipeline > 1) NotModelled(issues, "parallel.pipeline", kWhole);
  if (parallel.context > 1) NotModelled(issues, "parallel.context", kWhole);
  if (IsPlaced(parallel)) NotModelled(issues, "parallel.strategy", kWhole);
  const FusedKernels& fused = workload.fused;
  if (fused.rms_norm || fused.rope || fused.swiglu || fused.lora) NotModelled(issues, "fused_kernels", kNoKernels);
  if (workload.compile) NotModelled(issues, "compile", kNoKernels);
  if (workload.precision.fp8_products) NotModelled(issues, "precision.compute", kNoKernels);
  const bool checks = workload.checkpointing != Checkpointing::kNone;
  if (workload.checkpointing == Checkpointing::kOffload || workload.checkpointing == Checkpointing::kSelective ||
      (checks && workload.habits.recompute != Recompute::kStopsEarly)) {
    NotModelled(issues, "gradient_checkpointing",
                "Layers of several streams, which share keys and values, are checkpointed whole here, on the card, and "
                "without reentrant backward passes.");
  }
  if (workload.method.kind == MethodKind::kPromptTuning) {
    NotModelled(issues, "method.kind", "Virtual tokens have no embedding for each layer: that is not modelled.");
  }
  const bool classifies =
      workload.task == Task::kSequenceClassification || workload.task == Task::kReward || workload.task == Task::kPpo;
  if (classifies) NotModelled(issues, "task", "transformers has no classifier over this model.");
}

}  // namespace

std::int64_t KeptTokens(const Workload& workload, std::int64_t length) {
  if (!HasRollout(workload.task)) return length;
  return std::max<std::int64_t>(1, length - workload.rollout.prompt_length + 1);
}

std::int64_t AdapterRank(const Method& method, const char* module) {
  for (const auto& [name, rank] : method.rank_pattern) {
    if (name == module) return rank;
  }
  return method.rank;
}

std::int64_t LayerTokens(const Workload& workload, std::int64_t length) {
  return length + workload.method.virtual_tokens;
}

Issues Validate(const Workload& workload) {
  Issues issues = Validate(workload.architecture);
  if (HasError(issues)) return issues;
  if (AdaptsModules(workload.method.kind)) ValidateTargets(issues, workload);
  if (workload.method.kind == MethodKind::kLora) ValidateRank(issues, workload);
  if (!AddsToFrozenModel(workload.method.kind) && workload.quantization.kind != QuantizationKind::kNone) {
    issues.push_back({.code = "quantized_full_training",
                      .field = "quantization",
                      .message = "A quantized base cannot be trained in full: choose LoRA over it, or no quantization.",
                      .values = {}});
  }
  if (workload.method.kind == MethodKind::kFreeze &&
      workload.method.trainable_layers > workload.architecture.layers()) {
    const std::string value = std::to_string(workload.method.trainable_layers);
    const std::string high = std::to_string(workload.architecture.layers());
    issues.push_back({.code = "too_many_layers",
                      .field = "method.trainable_layers",
                      .message = value + " layers cannot train: the model has " + high + ".",
                      .values = {{"value", value}, {"high", high}}});
  }
  if (workload.optimizer_in_backward && workload.batch.gradient_accumulation > 1) {
    const std::string value = std::to_string(workload.batch.gradient_accumulation);
    issues.push_back({.code = "accumulation_in_backward",
                      .field = "batch.gradient_accumulation",
                      .message = "Gradients that are applied within backward cannot be accumulated over " + value +
                                 " micro-batches.",
                      .values = {{"value", value}}});
  }
  ValidatePositions(issues, workload);
  const bool reads =
      workload.task == Task::kSft || workload.task == Task::kPretrain || workload.task == Task::kSequenceClassification;
  if (workload.architecture.encoder != EncoderKind::kNone && !reads) {
    issues.push_back({.code = "not_modelled",
                      .field = "task",
                      .message = "An encoder trains as a masked language model (sft) or as a classifier (seqcls) here.",
                      .values = {}});
  }
  if (workload.architecture.distance_rows > 0) {
    constexpr const char* kWhy = "A table that the layers of all stages or cards read is not modelled yet.";
    if (workload.parallel.pipeline > 1) NotModelled(issues, "parallel.pipeline", kWhy);
    if (IsPlaced(workload.parallel)) NotModelled(issues, "parallel.strategy", kWhy);
  }
  if (workload.architecture.vision && workload.architecture.vision->reaches_into_language()) {
    ValidateCrossLayers(issues, workload);
  }
  if (workload.architecture.streams) ValidateStreams(issues, workload);
  if (workload.architecture.encodes_source()) ValidateEncoderDecoder(issues, workload);
  ValidateShares(issues, workload);
  ValidateStages(issues, workload);
  ValidateExperts(issues, workload);
  ValidateTaskRanks(issues, workload);
  ValidateCutStages(issues, workload);
  for (Issue& issue : Validate(workload.parallel)) issues.push_back(std::move(issue));
  return issues;
}

}  // namespace tunefit
