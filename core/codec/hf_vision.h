#pragma once

#include <optional>
#include <string_view>

#include "core/codec/hf_reading.h"
#include "core/model/architecture.h"
#include "core/model/vision.h"

namespace tunefit {

/// The towers of transformers' classes for text and images.
enum class TowerKind : std::uint8_t {
  kSiglip,   ///< Gemma 3
  kPixtral,  ///< Mistral Small 3.1, Ministral 3
  kLlama4,
  kQwen25,
  kQwen3,   ///< Qwen3-VL, Qwen3.5
  kMllama,  ///< Llama 3.2 Vision
  kGemma3n,
};

/// A class that holds a language model, described by `text_config`, and a tower, by `vision_config`.
struct VisionClass {
  std::string_view model_type;
  std::string_view text_type;  ///< its language model, where `text_config` has no model_type that is known
  TowerKind tower;
  const char* layer_path = "model.language_model.layers.*";
  bool flat_text = false;  ///< configs before transformers 4.52 have the text's keys beside `vision_config`
};

/// The class of that model_type; null where it is none of text and images.
const VisionClass* FindVisionClass(std::string_view model_type);

/// The row of families that reads the text part: by the name that `text_config` gives itself, else the class's.
const Family* TextFamilyOf(const VisionClass& rules, const ObjectReader& text);

/// "gemma3, mistral3, ..." for messages.
std::string VisionClasses();

/// The tower that `vision_config` describes, with its projectors to states as wide as the text's. Keys of `whole` that
/// belong to the projector are read there.
VisionTower ReadVisionTower(const VisionClass& rules, const ObjectReader& whole, HfReading& vision,
                            std::int64_t text_hidden);

/// MllamaVisionModel and its projector.
VisionTower ReadMllama(const HfReading& vision, std::int64_t text_hidden);

/// Gemma 3n's towers for images and for sound, of which `audio_config` of the whole describes the second.
VisionTower ReadGemma3n(const HfReading& vision, const ObjectReader& whole, std::int64_t text_hidden);

/// Takes the layers that attend to images out of the language model's and puts them beside its tower; `text` is its
/// config.
void MoveCrossLayers(HfReading& text, Architecture& model);

}  // namespace tunefit
