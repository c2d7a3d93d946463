#include "core/cost/disk.h"

namespace tunefit {

DiskUse DiskOf(double checkpoint_bytes, std::int64_t checkpoints, double dataset_tokens) {
  constexpr double kTokenBytes = sizeof(std::int32_t);
  return {checkpoint_bytes * static_cast<double>(checkpoints), dataset_tokens * kTokenBytes};
}

}  // namespace tunefit
