#include "core/trace/zero3.h"

#include <cmath>

namespace tunefit {

double Zero3Units::ShardElements(const WeightShape& shape, double ranks) const {
  return std::ceil(shape.elements().coefficient / ranks);
}

void Zero3Units::Fetch(Unit& unit) {
  StorageId brought = BringFromHost(unit);
  AllocateWhole(unit);
  Release(brought);
}

void Zero3Units::BeforeForward(std::int32_t unit) {
  if (!all_gathered_) Fetch(At(unit));
}

/// What backward begins with is within max_reuse_distance and stays: the root's parameters and the last layer's. Where
/// no backward follows nothing is used again.
bool Zero3Units::StaysWhole(std::int32_t unit, bool with_gradients) const {
  return with_gradients && (unit == 0 || unit == Previous(0));
}

void Zero3Units::AfterForward(std::int32_t unit) {
  if (!all_gathered_ && !StaysWhole(unit, WithGradients())) FreeWhole(At(unit));
}

/// GatheredParameters over the whole model, without its hooks (ds3_gather_for_generation, which is on unless told
/// otherwise).
void Zero3Units::BeginGeneration() {
  all_gathered_ = true;
  GatherAll();
}

void Zero3Units::EndGeneration() {
  all_gathered_ = false;
  FreeAll();
}

void Zero3Units::BeforeBackward(std::int32_t unit) {
  Fetch(At(unit));
  const std::int32_t next = Previous(unit);
  if (next > 0 && At(next).in_backward) Fetch(At(next));
}

void Zero3Units::AfterBackward(std::int32_t unit) {
  At(unit).backward_done = true;
  DropGradients(At(unit));
  FreeWhole(At(unit));
}

void Zero3Units::EndBackward() {
  for (std::int32_t unit = units() - 1; unit >= 0; --unit) {
    FreeUnreached(At(unit));
    if (!At(unit).backward_done) AfterBackward(unit);
  }
}

}  // namespace tunefit
