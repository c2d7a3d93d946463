#include "core/codec/hf_experts.h"

#include <cstdint>
#include <string_view>

#include "core/codec/hf_parts.h"

namespace tunefit {
namespace {

constexpr std::int64_t kExpertLimit = 100000;

constexpr std::string_view kExperts[] = {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"};
constexpr std::string_view kPerToken[] = {"num_experts_per_tok", "experts_per_token", "moe_k", "moe_topk"};
/// Classes whose layers all have experts call the width of one by the dense name.
constexpr std::string_view kWidth[] = {"moe_intermediate_size", "intermediate_size"};
constexpr std::string_view kSharedCount[] = {"n_shared_experts", "moe_num_shared_experts", "num_shared_expert"};
constexpr std::string_view kSharedWidth[] = {"shared_expert_intermediate_size"};

bool Normalizes(const ObjectReader& config, NormalizeRule rule) {
  switch (rule) {
    case NormalizeRule::kNever:
      return false;
    case NormalizeRule::kAlways:
      return true;
    case NormalizeRule::kByKey:
      break;
  }
  return config.Flag("norm_topk_prob").value_or(false);
}

std::int64_t ReadSharedWidth(const HfReading& reading, std::int64_t expert_width) {
  switch (reading.family.experts->shared) {
    case SharedExpert::kNone:
      return 0;
    case SharedExpert::kCount:
      return expert_width * reading.config.Count(reading.NameOf(kSharedCount), 0, kExpertLimit).value_or(0);
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

}  // namespace

ExpertPlan ReadExperts(const HfReading& reading, const HfSizes& sizes) {
  const ExpertClass* rules = reading.family.experts;
  if (rules == nullptr) return {};
  ExpertPlan plan;
  Experts& experts = plan.experts;
  experts.count = reading.Required(kExperts, kExpertLimit);
  experts.per_token = reading.Required(kPerToken, kExpertLimit);
  const std::int64_t width = reading.Required(kWidth, kSizeLimit);
  experts.expert = ReadMlp(reading, sizes.hidden, width);
  experts.router = rules->router;
  experts.router.matrix.in_features = sizes.hidden;
  experts.router.matrix.out_features = experts.count;
  experts.router.normalizes = Normalizes(reading.config, rules->normalizes);
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
