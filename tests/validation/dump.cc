#include "tests/validation/dump.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/validation/rows.h"

namespace tunefit::validation {

int Dump(const std::string& path, const Catalog& catalog) {
  for (const Row& row : ReadRows(path, catalog, nullptr)) {
    if (!row.modelled() || row.measured_bytes <= 0 || row.outcome != Outcome::kMeasured || !row.counts()) continue;
    const MemoryEstimate& estimate = row.estimate;
    const nlohmann::json json = {{"id", row.id},
                                 {"source", row.source.key},
                                 {"statistic", row.statistic},
                                 {"stack", row.stack},
                                 {"strategy", row.strategy},
                                 {"gpus", row.gpus},
                                 {"method", row.method},
                                 {"measured_bytes", row.measured_bytes},
                                 {"unit_certain", row.unit_certain},
                                 {"usable_bytes", row.usable_bytes},
                                 {"architecture", row.gpu_architecture},
                                 {"workspace_bytes", row.workspace_bytes},
                                 {"simulated_reserved", estimate.simulated_reserved},
                                 {"static_bytes", estimate.phases.static_bytes},
                                 {"between_steps_bytes", estimate.phases.between_steps},
                                 {"peak_step_bytes", estimate.phases.peak_step},
                                 {"loss_bytes", estimate.loss_bytes}};
    std::printf("%s\n", json.dump().c_str());
  }
  return 0;
}

}  // namespace tunefit::validation
