// Classes with routed experts, as transformers' modeling files have them.
#include "core/codec/hf_family.h"

namespace tunefit {
namespace {

constexpr ExpertClass kMixtral = {.router = {.matrix = {"gate"}, .keeps_fp32 = true}};

constexpr ExpertClass kQwen2 = {.layers = ExpertLayers::kSparseStep,
                                .shared = SharedExpert::kWidth,
                                .normalizes = NormalizeRule::kByKey,
                                .router = {.matrix = {"gate"}},
                                .shared_first = true,
                                .shared_gate = "mlp.shared_expert_gate",
                                .shared_gate_proj = "mlp.shared_expert.gate_proj",
                                .shared_up_proj = "mlp.shared_expert.up_proj",
                                .shared_down_proj = "mlp.shared_expert.down_proj"};

constexpr ExpertClass kQwen3 = {
    .layers = ExpertLayers::kSparseStep, .normalizes = NormalizeRule::kByKey, .router = {.matrix = {"gate"}}};

constexpr Family kFamilies[] = {
    {.model_type = "mixtral",
     .window = WindowRule::kAllLayers,
     .kv_heads_by_default = 8,
     .window_by_default = 0,
     .experts = &kMixtral},
    {.model_type = "qwen2_moe",
     .biases = BiasRule::kQkv,
     .window = WindowRule::kUpperLayers,
     .kv_heads_by_default = 16,
     .experts = &kQwen2},
    {.model_type = "qwen3_moe",
     .qk_norm = QkNorm::kHead,
     .biases = BiasRule::kByKey,
     .window = WindowRule::kUpperLayers,
     .kv_heads_by_default = 4,
     .experts = &kQwen3},
};

}  // namespace

std::span<const Family> ExpertFamilies() { return kFamilies; }

}  // namespace tunefit
