#pragma once

#include <string>
#include <vector>

#include "tests/validation/bars.h"
#include "tests/validation/findings.h"

namespace tunefit::validation {

/// What has been reached must hold: a sentence for every figure beyond thresholds.json, none where all are within.
/// The file's limits only ever tighten. `live`, `live_as_on_gpu`: by phase; `measured`: by kind of run, so that a
/// newly modelled stack or sharding does not loosen what another reached; `open_bars`: ids of promises that are not
/// kept yet: all others must be.
std::vector<std::string> CheckThresholds(const std::string& path, const Findings& findings,
                                         const std::vector<Bar>& bars);

}  // namespace tunefit::validation
