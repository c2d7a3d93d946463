#include <array>

#include "core/cost/run_time.h"

namespace tunefit {

std::string_view CostNoteName(CostNote note) {
  static constexpr std::array<std::string_view, kCostNoteCount> kNames = {
      "without_vat",   "egress_left_out",   "host_not_included",   "processors_not_included", "several_machines",
      "gpus_idle",     "tokens_not_said",   "host_power_unknown",  "host_power_derived",      "idle_power_left_out",
      "always_in_use", "written_off_whole", "no_service_contract", "no_rent_to_compare"};
  return kNames[static_cast<std::size_t>(note)];
}

}  // namespace tunefit
