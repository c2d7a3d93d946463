#include "core/codec/hf_vision.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace tunefit {
namespace {

constexpr VisionClass kClasses[] = {
    {"gemma3", "gemma3_text", TowerKind::kSiglip},
    {"mistral3", "mistral", TowerKind::kPixtral},
    {"llama4", "llama4_text", TowerKind::kLlama4, "language_model.model.layers.*"},
    {"qwen2_5_vl", "qwen2", TowerKind::kQwen25, "model.language_model.layers.*", true},
    {"qwen3_vl", "qwen3", TowerKind::kQwen3},
    {"qwen3_vl_moe", "qwen3_moe", TowerKind::kQwen3},
    {"qwen3_5", "qwen3_5_text", TowerKind::kQwen3},
    {"qwen3_5_moe", "qwen3_5_moe_text", TowerKind::kQwen3},
    {"mllama", "llama", TowerKind::kMllama},
    {"gemma3n", "gemma3n_text", TowerKind::kGemma3n},
};

}  // namespace

const VisionClass* FindVisionClass(std::string_view model_type) {
  if (model_type == "ministral3") model_type = "mistral3";  // what Ministral 3's own files call the whole
  const auto* found = std::find_if(std::begin(kClasses), std::end(kClasses),
                                   [=](const VisionClass& rules) { return rules.model_type == model_type; });
  return found == std::end(kClasses) ? nullptr : found;
}

const Family* TextFamilyOf(const VisionClass& rules, const ObjectReader& text) {
  // Mistral 3's class holds whatever language model its config names; the others hold one.
  const bool any = rules.tower == TowerKind::kPixtral;
  const Family* named = any ? FindFamily(text.Text("model_type").value_or("")) : nullptr;
  const bool decodes = named != nullptr && named->encoder == EncoderKind::kNone;
  return decodes ? named : FindFamily(rules.text_type);
}

std::string VisionClasses() {
  std::string names;
  for (const VisionClass& rules : kClasses) names += (names.empty() ? "" : ", ") + std::string(rules.model_type);
  return names;
}

}  // namespace tunefit
