// peft utils/constants.py: TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING and ..._FEEDFORWARD_MODULES_MAPPING.
#include "core/codec/peft_modules.h"

#include <algorithm>
#include <iterator>

namespace tunefit {
namespace {

using Names = const std::string_view[];

constexpr Names kDownProj = {"down_proj"};
constexpr Names kMlpProj = {"mlp.c_proj"};
constexpr Names kFc2 = {"fc2"};
constexpr Names kFcOut = {"fc_out"};
constexpr Names kDense = {"output.dense"};
constexpr Names kDense4h = {"dense_4h_to_h"};
constexpr Names kMlpDense4h = {"mlp.dense_4h_to_h"};
constexpr Names kCProj = {"c_proj"};
constexpr Names kWo = {"wo"};
constexpr Names kW2 = {"w2"};

constexpr Names kKeysValuesDown = {"k_proj", "v_proj", "down_proj"};
constexpr Names kQueriesValuesDown = {"q_proj", "v_proj", "down_proj"};
constexpr Names kMixtral = {"k_proj", "v_proj", "w2"};
constexpr Names kPhi = {"q_proj", "v_proj", "fc2"};
constexpr Names kOpt = {"q_proj", "k_proj", "fc2"};
constexpr Names kGptJ = {"q_proj", "v_proj", "fc_out"};
constexpr Names kGptNeo = {"q_proj", "v_proj", "c_proj"};
constexpr Names kGpt2 = {"c_attn", "mlp.c_proj"};
constexpr Names kJoined = {"query_key_value", "dense_4h_to_h"};
constexpr Names kBloom = {"query_key_value", "mlp.dense_4h_to_h"};
constexpr Names kBert = {"key", "value", "output.dense"};
constexpr Names kT5 = {"k", "v", "wo"};
constexpr Names kMt5 = {"k", "v", "wi_1"};

constexpr Ia3Modules kIa3[] = {
    {"bert", kBert, kDense},
    {"bloom", kBloom, kMlpDense4h},
    {"falcon", kJoined, kDense4h},
    {"gemma", kQueriesValuesDown, kDownProj},
    {"gemma2", kQueriesValuesDown, kDownProj},
    {"gemma3_text", kQueriesValuesDown, kDownProj},
    {"gpt2", kGpt2, kMlpProj},
    {"gpt_bigcode", kGpt2, kMlpProj},
    {"gpt_neo", kGptNeo, kCProj},
    {"gpt_neox", kJoined, kDense4h},
    {"gptj", kGptJ, kFcOut},
    {"llama", kKeysValuesDown, kDownProj},
    {"llama4", kQueriesValuesDown, kDownProj},
    {"mistral", kKeysValuesDown, kDownProj},
    {"mixtral", kMixtral, kW2},
    {"mt5", kMt5, {}},
    {"opt", kOpt, kFc2},
    {"phi", kPhi, kFc2},
    {"qwen2", kQueriesValuesDown, kDownProj},
    {"qwen3", kQueriesValuesDown, kDownProj},
    {"roberta", kBert, kDense},
    {"t5", kT5, kWo},
};

}  // namespace

const Ia3Modules* FindIa3Modules(std::string_view model_type) {
  const auto* const found = std::find_if(std::begin(kIa3), std::end(kIa3),
                                         [model_type](const Ia3Modules& row) { return row.model_type == model_type; });
  return found == std::end(kIa3) ? nullptr : found;
}

}  // namespace tunefit
