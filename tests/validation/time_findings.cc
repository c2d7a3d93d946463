#include "tests/validation/time_findings.h"

#include <utility>

namespace tunefit::validation {

TimeFindings FindOutTime(std::vector<TimedRow> rows, const Efficiencies& efficiencies) {
  TimeFindings findings;
  std::vector<Sample> samples;
  std::map<std::string, std::map<std::string, std::vector<Sample>>> groups;
  for (const TimedRow& row : rows) {
    const Sample& sample = samples.emplace_back(Compare(row, efficiencies));
    findings.estimates.push_back(SecondsOf(row, efficiencies));
    groups["generation"][row.card->architecture].push_back(sample);
    groups["method"][row.method].push_back(sample);
    groups["source"][row.source.key].push_back(sample);
  }
  findings.all = Summarize(samples);
  for (const auto& [dimension, of_dimension] : groups) {
    for (const auto& [name, group] : of_dimension) findings.by[dimension][name] = Summarize(group);
  }
  findings.rows = std::move(rows);
  return findings;
}

void LeaveSourcesOut(TimeFindings& findings, const Efficiencies& efficiencies) {
  std::vector<Sample> all;
  for (const auto& [source, samples] : LeaveOut(findings.rows, efficiencies)) {
    all.insert(all.end(), samples.begin(), samples.end());
  }
  findings.left_out = Summarize(all);
}

}  // namespace tunefit::validation
