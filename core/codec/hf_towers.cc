// Towers for images as transformers' modeling files have them: modeling_siglip.py and modeling_gemma3.py,
// modeling_pixtral.py and modeling_mistral3.py, modeling_llama4.py, modeling_qwen2_5_vl.py, modeling_qwen3_vl.py;
// Llama 3.2 Vision's is in hf_mllama.cc, Gemma 3n's in hf_gemma3n.cc.
#include <string>
#include <variant>

#include "core/codec/hf_tower_parts.h"
#include "core/codec/hf_vision.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// Qwen3VLVisionConfig: deepstack_visual_indexes = [8, 16, 24].
constexpr std::int64_t kDeepstackLayers = 3;

/// SiglipVisionModel without its pooling head, and Gemma3MultiModalProjector.
VisionTower ReadSiglip(const HfReading& vision, std::int64_t text_hidden) {
  static constexpr BlockRules kRules = {
      .names = {"vision_tower.layers.*.self_attn.q_proj", "vision_tower.layers.*.self_attn.k_proj",
                "vision_tower.layers.*.self_attn.v_proj", "vision_tower.layers.*.self_attn.out_proj", "",
                "vision_tower.layers.*.mlp.fc1", "vision_tower.layers.*.mlp.fc2"}};
  VisionTower tower = ReadTowerBlocks(vision, "num_hidden_layers", "num_attention_heads", kRules);
  const std::int64_t side = NeedOfTower(vision, "patch_size", kPatchLimit);
  tower.patches = ReadPatches(vision, tower, side, 1);
  tower.patches.bias = true;
  tower.position_rows = ReadPatchCount(vision, side);
  tower.norm_after = NormKind::kLayerNorm;
  if (vision.config.Flag("vision_use_head").value_or(true)) {  // SiglipVisionTransformer
    vision.config.Fault("not_modelled", "vision_use_head", "must be false, as a pooling head is not modelled yet",
                        {{"value", "true"}});
  }
  tower.projectors = {
      {.norm = NormKind::kRmsNormUnitGain,
       .norm_width = tower.hidden_size,
       .matrices = {{"multi_modal_projector.mm_input_projection_weight", tower.hidden_size, text_hidden}},
       .is_module = false}};
  return tower;
}

/// PixtralVisionModel, Mistral3PatchMerger and Mistral3MultiModalProjector.
VisionTower ReadPixtral(const HfReading& vision, const ObjectReader& whole, std::int64_t text_hidden) {
  static constexpr BlockRules kRules = {
      .names = {"vision_tower.layers.*.attention.q_proj", "vision_tower.layers.*.attention.k_proj",
                "vision_tower.layers.*.attention.v_proj", "vision_tower.layers.*.attention.o_proj",
                "vision_tower.layers.*.feed_forward.gate_proj", "vision_tower.layers.*.feed_forward.up_proj",
                "vision_tower.layers.*.feed_forward.down_proj"},
      .norm = NormKind::kRmsNorm,
      .rotary = Rotary::kHalves,
      .attention_bias = false,
      .mlp_bias = false,
      .activation = Activation::kSilu};
  VisionTower tower = ReadTowerBlocks(vision, "num_hidden_layers", "num_attention_heads", kRules);
  tower.patches = ReadPatches(vision, tower, NeedOfTower(vision, "patch_size", kPatchLimit), 1);
  tower.norm_before = NormKind::kRmsNorm;
  const std::int64_t hidden = tower.hidden_size;
  whole.Require("spatial_merge_size");
  const std::int64_t merge = whole.Count("spatial_merge_size", 1, kFewLimit).value_or(0);
  const bool bias = whole.Flag("multimodal_projector_bias").value_or(false);
  tower.projectors = {
      {.norm = NormKind::kRmsNorm,
       .norm_width = hidden,
       .matrices = {{"multi_modal_projector.patch_merger.merging_layer", merge * merge * hidden, hidden},
                    {"multi_modal_projector.linear_1", hidden, text_hidden, bias},
                    {"multi_modal_projector.linear_2", text_hidden, text_hidden, bias}}}};
  return tower;
}

/// Llama4VisionModel, its adapter after the pixel shuffle, and Llama4MultiModalProjector.
VisionTower ReadLlama4(const HfReading& vision, std::int64_t text_hidden) {
  static constexpr BlockRules kRules = {
      .names = {"vision_model.layers.*.self_attn.q_proj", "vision_model.layers.*.self_attn.k_proj",
                "vision_model.layers.*.self_attn.v_proj", "vision_model.layers.*.self_attn.o_proj", "",
                "vision_model.layers.*.mlp.fc1", "vision_model.layers.*.mlp.fc2"},
      .rotary = Rotary::kComplex};
  VisionTower tower = ReadTowerBlocks(vision, "num_hidden_layers", "num_attention_heads", kRules);
  const std::int64_t side = NeedOfTower(vision, "patch_size", kPatchLimit);
  tower.patches = ReadPatches(vision, tower, side, 1);
  tower.patches.name = "vision_model.patch_embedding.linear";
  tower.patches_are_linear = true;
  tower.class_token = true;
  tower.position_rows = ReadPatchCount(vision, side) + 1;  // the class token has one, too
  tower.norm_before = NormKind::kLayerNorm;
  tower.norm_after = NormKind::kLayerNorm;
  const std::int64_t shuffled = std::get<Mlp>(tower.block.feed_forward).width();
  const std::int64_t input = NeedOfTower(vision, "projector_input_dim");
  const std::int64_t output = NeedOfTower(vision, "projector_output_dim");
  const std::int64_t seen = NeedOfTower(vision, "vision_output_dim");
  tower.projectors = {{.norm = {},
                       .matrices = {{"vision_model.vision_adapter.mlp.fc1", shuffled, input},
                                    {"vision_model.vision_adapter.mlp.fc2", output, output},
                                    {"multi_modal_projector.linear_1", seen, text_hidden}}}};
  return tower;
}

/// Two matrices with gelu between over patches that are merged to one; the norm works before or after the merge.
VisionProjector MakeQwenMerger(NormKind norm, std::int64_t norm_width, std::int64_t merged, std::int64_t out,
                               const char* first, const char* second) {
  return {
      .norm = norm, .norm_width = norm_width, .matrices = {{first, merged, merged, true}, {second, merged, out, true}}};
}

std::int64_t ReadMerged(const HfReading& vision, const VisionTower& tower) {
  const std::int64_t merge = NeedOfTower(vision, "spatial_merge_size", kFewLimit);
  return merge * merge * tower.hidden_size;
}

/// A convolution over space and time.
LinearShape ReadFilmPatches(const HfReading& vision, const VisionTower& tower) {
  const std::int64_t side = NeedOfTower(vision, "patch_size", kPatchLimit);
  return ReadPatches(vision, tower, side, NeedOfTower(vision, "temporal_patch_size", kFewLimit));
}

/// Qwen2_5_VisionTransformerPretrainedModel.
VisionTower ReadQwen25(const HfReading& vision) {
  static constexpr BlockRules kRules = {
      .names = {"visual.blocks.*.attn.qkv", "", "", "visual.blocks.*.attn.proj", "visual.blocks.*.mlp.gate_proj",
                "visual.blocks.*.mlp.up_proj", "visual.blocks.*.mlp.down_proj"},
      .norm = NormKind::kRmsNorm,
      .rotary = Rotary::kHalves,
      .activation = Activation::kSilu};
  VisionTower tower = ReadTowerBlocks(vision, "depth", "num_heads", kRules);
  tower.patches = ReadFilmPatches(vision, tower);
  tower.projectors = {MakeQwenMerger(NormKind::kRmsNorm, tower.hidden_size, ReadMerged(vision, tower),
                                     NeedOfTower(vision, "out_hidden_size"), "visual.merger.mlp.0",
                                     "visual.merger.mlp.2")};
  return tower;
}

/// Layers of Qwen3-VL's tower whose states are added to the language model's first layers.
std::int64_t ReadDeepstack(const VisionClass& rules, HfReading& vision) {
  constexpr std::string_view kKey = "deepstack_visual_indexes";
  if (const JsonValue* list = vision.config.List(kKey)) return static_cast<std::int64_t>(list->items.size());
  const bool has_by_default = rules.text_type == "qwen3" || rules.text_type == "qwen3_moe";
  if (!has_by_default || vision.config.Find(kKey) != nullptr) return 0;
  vision.Assume(kKey, "8, 16, 24");
  return kDeepstackLayers;
}

/// Qwen3VLVisionModel and Qwen3_5VisionModel.
VisionTower ReadQwen3(const VisionClass& rules, HfReading& vision) {
  static constexpr BlockRules kRules = {.names = {"visual.blocks.*.attn.qkv", "", "", "visual.blocks.*.attn.proj", "",
                                                  "visual.blocks.*.mlp.linear_fc1", "visual.blocks.*.mlp.linear_fc2"},
                                        .rotary = Rotary::kHalves};
  VisionTower tower = ReadTowerBlocks(vision, "depth", "num_heads", kRules);
  tower.patches = ReadFilmPatches(vision, tower);
  tower.patches.bias = true;
  tower.position_rows = NeedOfTower(vision, "num_position_embeddings");
  const std::int64_t merged = ReadMerged(vision, tower);
  const std::int64_t out = NeedOfTower(vision, "out_hidden_size");
  tower.projectors = {MakeQwenMerger(NormKind::kLayerNorm, tower.hidden_size, merged, out, "visual.merger.linear_fc1",
                                     "visual.merger.linear_fc2")};
  const std::int64_t deepstack = ReadDeepstack(rules, vision);
  if (deepstack == 0) return tower;
  tower.projectors.push_back(MakeQwenMerger(NormKind::kLayerNorm, merged, merged, out,
                                            "visual.deepstack_merger_list.*.linear_fc1",
                                            "visual.deepstack_merger_list.*.linear_fc2"));
  tower.projectors.back().count = deepstack;
  return tower;
}

/// A tower that writes its states into the text's must be as wide.
void CheckOutput(const HfReading& vision, const VisionTower& tower, std::int64_t text_hidden) {
  const std::int64_t out = tower.projectors.back().matrices.back().out_features;
  if (out == text_hidden || out == 0 || text_hidden == 0) return;
  const std::string value = std::to_string(out);
  const std::string hidden = std::to_string(text_hidden);
  vision.config.Fault("out_of_range", "out_hidden_size",
                      Join({"must be the hidden size of the text, ", hidden, ", not ", value}),
                      {{"value", value}, {"low", hidden}, {"high", hidden}});
}

}  // namespace

VisionTower ReadVisionTower(const VisionClass& rules, const ObjectReader& whole, HfReading& vision,
                            std::int64_t text_hidden) {
  switch (rules.tower) {
    case TowerKind::kSiglip:
      return ReadSiglip(vision, text_hidden);
    case TowerKind::kPixtral:
      return ReadPixtral(vision, whole, text_hidden);
    case TowerKind::kLlama4:
      return ReadLlama4(vision, text_hidden);
    case TowerKind::kMllama:
      return ReadMllama(vision, text_hidden);
    case TowerKind::kGemma3n:
      return ReadGemma3n(vision, whole, text_hidden);
    case TowerKind::kQwen25:
    case TowerKind::kQwen3:
      break;
  }
  VisionTower tower = rules.tower == TowerKind::kQwen25 ? ReadQwen25(vision) : ReadQwen3(rules, vision);
  CheckOutput(vision, tower, text_hidden);
  return tower;
}

}  // namespace tunefit
