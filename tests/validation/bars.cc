#include "tests/validation/bars.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tunefit::validation {
namespace {

/// Where each source counts once, figures may be this much worse.
constexpr double kBySource = 1.5;

struct Promise {
  const char* statistic;
  double median, p90;
  double half_width;  ///< 0 where the statistic has no range
};

// Live bytes are exact but for rounding; what the allocator, libraries and the driver add is fitted.
constexpr Promise kMeasured[] = {
    {"between_steps", 0.01, 0.04, 0}, {"allocated", 0.03, 0.10, 0.10}, {"reserved", 0.08, 0.20, 0.15},
    {"device", 0.08, 0.20, 0.15},     {"unstated", 0.08, 0.20, 0.15},
};
constexpr double kInside = 0.9;
constexpr double kOracleMedian = 0.002, kOracleP95 = 0.01, kOracleWorst = 0.05;
constexpr double kWrongVerdicts = 0.02, kTightVerdicts = 0.25;

double Share(int part, std::size_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double WorstPhase(const Row& row) {
  double worst = 0;
  for (const auto& [name, bytes] : row.phases) {
    worst = std::max(worst, std::abs(PhaseOf(row.estimate.phases, name) / bytes - 1));
  }
  return worst;
}

/// Of the rows as a GPU has them: where a row was run again, that run.
double WorstPhase(const AllRows& rows) {
  std::set<std::string> again;
  double worst = 0;
  for (const Row& row : rows.oracle_cuda) {
    again.insert(row.id);
    if (row.modelled()) worst = std::max(worst, WorstPhase(row));
  }
  for (const Row& row : rows.oracle) {
    if (row.modelled() && again.count(row.id) == 0) worst = std::max(worst, WorstPhase(row));
  }
  return worst;
}

void OfOracle(const AllRows& rows, const Findings& findings, std::vector<Bar>& bars) {
  bars.push_back({"oracle modelled", Share(findings.oracle_modelled, rows.oracle.size()), 1, true});
  const int wrong = static_cast<int>(findings.wrong_counts.size());
  bars.push_back({"oracle counts wrong", Share(wrong, rows.oracle.size()), 0});
  for (const auto& [phase, summary] : findings.oracle_phases) {
    bars.push_back({"oracle " + phase + " median", summary.median, kOracleMedian});
    bars.push_back({"oracle " + phase + " p95", summary.p95, kOracleP95});
  }
  bars.push_back({"oracle worst row", WorstPhase(rows), kOracleWorst});
}

void OfStatistic(const Promise& promise, const Summary& summary, std::vector<Bar>& bars) {
  const std::string name = promise.statistic;
  bars.push_back({name + " median", summary.median, promise.median});
  bars.push_back({name + " p90", summary.p90, promise.p90});
  bars.push_back({name + " median by source", summary.median_by_source, promise.median * kBySource});
  bars.push_back({name + " p90 by source", summary.p90_by_source, promise.p90 * kBySource});
  if (promise.half_width == 0) return;
  bars.push_back({name + " inside", summary.inside, kInside, true});
  bars.push_back({name + " half-width", summary.half_width, promise.half_width});
  bars.push_back({name + " inside by source", summary.inside_by_source, 1 - (1 - kInside) * kBySource, true});
  bars.push_back({name + " half-width by source", summary.half_width_by_source, promise.half_width * kBySource});
}

}  // namespace

std::vector<Bar> CheckBars(const AllRows& rows, const Findings& findings) {
  std::vector<Bar> bars;
  OfOracle(rows, findings, bars);
  const auto counted = static_cast<std::size_t>(findings.measured_counted);
  bars.push_back({"measured modelled", Share(findings.measured_modelled, counted), 1, true});
  const Summaries none;
  const auto found = findings.measured.find("statistic");
  const Summaries& statistics = found != findings.measured.end() ? found->second : none;
  for (const Promise& promise : kMeasured) {
    const auto summary = statistics.find(promise.statistic);
    if (summary != statistics.end()) OfStatistic(promise, summary->second, bars);
  }
  bars.push_back({"verdicts refused that ran", findings.verdicts.wrong_refused(), kWrongVerdicts});
  bars.push_back({"verdicts passed that failed", findings.verdicts.wrong_passed(), kWrongVerdicts});
  bars.push_back({"verdicts tight", findings.verdicts.tight(), kTightVerdicts});
  return bars;
}

}  // namespace tunefit::validation
