#pragma once

#include <string>
#include <string_view>

// The whole surface of the library: text in, text out, as wasm/tunefit.d.ts describes it. Any text gets an answer that
// is valid JSON on one line; nothing throws, aborts or waits. Not to be called from two threads at once.

namespace tunefit {

/// Reads the bundled catalog (32 MB at most), once, before the other two. Returns `{"status", "issues"}`; after
/// `invalid` there is no catalog.
std::string Init(std::string_view catalog);

/// Request text (256 kB at most) to report text. Wrong input is a report with status `invalid` that names every fault
/// by its field; before Init the only issue is `not_initialised`.
std::string Estimate(std::string_view request);

/// What a page needs to build its choices: version, catalog date, models, GPUs, stacks, choices, limits, issue codes.
/// Before Init the lists of the catalog are empty.
std::string Describe();

}  // namespace tunefit
