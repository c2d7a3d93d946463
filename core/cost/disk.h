#pragma once

#include <cstdint>

namespace tunefit {

/// What a run needs on disk. Bytes.
struct DiskUse {
  double checkpoints_bytes = 0;
  double dataset_bytes = 0;

  double total() const { return checkpoints_bytes + dataset_bytes; }
};

/// COST-50  checkpoints · bytes of one (MEM-114) + tokens · 4. Token ids are kept as int32; the texts that they were
/// made of, masks and labels beside them and the model's own files are left out. `dataset_tokens` are those of one
/// epoch.
DiskUse DiskOf(double checkpoint_bytes, std::int64_t checkpoints, double dataset_tokens);

}  // namespace tunefit
