#pragma once

#include <string>
#include <string_view>

namespace tunefit {

/// Reads the catalog text, once, before the other two. Returns `{"status", "issues"}`.
std::string Init(std::string_view catalog);

/// Request text to report text, as wasm/tunefit.d.ts describes them. Any text gives a report; nothing throws or aborts.
std::string Estimate(std::string_view request);

/// What a page needs to build its choices: version, catalog date, models, GPUs, stacks, limits.
std::string Describe();

}  // namespace tunefit
