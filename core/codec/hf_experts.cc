#include "core/codec/hf_experts.h"

#include <cstdint>
#include <string_view>

#include "core/codec/hf_parts.h"

namespace tunefit {
namespace {

constexpr std::int64_t kExpertLimit = 100000;

constexpr std::string_view kExperts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
constexpr std::string_view kPerToken[] = {"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk", "moe_top_k"};
/// Classes whose layers all have experts call the width of one by the dense name.
constexpr std::string_view kWidth[] = {"moe_intermediate_size", "intermediate_size", "ffn_hidden_size"};
constexpr std::string_view kSharedCount[] = {"n_shared_experts", "moe_num_shared_experts", "num_shared_expert"};
constexpr std::string_view kSharedWidth[] = {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                                             "shared_intermediate_size"};

bool Normalizes(const ObjectReader& config, NormalizeRule rule) {
  switch (rule) {
    case NormalizeRule::kNever:
      return false;
    case NormalizeRule::kAlways:
      return true;
    case NormalizeRule::kByKey:
    case NormalizeRule::kUnlessKey:
      break;
  }
  return config.Flag("norm_topk_prob").value_or(rule == NormalizeRule::kUnlessKey);
}

std::int64_t ReadSharedWidth(const HfReading& reading, std::int64_t expert_width) {
  switch (reading.family.experts->shared) {
    case SharedExpert::kNone:
      return 0;
    case SharedExpert::kCount:
      return expert_width * reading.config.Count(reading.NameOf(kSharedCount), 0, kExpertLimit).value_or(0);
    case SharedExpert::kSame:
      return expert_width;
    case SharedExpert::kWidth:
      break;
  }
  return reading.config.Count(reading.NameOf(kSharedWidth), 0, kSizeLimit).value_or(0);
}

/// Layers named in a list, counted from 0.
std::vector<bool> ReadLayerList(const ObjectReader& config, std::string_view key, std::int64_t layers) {
  std::vector<bool> named(static_cast<std::size_t>(layers), false);
  const JsonValue* list = config.List(key);
  if (list == nullptr) return named;
  for (const JsonValue& item : list->items) {
    if (item.kind == JsonKind::kInteger && item.integer >= 0 && item.integer < layers) {
      named[static_cast<std::size_t>(item.integer)] = true;
    }
  }
  return named;
}

/// Leaves one layer in `step`, at `offset`; -1 for the last of each step.
void Keep(std::vector<bool>& layers, std::int64_t step, std::int64_t offset) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) % step;
    layers[i] = layers[i] && at == (offset < 0 ? step - 1 : offset);
  }
}

std::vector<bool> ReadExpertLayers(const HfReading& reading, std::int64_t layers) {
  const ObjectReader& config = reading.config;
  std::vector<bool> has_experts(static_cast<std::size_t>(layers), true);
  switch (reading.family.experts->layers) {
    case ExpertLayers::kAll:
      break;
    case ExpertLayers::kFirstDense: {
      const std::int64_t dense = config.Count("first_k_dense_replace", 0, kLayerLimit).value_or(0);
      for (std::int64_t i = 0; i < layers; ++i) has_experts[static_cast<std::size_t>(i)] = i >= dense;
      break;
    }
    case ExpertLayers::kInterleaved:
      Keep(has_experts, config.Count("interleave_moe_layer_step", 1, kLayerLimit).value_or(1), -1);
      break;
    case ExpertLayers::kPeriod:
      Keep(has_experts, config.Count("expert_layer_period", 1, kLayerLimit).value_or(2),
           config.Count("expert_layer_offset", 0, kLayerLimit).value_or(1));
      break;
    case ExpertLayers::kRange: {
      const std::int64_t start = config.Count("moe_layer_start_index", 0, kLayerLimit).value_or(1);
      const std::int64_t end = config.Count("moe_layer_end_index", -1, kLayerLimit).value_or(-1);
      Keep(has_experts, config.Count("moe_layer_interval", 1, kLayerLimit).value_or(1), -1);
      for (std::int64_t i = 0; i < layers; ++i) {
        if (i < start || (end >= 0 && i > end)) has_experts[static_cast<std::size_t>(i)] = false;
      }
      break;
    }
    case ExpertLayers::kSparseStep: {
      const std::int64_t step = config.Count("decoder_sparse_step", 1, kLayerLimit).value_or(1);
      const std::vector<bool> dense = ReadLayerList(config, "mlp_only_layers", layers);
      for (std::size_t i = 0; i < has_experts.size(); ++i) {
        has_experts[i] = !dense[i] && (static_cast<std::int64_t>(i) + 1) % step == 0;
      }
      break;
    }
  }
  return has_experts;
}

/// Granite 4's dense models and Nemotron-H's say that there are none, or name none.
bool HasNoExperts(const HfReading& reading) {
  const ObjectReader& config = reading.config;
  const JsonValue* count = config.Find(reading.NameOf(kExperts));
  if (count == nullptr) return reading.family.other_mixer == OtherMixer::kMamba2;
  return count->kind == JsonKind::kInteger && count->integer == 0;
}

/// The shapes of one expert: an MLP like the class's dense one, gate and up always apart.
Mlp ReadExpert(const HfReading& reading, std::int64_t hidden, std::int64_t width) {
  Mlp expert = ReadMlp(reading, hidden, width);
  const bool bias = reading.family.experts->biases;
  expert.fused_gate = false;
  expert.up = {expert.up.name, hidden, width, bias};
  expert.down.bias = bias;
  if (expert.gated) expert.gate = {expert.gate.name, hidden, width, bias};
  return expert;
}

}  // namespace

ExpertPlan ReadExperts(const HfReading& outer, const HfSizes& sizes) {
  const ExpertClass* rules = outer.family.experts;
  if (rules == nullptr) return {};
  const ObjectReader inside(outer.config, "ffn_config");  // DBRX has its experts in there
  const HfReading reading(inside.present() ? inside : outer.config, outer.family);
  ExpertPlan plan;
  Experts& experts = plan.experts;
  if (HasNoExperts(reading)) return plan;
  experts.count = reading.Required(kExperts, kExpertLimit);
  experts.per_token = reading.RequiredFirst(kPerToken, kExpertLimit);
  const std::int64_t width = reading.RequiredFirst(kWidth, kSizeLimit);
  experts.expert = ReadExpert(reading, sizes.hidden, width);
  experts.form = rules->form;
  experts.gate = rules->gate;
  experts.router = rules->router;
  experts.router.matrix.in_features = sizes.hidden;
  experts.router.matrix.out_features = experts.count;
  experts.router.matrix.bias = rules->biases;
  if (Normalizes(reading.config, rules->normalizes)) experts.router.division = rules->division;
  if (reading.config.Text("topk_method") == "group_limited_greedy") experts.router.choice = Choice::kGroups;
  const std::int64_t shared_width = ReadSharedWidth(reading, width);
  experts.has_shared = shared_width > 0;
  if (experts.has_shared) {
    experts.shared = ReadMlp(reading, sizes.hidden, shared_width);
    experts.shared.gate.name = rules->shared_gate_proj;
    experts.shared.up.name = rules->shared_up_proj;
    experts.shared.down.name = rules->shared_down_proj;
    experts.shared_first = rules->shared_first;
    if (rules->shared_gate[0] != '\0') experts.shared_gate = {rules->shared_gate, sizes.hidden, 1, false};
  }
  plan.layers = ReadExpertLayers(reading, sizes.layers);
  return plan;
}

}  // namespace tunefit
