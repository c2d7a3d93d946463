#include "tests/validation/report.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace tunefit::validation {
namespace {

using Json = nlohmann::ordered_json;

/// Of published runs: sources print two to four, and an estimate says no more.
constexpr int kMeasuredDigits = 5;
constexpr int kEstimateDigits = 4;
constexpr int kRangeDigits = 3;

/// A share to five digits: more is noise, and bytes on the wire.
double Rounded(double share) { return std::round(share * 1e5) / 1e5; }

/// To so many digits.
double Rounded(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  return std::strtod(text, nullptr);
}

/// Of a published run: to a thousandth.
double ErrorOf(double estimate, double measured) { return std::round((estimate / measured - 1) * 1e3) / 1e3; }

std::int64_t Bytes(double bytes) { return static_cast<std::int64_t>(std::llround(bytes)); }

Json Of(const Summary& summary) {
  return {{"rows", summary.rows},
          {"sources", summary.sources},
          {"bias", Rounded(summary.bias)},
          {"median", Rounded(summary.median)},
          {"p90", Rounded(summary.p90)},
          {"p95", Rounded(summary.p95)},
          {"worst", Rounded(summary.worst)},
          {"inside", Rounded(summary.inside)},
          {"half_width", Rounded(summary.half_width)},
          {"by_source",
           {{"median", Rounded(summary.median_by_source)},
            {"p90", Rounded(summary.p90_by_source)},
            {"inside", Rounded(summary.inside_by_source)},
            {"half_width", Rounded(summary.half_width_by_source)}}}};
}

Json Of(const Summaries& summaries) {
  Json object = Json::object();
  for (const auto& [name, summary] : summaries) object[name] = Of(summary);
  return object;
}

Json Of(const Verdicts& verdicts) {
  return {{"ran", verdicts.ran},
          {"ran_refused", verdicts.ran_refused},
          {"ran_tight", verdicts.ran_tight},
          {"out_of_memory", verdicts.failed},
          {"out_of_memory_passed", verdicts.failed_passed},
          {"out_of_memory_tight", verdicts.failed_tight}};
}

/// Sources are listed once; rows name theirs by number.
class SourceList {
 public:
  int IndexOf(const Source& source) {
    const auto [place, added] = indices_.try_emplace({source.title, source.url}, static_cast<int>(list_.size()));
    if (added) list_.push_back({{"key", source.key}, {"title", source.title}, {"url", source.url}});
    return place->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::pair<std::string, std::string>, int> indices_;
  Json list_ = Json::array();
};

const char* OutcomeName(Outcome outcome) {
  if (outcome == Outcome::kOutOfMemory) return "out_of_memory";
  return outcome == Outcome::kRan ? "ran" : "measured";
}

const char* VerdictName(Verdict verdict) {
  if (verdict == Verdict::kFits) return "fits";
  return verdict == Verdict::kTight ? "tight" : "does_not_fit";
}

void AddRange(const Row& row, Json& json) {
  Range range;
  if (!RangeOf(row, range) || row.measured_bytes <= 0) return;
  json["estimate"] = Json::array();
  for (const double bytes : {range.low, range.expected, range.high}) {
    json["estimate"].push_back(Bytes(Rounded(bytes, kEstimateDigits)));
  }
  json["error"] = ErrorOf(range.expected, row.measured_bytes);
}

void AddPhases(const Row& row, Json& json) {
  Json phases = Json::object();
  for (const auto& [name, bytes] : row.phases) {
    phases[name] = {Bytes(bytes), Bytes(PhaseOf(row.estimate.phases, name))};
  }
  if (!phases.empty()) json["phases"] = std::move(phases);
}

Json Of(const Row& row, SourceList& sources) {
  Json json = {{"id", row.id},         {"quality", row.quality}, {"model", row.model},
               {"method", row.method}, {"stack", row.stack},     {"sharding", row.strategy},
               {"gpus", row.gpus},     {"gpu", row.gpu},         {"source", sources.IndexOf(row.source)}};
  if (!row.source.locator.empty()) json["locator"] = row.source.locator;
  json["outcome"] = OutcomeName(row.outcome);
  if (!row.statistic.empty()) json["statistic"] = row.statistic;
  if (row.measured_bytes > 0) json["measured"] = Bytes(Rounded(row.measured_bytes, kMeasuredDigits));
  if (!row.modelled()) {
    json["not_modelled"] = row.not_modelled;
    return json;
  }
  json["in_statistics"] = row.statistic == "live" || EntersStatistics(row);
  if (row.usable_bytes > 0) json["verdict"] = VerdictName(JudgeFit(row.estimate.device, row.usable_bytes));
  AddRange(row, json);
  AddPhases(row, json);
  return json;
}

Json Of(const TimeFindings& time) {
  Json json = {{"all", Of(time.all)}, {"left_out", Of(time.left_out)}};
  for (const auto& [dimension, summaries] : time.by) json[dimension] = Of(summaries);
  return json;
}

/// A column a field: so many rows of one kind take a third of the bytes that objects do.
std::string Columns(const TimeFindings& time, SourceList& sources) {
  Json columns;
  for (std::size_t i = 0; i < time.rows.size(); ++i) {
    const TimedRow& row = time.rows[i];
    const Range& seconds = time.estimates[i];
    columns["id"].push_back(row.id);
    columns["gpu"].push_back(row.gpu);
    columns["generation"].push_back(row.card->architecture);
    columns["method"].push_back(row.method);
    columns["source"].push_back(sources.IndexOf(row.source));
    columns["measured"].push_back(Rounded(row.seconds, kEstimateDigits));
    columns["low"].push_back(Rounded(seconds.low, kRangeDigits));
    columns["expected"].push_back(Rounded(seconds.expected, kEstimateDigits));
    columns["high"].push_back(Rounded(seconds.high, kRangeDigits));
    columns["error"].push_back(ErrorOf(seconds.expected, row.seconds));
  }
  std::string text = "{";
  const char* comma = "\n";
  for (const auto& [name, column] : columns.items()) {
    text += comma + ("\"" + name + "\":") + column.dump();
    comma = ",\n";
  }
  return text + "\n}";
}

/// A list with one element a line, so that differences read well.
std::string Lines(const Json& list) {
  std::string text = "[";
  const char* comma = "\n";
  for (const Json& element : list) {
    text += comma + element.dump();
    comma = ",\n";
  }
  return text + "\n]";
}

Json List(const std::vector<Row>& rows, SourceList& sources) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(Of(row, sources));
  return list;
}

}  // namespace

std::string WriteReport(const AllRows& rows, const Findings& findings, const TimeFindings& time,
                        const std::vector<Bar>& bars, const std::string& date) {
  Json bar_list = Json::array();
  for (const Bar& bar : bars) {
    bar_list.push_back({{"id", bar.id},
                        {"value", Rounded(bar.value)},
                        {"limit", Rounded(bar.limit)},
                        {"at_least", bar.at_least},
                        {"met", bar.met()}});
  }
  Json measured = Json::object();
  for (const auto& [dimension, summaries] : findings.measured) measured[dimension] = Of(summaries);
  Json unmapped = Json::array();
  for (const UnmappedReport& report : rows.unmapped) unmapped.push_back({{"id", report.id}, {"reason", report.reason}});
  SourceList sources;
  const std::vector<std::pair<const char*, std::string>> parts = {
      {"version", "1"},
      {"catalog_date", Json(date).dump()},
      {"bars", Lines(bar_list)},
      {"verdicts", Of(findings.verdicts).dump()},
      {"live", Of(findings.oracle_phases).dump()},
      {"live_methods", Of(findings.oracle_methods).dump()},
      {"measured", measured.dump()},
      {"user_reports", Of(findings.reports).dump()},
      {"measured_rows", Lines(List(rows.measured, sources))},
      {"user_report_rows", Lines(List(rows.reports, sources))},
      {"user_reports_without_request", Lines(unmapped)},
      {"time", Of(time).dump()},
      {"timed_rows", Columns(time, sources)},
      {"live_rows", Lines(List(rows.oracle, sources))},
      {"live_rows_as_on_gpu", Lines(List(rows.oracle_cuda, sources))},
      {"sources", Lines(sources.list())},
  };
  std::string text = "{";
  const char* comma = "\n";
  for (const auto& [name, value] : parts) {
    text += comma + ("\"" + std::string(name) + "\":") + value;
    comma = ",\n";
  }
  return text + "\n}\n";
}

}  // namespace tunefit::validation
