// validate [--check] [--rows N] [--dump]
// Compares the estimate with PyTorch's own bookkeeping (rows/oracle.jsonl) and with published runs
// (rows/measured.jsonl): errors by phase, method, statistic and source, and the worst rows. With --check it fails where
// an error is beyond thresholds.json; with --dump it only prints what fit_overheads.py fits on, a JSON row a line.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files.h"
#include "tests/validation/rows.h"
#include "tests/validation/statistics.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

/// The allocator fills what it finds: a run this close to its card says little about what it needed.
constexpr double kFullCard = 0.92;

class Report {
 public:
  explicit Report(Json thresholds) : thresholds_(std::move(thresholds)) {}

  /// One line of a group; remembers a failure where a threshold of that name is exceeded.
  void Line(const std::string& group, const std::string& name, const Errors& errors) {
    std::printf("  %-34s %4d rows   bias %10s   median %9s   p90 %9s   p95 %9s   worst %9s\n", name.c_str(),
                errors.count(), Percent(errors.Bias()).c_str(), Percent(errors.Absolute(0.5)).c_str(),
                Percent(errors.Absolute(0.9)).c_str(), Percent(errors.Absolute(0.95)).c_str(),
                Percent(errors.Absolute(1)).c_str());
    const Json limits = thresholds_.value(group, Json::object()).value(name, Json::object());
    for (const auto& [statistic, limit] : limits.items()) {
      const double share = statistic == "median" ? 0.5 : statistic == "p90" ? 0.9 : 0.95;
      Bound(group + " " + name + " " + statistic, errors.Absolute(share), limit.get<double>());
    }
  }

  void Bound(const std::string& what, double value, double limit) {
    if (value <= limit) return;
    failures_.push_back(what + ": " + Percent(value) + " is over " + Percent(limit));
  }

  void Require(bool holds, const std::string& what) {
    if (!holds) failures_.push_back(what);
  }

  double Threshold(const char* group, const char* name, double otherwise) const {
    return thresholds_.value(group, Json::object()).value(name, otherwise);
  }

  /// The number of failures, printed.
  int Finish() const {
    for (const std::string& failure : failures_) std::printf("FAILED  %s\n", failure.c_str());
    std::printf("%s\n", failures_.empty() ? "All thresholds hold." : "");
    return static_cast<int>(failures_.size());
  }

 private:
  Json thresholds_;
  std::vector<std::string> failures_;
};

void PrintRefusals(const std::vector<Row>& rows) {
  std::map<std::string, int> refusals;
  for (const Row& row : rows) {
    if (!row.modelled) ++refusals[row.refusal];
  }
  for (const auto& [refusal, count] : refusals) std::printf("  not modelled: %4d rows, %s\n", count, refusal.c_str());
}

struct Worst {
  double error;
  std::string text;
};

void PrintWorst(std::vector<Worst> worst, int count) {
  std::stable_sort(worst.begin(), worst.end(),
                   [](const Worst& a, const Worst& b) { return std::abs(a.error) > std::abs(b.error); });
  if (static_cast<int>(worst.size()) > count) worst.resize(static_cast<std::size_t>(count));
  for (const Worst& row : worst) std::printf("    %10s  %s\n", Percent(row.error).c_str(), row.text.c_str());
}

/// `group` names the thresholds.
void ValidateOracle(const std::vector<Row>& rows, const std::string& group, Report& report, int worst_count) {
  PrintRefusals(rows);
  std::map<std::string, Errors> phases;
  std::map<std::string, Errors> methods;
  std::vector<Worst> worst;
  int modelled = 0;
  for (const Row& row : rows) {
    if (!row.modelled) continue;
    ++modelled;
    report.Require(static_cast<double>(row.counted_parameters) == row.parameters, row.id + ": parameters differ");
    report.Require(static_cast<double>(row.estimate.parameters.trainable) == row.trainable_parameters,
                   row.id + ": trainable parameters differ");
    for (const auto& [name, bytes] : row.phases) {
      const double error = PhaseOf(row.estimate.phases, name) / bytes - 1;
      phases[name].Add(error);
      if (name == "peak_step") methods[row.method].Add(error);
      if (name != "peak_step") worst.push_back({error, row.id + " " + name});
    }
  }
  for (const auto& [name, errors] : phases) report.Line(group, name, errors);
  std::printf("  peak_step by method\n");
  for (const auto& [name, errors] : methods) report.Line(group + "_methods", name, errors);
  PrintWorst(std::move(worst), worst_count);
  report.Require(modelled >= report.Threshold("rows", group.c_str(), 0), group + ": fewer rows modelled than before");
}

/// Rows of one statistic against a range: errors, how many fall inside, and how wide the range is.
struct RangeGroup {
  Errors errors;
  Errors half_widths;
  int inside = 0;
};

void ValidateMeasured(const std::vector<Row>& rows, Report& report, int worst_count) {
  std::printf("\nPublished runs, quality A and B\n");
  PrintRefusals(rows);
  std::map<std::string, RangeGroup> statistics;
  std::map<std::string, Errors> sources;
  std::vector<Worst> worst;
  for (const Row& row : rows) {
    if (!row.modelled || row.measured_bytes <= 0 || row.out_of_memory || row.quality == "C") continue;
    RangeGroup& group = statistics[row.statistic];
    if (row.statistic == "between_steps") {
      const double error = row.estimate.phases.between_steps / row.measured_bytes - 1;
      group.errors.Add(error);
      worst.push_back({error, row.id});
      continue;
    }
    const Range* range = RangeOf(row);
    if (range == nullptr) continue;
    const bool full = row.usable_bytes > 0 && row.measured_bytes >= kFullCard * row.usable_bytes;
    if (full && row.statistic != "allocated") continue;
    const double error = range->expected / row.measured_bytes - 1;
    group.errors.Add(error);
    group.half_widths.Add((range->high - range->low) / 2 / range->expected);
    group.inside += range->low <= row.measured_bytes && row.measured_bytes <= range->high ? 1 : 0;
    sources[row.statistic + ", " + row.source.substr(0, 20)].Add(error);
    worst.push_back({error, row.id + " " + row.statistic});
  }
  for (const auto& [name, group] : statistics) {
    report.Line("measured", name, group.errors);
    if (group.half_widths.count() == 0) continue;
    const double inside = static_cast<double>(group.inside) / group.errors.count();
    std::printf("  %-34s inside the range %s, median half-width %s\n", "", Percent(inside).c_str(),
                Percent(group.half_widths.Absolute(0.5)).c_str());
  }
  std::printf("  by source\n");
  for (const auto& [name, errors] : sources) report.Line("measured_sources", name, errors);
  PrintWorst(std::move(worst), worst_count);
}

/// Runs whose outcome is known: they ran, or they ran out of memory. A verdict the other way is wrong.
void ValidateVerdicts(const std::vector<Row>& rows, Report& report) {
  int ran = 0, ran_refused = 0, ran_tight = 0;
  int failed = 0, failed_passed = 0, failed_tight = 0;
  for (const Row& row : rows) {
    if (!row.modelled || row.usable_bytes <= 0 || row.quality == "C") continue;
    const Verdict verdict = JudgeFit(row.estimate.device, row.usable_bytes);
    (row.out_of_memory ? failed : ran) += 1;
    if (verdict == Verdict::kTight) (row.out_of_memory ? failed_tight : ran_tight) += 1;
    if (verdict == Verdict::kDoesNotFit && !row.out_of_memory) {
      ++ran_refused;
      std::printf("    refused, but it ran: %s\n", row.id.c_str());
    }
    if (verdict == Verdict::kFits && row.out_of_memory) {
      ++failed_passed;
      std::printf("    passed, but it ran out of memory: %s\n", row.id.c_str());
    }
  }
  std::printf("\nKnown outcomes\n  ran: %d, refused %d, tight %d\n  out of memory: %d, passed %d, tight %d\n", ran,
              ran_refused, ran_tight, failed, failed_passed, failed_tight);
  const double most_wrong = report.Threshold("verdicts", "wrong", 1);
  report.Bound("verdicts refused", static_cast<double>(ran_refused) / std::max(1, ran), most_wrong);
  report.Bound("verdicts passed", static_cast<double>(failed_passed) / std::max(1, failed), most_wrong);
  report.Bound("verdicts tight", static_cast<double>(ran_tight + failed_tight) / std::max(1, ran + failed),
               report.Threshold("verdicts", "tight", 1));
}

/// Live bytes of every modelled run beside what was measured, for the fitting script.
void Dump(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    if (!row.modelled || row.measured_bytes <= 0 || row.out_of_memory || row.quality == "C") continue;
    const MemoryEstimate& estimate = row.estimate;
    const Json json = {{"id", row.id},
                       {"source", row.source},
                       {"statistic", row.statistic},
                       {"varied", row.varied},
                       {"measured_bytes", row.measured_bytes},
                       {"usable_bytes", row.usable_bytes},
                       {"between_steps_bytes", estimate.phases.between_steps},
                       {"peak_step_bytes", estimate.phases.peak_step},
                       {"loss_bytes", estimate.loss_bytes}};
    std::printf("%s\n", json.dump().c_str());
  }
}

int Main(int count, char** arguments) {
  bool check = false;
  bool dump = false;
  int worst_count = 25;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--check") == 0) check = true;
    if (std::strcmp(arguments[i], "--dump") == 0) dump = true;
    if (std::strcmp(arguments[i], "--rows") == 0 && i + 1 < count) worst_count = std::atoi(arguments[++i]);
  }
  Issues issues;
  const Catalog catalog = ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues);
  for (const Issue& issue : issues) std::printf("catalog: %s %s\n", issue.field.c_str(), issue.message.c_str());
  if (HasError(issues)) return 1;
  const std::string folder = TUNEFIT_VALIDATION_DIR;
  const std::vector<Row> measured = ReadRows(folder + "/rows/measured.jsonl", catalog);
  if (dump) {
    Dump(measured);
    return 0;
  }
  Report report(Json::parse(test::ReadFile(folder + "/thresholds.json"), nullptr, false));
  std::printf("PyTorch's own bookkeeping: live bytes\n");
  ValidateOracle(ReadRows(folder + "/rows/oracle.jsonl", catalog), "oracle", report, worst_count);
  std::printf("\nRows of it that were run again as CUDA and gradient accumulation have it (rows/README.md)\n");
  ValidateOracle(ReadRows(folder + "/rows/oracle_cuda.jsonl", catalog), "oracle_cuda", report, 5);
  ValidateMeasured(measured, report, worst_count);
  ValidateVerdicts(measured, report);
  const int failures = report.Finish();
  return check && failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tunefit::validation

int main(int count, char** arguments) { return tunefit::validation::Main(count, arguments); }
