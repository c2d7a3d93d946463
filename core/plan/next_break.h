#pragma once

#include <cstdint>

#include "core/memory/estimate.h"
#include "core/model/workload.h"

namespace tunefit {

/// What breaks a run that fits: the first doubling after which what is alive alone is over the card. 0 where that is
/// beyond what is computed, or the model was made for.
struct NextBreak {
  std::int64_t sequence_length = 0;
  std::int64_t per_device = 0;
};

/// `bounds` is what a request may ask for at most.
NextBreak NextBreakOf(const Workload& workload, const Gpu& gpu, const Overheads& overheads, const SearchBounds& bounds);

}  // namespace tunefit
