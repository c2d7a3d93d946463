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
  for (const LayerRun& run : architecture.runs) {
    for (const Block& block : run.period) {
      ForEachMatrix(block, visit);
    }
  }
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
  std::int64_t smallest = 0;
  ForEachLinear(workload.architecture, [&](const LinearShape& linear) {
    const std::vector<std::string>& targets = workload.method.target_modules;
    const bool chosen = workload.method.all_linear ||
                        std::find(targets.begin(), targets.end(), std::string(linear.name)) != targets.end();
    const std::int64_t side = std::min(linear.in_features, linear.out_features);
    // A gate to a single number is no matrix of a rank: PEFT adapts it like any other.
    if (side == 1) return;
    if (chosen && (smallest == 0 || side < smallest)) smallest = side;
  });
  if (smallest == 0 || workload.method.rank <= smallest) return;
  const std::string rank = std::to_string(workload.method.rank);
  const std::string high = std::to_string(smallest);
  issues.push_back(
      {.code = "rank_over_matrix",
       .field = "method.rank",
       .message = "A rank of " + rank + " exceeds the smallest adapted matrix, whose smaller side is " + high + ".",
       .values = {{"value", rank}, {"high", high}}});
}

void ValidatePositions(Issues& issues, const Workload& workload) {
  const std::int64_t rows = workload.architecture.position_rows - workload.architecture.position_offset;
  if (workload.architecture.position_rows == 0 || workload.batch.sequence_length <= rows) return;
  const std::string length = std::to_string(workload.batch.sequence_length);
  const std::string high = std::to_string(rows);
  issues.push_back({.code = "length_over_positions",
                    .field = "batch.sequence_length",
                    .message = "The model has learned positions for " + high + " tokens only; " + length +
                               " cannot be trained without changing it.",
                    .values = {{"value", length}, {"high", high}}});
}

void ValidateShares(Issues& issues, const Workload& workload) {
  const std::int64_t ranks = workload.parallel.tensor;
  for (const LayerRun& run : workload.architecture.runs) {
    for (const Block& block : run.period) {
      const auto* attention = std::get_if<Attention>(&block.mixer);
      if (attention == nullptr || attention->heads % ranks == 0) continue;
      const std::string value = std::to_string(ranks);
      const std::string heads = std::to_string(attention->heads);
      issues.push_back({.code = "tensor_over_heads",
                        .field = "parallel.tensor",
                        .message = heads + " attention heads cannot be divided among " + value + " ranks.",
                        .values = {{"value", value}, {"heads", heads}}});
      return;
    }
  }
}

void ValidateStages(Issues& issues, const Workload& workload) {
  const std::int64_t layers = workload.architecture.layers();
  if (workload.parallel.pipeline <= layers) return;
  const std::string value = std::to_string(workload.parallel.pipeline);
  const std::string high = std::to_string(layers);
  issues.push_back({.code = "pipeline_over_layers",
                    .field = "parallel.pipeline",
                    .message = "A model of " + high + " layers cannot be cut into " + value + " stages.",
                    .values = {{"value", value}, {"high", high}}});
}

}  // namespace

std::int64_t KeptTokens(const Workload& workload, std::int64_t length) {
  if (!HasRollout(workload.task)) return length;
  return std::max<std::int64_t>(1, length - workload.rollout.prompt_length + 1);
}

Issues Validate(const Workload& workload) {
  Issues issues = Validate(workload.architecture);
  if (HasError(issues)) return issues;
  if (workload.method.kind == MethodKind::kLora) {
    ValidateTargets(issues, workload);
    ValidateRank(issues, workload);
  } else if (workload.quantization.kind != QuantizationKind::kNone) {
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
  ValidateShares(issues, workload);
  ValidateStages(issues, workload);
  for (Issue& issue : Validate(workload.parallel)) issues.push_back(std::move(issue));
  return issues;
}

}  // namespace tunefit
