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

/// What backward begins with is within max_reuse_distance and stays: the root's parameters and the last layer's.
void Zero3Units::AfterForward(std::int32_t unit) {
  if (unit != 0 && unit != Previous(0)) FreeWhole(At(unit));
}

void Zero3Units::BeforeBackward(std::int32_t unit) {
  Fetch(At(unit));
  const std::int32_t next = Previous(unit);
  if (next > 0) Fetch(At(next));
}

void Zero3Units::AfterBackward(std::int32_t unit) {
  At(unit).backward_done = true;
  DropGradients(At(unit));
  FreeWhole(At(unit));
}

void Zero3Units::EndBackward() {
  for (std::int32_t unit = units() - 1; unit >= 0; --unit) {
    if (!At(unit).backward_done) AfterBackward(unit);
  }
}

}  // namespace tunefit
