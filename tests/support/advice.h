#pragma once

#include <nlohmann/json.hpp>

namespace tunefit::test {

/// Expects of every entry of a report's advice that the patched request gives exactly the figures that it states, that
/// it is worth telling, and that those after which the run fits stand first. `request` is what the report answers. Both
/// parts of the catalog have been read.
void ExpectAdviceHolds(const nlohmann::json& request, const nlohmann::json& report);

/// Whether settings make the run fit on its card, by the advice.
bool SettingsMakeItFit(const nlohmann::json& report);

/// Whether the report has the note that none do.
bool SaysThatNoneDo(const nlohmann::json& report);

}  // namespace tunefit::test
