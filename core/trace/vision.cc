#include "core/trace/vision.h"

#include <variant>

namespace tunefit {
namespace {

constexpr Term kTerm = Term::kWeights;

void MakeBlocks(ModuleFactory& factory, const Block& block, std::int64_t hidden_size, Place place) {
  factory.MakeNorm(block.norm, "vision_tower.norm1", hidden_size, place);
  ForEachMatrix(block, [&](const LinearShape& matrix) { factory.MakeLinear(matrix, matrix.name, kTerm, place); });
  const auto* attention = std::get_if<Attention>(&block.mixer);
  if (attention != nullptr && attention->qk_norm == QkNorm::kHead) {
    factory.MakeNorm(attention->qk_norm_kind, "vision_tower.q_norm", attention->head_dim, place);
    factory.MakeNorm(attention->qk_norm_kind, "vision_tower.k_norm", attention->head_dim, place);
  }
  factory.MakeNorm(block.norm, "vision_tower.norm2", hidden_size, place);
}

void MakeMoreLayers(ModuleFactory& factory, const VisionTower& tower) {
  for (const ImageLayers& layers : tower.more_layers) {
    const Place place{layers.count, false};
    factory.InTower(!layers.of_language);
    MakeBlocks(factory, layers.block, layers.hidden_size, place);
    for (std::int64_t i = 0; i < layers.gates; ++i) factory.MakeVector("vision_gate", "gate", 1, kTerm, place);
  }
  factory.InTower(true);
}

void MakeEntry(ModuleFactory& factory, const VisionTower& tower) {
  if (tower.layers == 0) return;  // a tower of parts
  if (tower.patches_are_linear) {
    factory.MakeLinear(tower.patches, tower.patches.name, kTerm, {});
  } else {
    factory.MakeParameterLinear(tower.patches, tower.patches.name, kTerm, {});
  }
  if (tower.position_rows > 0) factory.MakeTable(tower.position_rows, tower.hidden_size, "vision_positions", false);
  for (const TowerTable& table : tower.tables) {
    factory.MakeTable(table.rows, table.states * tower.hidden_size, "vision_tiles", false);
  }
  for (std::int64_t i = 0; i < tower.gates; ++i) factory.MakeVector("vision_gate", "gate", 1, kTerm, {});
  if (tower.class_token) factory.MakeVector("vision_class", "class_embedding", tower.hidden_size, kTerm, {});
  if (tower.norm_before) factory.MakeNorm(*tower.norm_before, "vision_norm_before", tower.hidden_size, {});
}

/// What is no block: towers of which a library for sharding wraps no layer.
void MakeParts(ModuleFactory& factory, const VisionTower& tower) {
  for (const TowerPart& part : tower.parts) {
    const Place place{part.count, false};
    for (const LinearShape& matrix : part.matrices) factory.MakeLinear(matrix, matrix.name, kTerm, place);
    if (part.others > 0) factory.MakeParameterLinear({"others", 1, part.others}, "tower_others", kTerm, place);
  }
}

void MakeExit(ModuleFactory& factory, const VisionTower& tower) {
  if (tower.norm_after) factory.MakeNorm(*tower.norm_after, "vision_norm_after", tower.hidden_size, {});
  for (const VisionProjector& projector : tower.projectors) {
    const Place place{projector.count, false};
    if (projector.norm) factory.MakeNorm(*projector.norm, "vision_projector.norm", projector.norm_width, place);
    for (const LinearShape& matrix : projector.matrices) {
      if (projector.is_module) {
        factory.MakeLinear(matrix, matrix.name, kTerm, place);
      } else {
        factory.MakeParameterLinear(matrix, matrix.name, kTerm, place);
      }
    }
  }
}

}  // namespace

void MakeVisionTower(Tracer& tracer, ModuleFactory& factory, const Workload& workload) {
  const VisionTower& tower = *workload.architecture.vision;
  // FSDP gathers with the root what no wrapped layer owns, DeepSpeed's stage 3 only what a module is about to read.
  const Strategy strategy = workload.parallel.strategy;
  const bool in_root = strategy == Strategy::kFsdp || strategy == Strategy::kFsdp2;
  const Idle ends = in_root ? Idle::kInRoot : Idle::kApart;
  factory.InTower(true);
  tracer.idle = ends;
  MakeEntry(factory, tower);
  MakeParts(factory, tower);
  tracer.idle = Idle::kApart;
  if (tower.layers > 0) MakeBlocks(factory, tower.block, tower.hidden_size, {tower.layers, false});
  MakeMoreLayers(factory, tower);
  tracer.idle = ends;
  MakeExit(factory, tower);
  tracer.idle = Idle::kNot;
  factory.InTower(false);
}

}  // namespace tunefit
