#pragma once

#include <vector>

#include "core/memory/estimate.h"
#include "core/memory/replay.h"
#include "core/trace/step.h"

namespace tunefit {

/// MEM-2  What is alive at the peak, storage by storage, equal ones together, under their terms: largest first. The
/// bytes sum exactly to the peak. `layer_path` names the layers ("model.layers.*").
std::vector<TermBytes> ListAliveAtPeak(const Step& step, const Axes& axes, Moment peak_moment, const PeakPoint& peak,
                                       const char* layer_path);

}  // namespace tunefit
