#include "core/trace/vision.h"

namespace tunefit {
namespace {

constexpr Term kTerm = Term::kWeights;

void MakeBlocks(ModuleFactory& factory, const VisionTower& tower) {
  const Place place{tower.layers, false};
  factory.MakeNorm(tower.block.norm, "vision_tower.norm1", tower.hidden_size, place);
  ForEachMatrix(tower.block, [&](const LinearShape& matrix) { factory.MakeLinear(matrix, matrix.name, kTerm, place); });
  factory.MakeNorm(tower.block.norm, "vision_tower.norm2", tower.hidden_size, place);
}

void MakeEntry(ModuleFactory& factory, const VisionTower& tower) {
  if (tower.patches_are_linear) {
    factory.MakeLinear(tower.patches, tower.patches.name, kTerm, {});
  } else {
    factory.MakeParameterLinear(tower.patches, tower.patches.name, kTerm, {});
  }
  if (tower.position_rows > 0) factory.MakeTable(tower.position_rows, tower.hidden_size, "vision_positions", false);
  if (tower.class_token) factory.MakeVector("vision_class", "class_embedding", tower.hidden_size, kTerm, {});
  if (tower.norm_before) factory.MakeNorm(*tower.norm_before, "vision_norm_before", tower.hidden_size, {});
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
  tracer.idle = Idle::kApart;
  MakeBlocks(factory, tower);
  tracer.idle = ends;
  MakeExit(factory, tower);
  tracer.idle = Idle::kNot;
  factory.InTower(false);
}

}  // namespace tunefit
