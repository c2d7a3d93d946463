#pragma once

#include "core/model/hardware.h"
#include "core/time/efficiencies.h"

namespace tunefit::test {

/// 1e12 flops and 1e9 bytes a second.
Gpu RoundCard();

/// All shares whole, nothing between steps, nothing launched, nothing hidden.
Efficiencies Ideal();

}  // namespace tunefit::test
