// validate [--check] [--rows N] [--dump] [--report FILE]
// Compares the estimate with PyTorch's own bookkeeping (rows/oracle.jsonl), with published runs (rows/measured.jsonl)
// and with user reports: errors by phase, method, statistic and source, the worst rows, and every promise as a line of
// a table. With --check it fails where an error is beyond thresholds.json; with --report it writes the accuracy report
// that the page shows; with --dump it only prints what fit_overheads.py fits on, a JSON row a line.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/validation/bars.h"
#include "tests/validation/dump.h"
#include "tests/validation/findings.h"
#include "tests/validation/fit_time.h"
#include "tests/validation/report.h"
#include "tests/validation/thresholds.h"
#include "tests/validation/time_bars.h"

namespace tunefit::validation {
namespace {

struct Options {
  bool check = false;
  bool dump = false;
  bool fit_time = false;
  std::size_t worst_rows = 25;
  std::string report;
};

Options ReadOptions(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--check") == 0) options.check = true;
    if (std::strcmp(arguments[i], "--dump") == 0) options.dump = true;
    if (std::strcmp(arguments[i], "--fit-time") == 0) options.fit_time = true;
    if (i + 1 == count) break;
    if (std::strcmp(arguments[i], "--rows") == 0) options.worst_rows = std::strtoul(arguments[++i], nullptr, 10);
    if (std::strcmp(arguments[i], "--report") == 0) options.report = arguments[++i];
  }
  return options;
}

void Print(const char* title, const Summaries& summaries) {
  std::printf("%s\n", title);
  for (const auto& [name, summary] : summaries) {
    std::printf("  %-52s %4d rows  bias %10s  median %9s  p90 %9s  p95 %9s  worst %10s", name.c_str(), summary.rows,
                Percent(summary.bias).c_str(), Percent(summary.median).c_str(), Percent(summary.p90).c_str(),
                Percent(summary.p95).c_str(), Percent(summary.worst).c_str());
    if (summary.half_width > 0) {
      std::printf("  inside %9s  half-width %9s", Percent(summary.inside).c_str(), Percent(summary.half_width).c_str());
    }
    std::printf("\n");
  }
}

void PrintRefusals(const char* of, const std::vector<Row>& rows) {
  std::map<std::string, int> refusals;
  for (const Row& row : rows) {
    if (!row.modelled()) ++refusals[row.not_modelled];
  }
  for (const auto& [refusal, count] : refusals) {
    std::printf("  %s, not modelled: %4d rows, %s\n", of, count, refusal.c_str());
  }
}

struct Worst {
  double error;
  std::string text;
};

void PrintWorst(std::vector<Worst> worst, std::size_t count) {
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Worst& a, const Worst& b) { return std::abs(a.error) > std::abs(b.error); });
  if (worst.size() > count) worst.resize(count);
  for (const Worst& row : worst) std::printf("    %10s  %s\n", Percent(row.error).c_str(), row.text.c_str());
}

void PrintWorstPhases(const std::vector<Row>& rows, std::size_t count) {
  std::vector<Worst> worst;
  for (const Row& row : rows) {
    if (!row.modelled()) continue;
    for (const auto& [name, bytes] : row.phases) {
      if (name != "peak_step") worst.push_back({PhaseOf(row.estimate.phases, name) / bytes - 1, row.id + " " + name});
    }
  }
  PrintWorst(std::move(worst), count);
}

void PrintWorstRuns(const std::vector<Row>& rows, std::size_t count) {
  std::vector<Worst> worst;
  for (const Row& row : rows) {
    Range range;
    if (EntersStatistics(row) && RangeOf(row, range)) {
      worst.push_back({range.expected / row.measured_bytes - 1, row.id + " " + row.statistic});
    }
  }
  PrintWorst(std::move(worst), count);
}

void PrintMeasured(const AllRows& rows, const Findings& findings, std::size_t worst_rows) {
  std::printf("\nPublished runs, quality A and B: %d of %d modelled\n", findings.measured_modelled,
              findings.measured_counted);
  PrintRefusals("measured", rows.measured);
  for (const auto& [dimension, summaries] : findings.measured) Print(("  by " + dimension).c_str(), summaries);
  PrintWorstRuns(rows.measured, worst_rows);
  std::printf("\nUser reports: %zu with a request, %zu that state too little for one\n", rows.reports.size(),
              rows.unmapped.size());
  PrintRefusals("user reports", rows.reports);
  Print("  by statistic", findings.reports);
}

void Print(const Verdicts& verdicts) {
  for (const std::string& id : verdicts.refused) std::printf("    refused, but it ran: %s\n", id.c_str());
  for (const std::string& id : verdicts.passed) std::printf("    passed, but it ran out of memory: %s\n", id.c_str());
  std::printf("  ran: %d, refused %d, tight %d\n  out of memory: %d, passed %d, tight %d\n", verdicts.ran,
              verdicts.ran_refused, verdicts.ran_tight, verdicts.failed, verdicts.failed_passed, verdicts.failed_tight);
}

void Print(const std::vector<Bar>& bars) {
  std::printf("\nPromises\n");
  int met = 0;
  for (const Bar& bar : bars) {
    met += bar.met() ? 1 : 0;
    std::printf("  %-36s %10s  %s %10s   %s\n", bar.id.c_str(), Percent(bar.value).c_str(),
                bar.at_least ? "at least" : "at most ", Percent(bar.limit).c_str(), bar.met() ? "met" : "NOT MET");
  }
  std::printf("  %d of %zu met\n", met, bars.size());
}

int Main(int count, char** arguments) {
  const Options options = ReadOptions(count, arguments);
  Issues issues;
  const Catalog catalog = ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues);
  for (const Issue& issue : issues) std::printf("catalog: %s %s\n", issue.field.c_str(), issue.message.c_str());
  if (HasError(issues)) return 1;

  const std::string folder = TUNEFIT_VALIDATION_DIR;
  const std::vector<std::string> timed = {folder + "/rows/measured.jsonl", folder + "/rows/throughput.jsonl"};
  if (options.fit_time) return FitTime(timed, catalog);
  if (options.dump) return Dump(folder + "/rows/measured.jsonl", catalog);
  AllRows rows;
  rows.oracle = ReadRows(folder + "/rows/oracle.jsonl", catalog, nullptr);
  rows.oracle_cuda = ReadRows(folder + "/rows/oracle_cuda.jsonl", catalog, nullptr);
  rows.measured = ReadRows(folder + "/rows/measured.jsonl", catalog, nullptr);
  rows.reports = ReadRows(folder + "/rows/user_reports.jsonl", catalog, &rows.unmapped);
  const Findings findings = FindOut(rows);
  std::vector<Bar> bars = CheckBars(rows, findings);
  TimeFindings time = FindOutTime(ReadTimedRows(timed, catalog), catalog.efficiencies);
  const std::vector<Bar> of_time = CheckTimeBars(time);
  bars.insert(bars.end(), of_time.begin(), of_time.end());

  std::printf("PyTorch's own bookkeeping: live bytes, %d of %zu rows modelled\n", findings.oracle_modelled,
              rows.oracle.size());
  PrintRefusals("oracle", rows.oracle);
  Print("  by phase", findings.oracle_phases);
  Print("  peak_step by method", findings.oracle_methods);
  PrintWorstPhases(rows.oracle, options.worst_rows);
  Print("Rows of it that were run again as CUDA and gradient accumulation have it (rows/README.md)",
        findings.cuda_phases);
  PrintMeasured(rows, findings, options.worst_rows);
  std::printf("\nKnown outcomes\n");
  Print(findings.verdicts);
  Print(bars);
  if (!options.report.empty()) {
    LeaveSourcesOut(time, catalog.efficiencies);
    std::ofstream(options.report) << WriteReport(rows, findings, time, bars, catalog.date);
  }
  const std::vector<std::string> failures = CheckThresholds(folder + "/thresholds.json", findings, bars);
  for (const std::string& failure : failures) std::printf("FAILED  %s\n", failure.c_str());
  if (failures.empty()) std::printf("All thresholds hold.\n");
  return options.check && !failures.empty() ? 1 : 0;
}

}  // namespace
}  // namespace tunefit::validation

int main(int count, char** arguments) { return tunefit::validation::Main(count, arguments); }
