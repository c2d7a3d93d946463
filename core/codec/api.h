#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The whole surface of the library: text in, text out, as wasm/tunefit.d.ts describes it. Any text gets an answer that
// is valid JSON on one line; nothing throws, aborts or waits. Not to be called from two threads at once.

namespace tunefit {

/// Reads the first part of the bundled catalog (32 MB at most), once, before the others. Returns `{"status",
/// "issues"}`; after `invalid` there is no catalog. A market that was read before is dropped: it belongs to its first
/// part.
std::string Init(std::string_view catalog);

/// Reads the second part (32 MB at most): servers, prices, the vendor. Answers as Init does; after `invalid` there is
/// no market, and before Init the only issue is `not_initialised`. Only a request that names a server needs it.
std::string InitMarket(std::string_view market);

/// Request text (256 kB at most) to report text. Wrong input is a report with status `invalid` that names every fault
/// by its field; before Init the only issue is `not_initialised`.
std::string Estimate(std::string_view request);

/// Starts to look for what to buy, rent or change: a request (256 kB at most) whose open fields are chosen, with its
/// wishes under `plan`. Returns `{"status", "issues", "id"}`; `not_initialised` before InitMarket. The last
/// `kMostPlans` that were started can be gone on with.
std::string PlanStart(std::string_view request);
inline constexpr std::int64_t kMostPlans = 4;

/// Goes on with a plan for so many milliseconds by the caller's clock, at least one piece of work. Returns `{"status",
/// "done", "seen", "computed", "best", "issues", "assumptions"}`; `unknown_plan` where there is none of that id. A plan
/// that is done is forgotten.
std::string PlanStep(std::int64_t id, double budget_ms, double (*now_ms)());

/// What a page needs to build its choices: version, catalog date, models, GPUs, stacks, servers, choices, limits, issue
/// codes. Before Init the lists of the catalog are empty, before InitMarket the servers.
std::string Describe();

}  // namespace tunefit
