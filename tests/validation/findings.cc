#include "tests/validation/findings.h"

#include <algorithm>
#include <utility>

namespace tunefit::validation {
namespace {

using Samples = std::map<std::string, std::vector<Sample>>;

Summaries SummarizeEach(const Samples& samples) {
  Summaries summaries;
  for (const auto& [name, group] : samples) summaries[name] = Summarize(group);
  return summaries;
}

const char* SizeOf(const Row& row) {
  const auto billions = static_cast<double>(row.counted_parameters) / 1e9;
  if (billions < 1) return "under 1B";
  if (billions < 4) return "1B to 4B";
  if (billions < 10) return "4B to 10B";
  return billions < 40 ? "10B to 40B" : "40B and more";
}

Sample PhaseSample(const Row& row, const std::string& phase, double measured) {
  Sample sample;
  sample.error = PhaseOf(row.estimate.phases, phase) / measured - 1;
  sample.inside = true;
  sample.source = row.source.key;
  return sample;
}

/// Phases of every modelled row; the number of modelled rows.
int ComparePhases(const std::vector<Row>& rows, Samples& phases, Samples* methods) {
  int modelled = 0;
  for (const Row& row : rows) {
    if (!row.modelled()) continue;
    ++modelled;
    for (const auto& [name, bytes] : row.phases) {
      phases[name].push_back(PhaseSample(row, name, bytes));
      if (methods != nullptr && name == "peak_step") (*methods)[row.method].push_back(PhaseSample(row, name, bytes));
    }
  }
  return modelled;
}

void CheckCounts(const std::vector<Row>& rows, std::vector<std::string>& wrong) {
  for (const Row& row : rows) {
    if (!row.modelled() || row.parameters == 0) continue;
    const bool same = static_cast<double>(row.counted_parameters) == row.parameters &&
                      static_cast<double>(row.estimate.parameters.trainable) == row.trainable_parameters;
    if (!same) wrong.push_back(row.id);
  }
}

void CompareMeasured(const std::vector<Row>& rows, std::map<std::string, Samples>& dimensions) {
  for (const Row& row : rows) {
    Range range;
    if (!EntersStatistics(row) || !RangeOf(row, range)) continue;
    const Sample sample = Compare(row, range);
    const std::string quantization = row.quantized ? ", " + row.method : "";
    dimensions["statistic"][row.statistic].push_back(sample);
    dimensions["method"][row.statistic + ", " + row.method].push_back(sample);
    dimensions["stack"][row.statistic + ", " + row.stack].push_back(sample);
    dimensions["sharding"][row.statistic + ", " + row.strategy].push_back(sample);
    dimensions["size"][row.statistic + ", " + SizeOf(row)].push_back(sample);
    dimensions["source"][row.statistic + ", " + row.source.key].push_back(sample);
    dimensions["kind"][row.statistic + ", " + row.stack + ", " + row.strategy + quantization].push_back(sample);
  }
}

void Judge(const std::vector<Row>& rows, Verdicts& verdicts) {
  for (const Row& row : rows) {
    if (!row.modelled() || row.usable_bytes <= 0 || !row.counts() || row.statistic == "host") continue;
    const bool failed = row.outcome == Outcome::kOutOfMemory;
    const Verdict verdict = JudgeFit(row.estimate.device, row.usable_bytes);
    (failed ? verdicts.failed : verdicts.ran) += 1;
    if (verdict == Verdict::kTight) (failed ? verdicts.failed_tight : verdicts.ran_tight) += 1;
    if (verdict == Verdict::kDoesNotFit && !failed) {
      ++verdicts.ran_refused;
      verdicts.refused.push_back(row.id);
    }
    if (verdict == Verdict::kFits && failed) {
      ++verdicts.failed_passed;
      verdicts.passed.push_back(row.id);
    }
  }
}

}  // namespace

bool EntersStatistics(const Row& row) {
  if (!row.modelled() || !row.counts() || row.outcome != Outcome::kMeasured || row.measured_bytes <= 0) return false;
  const bool torch_counts = row.statistic == "allocated" || row.statistic == "between_steps";
  return torch_counts || !row.full_card();
}

Findings FindOut(const AllRows& rows) {
  Findings findings;
  Samples oracle, methods, cuda, reports;
  findings.oracle_modelled = ComparePhases(rows.oracle, oracle, &methods);
  findings.cuda_modelled = ComparePhases(rows.oracle_cuda, cuda, nullptr);
  findings.oracle_phases = SummarizeEach(oracle);
  // Rows that were run again as a GPU does are held to that run.
  std::vector<Row> only_here;
  for (const Row& row : rows.oracle) {
    const auto same = [&row](const Row& again) { return again.id == row.id; };
    if (std::none_of(rows.oracle_cuda.begin(), rows.oracle_cuda.end(), same)) only_here.push_back(row);
  }
  Samples held;
  ComparePhases(only_here, held, nullptr);
  findings.oracle_held = SummarizeEach(held);
  findings.oracle_methods = SummarizeEach(methods);
  findings.cuda_phases = SummarizeEach(cuda);
  CheckCounts(rows.oracle, findings.wrong_counts);
  CheckCounts(rows.oracle_cuda, findings.wrong_counts);

  std::map<std::string, Samples> dimensions;
  CompareMeasured(rows.measured, dimensions);
  for (const auto& [name, samples] : dimensions) findings.measured[name] = SummarizeEach(samples);
  for (const Row& row : rows.measured) {
    findings.measured_counted += row.counts() ? 1 : 0;
    findings.measured_modelled += row.counts() && row.modelled() ? 1 : 0;
  }
  std::map<std::string, Samples> of_reports;
  CompareMeasured(rows.reports, of_reports);
  findings.reports = SummarizeEach(of_reports["statistic"]);
  Judge(rows.measured, findings.verdicts);
  Judge(rows.reports, findings.verdicts);
  return findings;
}

}  // namespace tunefit::validation
