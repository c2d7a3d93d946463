#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/codec/request.h"
#include "core/memory/traced_rank.h"
#include "tests/validation/fit_time.h"
#include "tests/validation/json_fields.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

/// Seconds of one optimizer step, from whatever a source prints; 0 where it prints none of these.
double StepSeconds(const Json& measured, const Workload& workload) {
  const Parallel& parallel = workload.parallel;
  const Batch& batch = workload.batch;
  const auto local = static_cast<double>(batch.per_device * batch.gradient_accumulation * parallel.RowRanks());
  const double sequences = NumberOr(measured, "global_batch_sequences", local);
  if (const double seconds = NumberOr(measured, "sec_per_iter", 0); seconds > 0) return seconds;
  if (const double rate = NumberOr(measured, "tokens_per_sec_per_gpu", 0); rate > 0) {
    return sequences * static_cast<double>(workload.batch.sequence_length) /
           (rate * static_cast<double>(parallel.gpus));
  }
  const double rate = NumberOr(measured, "samples_per_sec", 0);
  return rate > 0 ? sequences / rate : 0;
}

std::string MethodOf(const Json& request) {
  std::string method = "full";
  if (request.contains("method") && request["method"].is_object()) method = TextOr(request["method"], "kind", "full");
  if (request.contains("quantization") && request["quantization"].is_object()) {
    method += "+" + TextOr(request["quantization"], "kind", "?");
  }
  return method;
}

std::string LayoutOf(const Parallel& parallel, const Json& request) {
  std::string layout = "none";
  if (request.contains("parallel")) layout = TextOr(request["parallel"], "strategy", "none");
  if (parallel.tensor > 1) layout += "+t";
  if (parallel.pipeline > 1) layout += "+p";
  if (parallel.context > 1) layout += "+c";
  if (parallel.expert > 1) layout += "+e";
  return layout;
}

void AddRow(const Json& row, const Catalog& catalog, std::vector<TimedRow>& rows) {
  const Json& request = row.at("request");
  RequestReading reading = ReadRequest(request.dump(), catalog);
  TimedRow timed;
  timed.id = row.at("id").get<std::string>();
  for (const Issue& issue : reading.issues) {
    if (issue.severity != Severity::kError) continue;
    std::fprintf(stderr, "refused: %s: %s at %s\n", timed.id.c_str(), issue.code.c_str(), issue.field.c_str());
  }
  if (HasError(reading.issues) || reading.gpu == nullptr) return;
  timed.seconds = StepSeconds(row.at("measured"), reading.workload);
  if (timed.seconds <= 0) return;
  timed.card = reading.gpu;
  timed.wiring = reading.wiring;
  timed.gpu = reading.gpu->id;
  timed.source = SourceOf(row);
  timed.method = MethodOf(request);
  timed.layout = LayoutOf(reading.workload.parallel, request);
  timed.dtype = request.contains("precision") ? TextOr(request["precision"], "compute", "bf16") : "bf16";
  timed.workload = std::move(reading.workload);
  timed.counts = CountStep(timed.workload, TraceJob(timed.workload));
  rows.push_back(std::move(timed));
}

}  // namespace

std::vector<TimedRow> ReadTimedRows(const std::vector<std::string>& paths, const Catalog& catalog) {
  std::vector<TimedRow> rows;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      const Json row = Json::parse(line, nullptr, false);
      if (row.value("quality", "C") != "C" && row.contains("request")) AddRow(row, catalog, rows);
    }
  }
  std::map<std::string, double> of_source;
  for (const TimedRow& row : rows) of_source[row.source.key] += 1;
  for (TimedRow& row : rows) row.weight = 1 / std::sqrt(of_source[row.source.key]);
  return rows;
}

StepTime TimeOf(const TimedRow& row, const Efficiencies& efficiencies) {
  const double network = efficiencies.Of(*row.card).network_bytes_per_second;
  return TimeStep(row.counts, row.workload, *row.card, FabricOf(*row.card, row.workload.parallel, row.wiring, network),
                  efficiencies);
}

Range SecondsOf(const TimedRow& row, const Efficiencies& efficiencies) {
  return RangeOf(TimeOf(row, efficiencies), efficiencies);
}

Sample Compare(const TimedRow& row, const Efficiencies& efficiencies) {
  const Range range = SecondsOf(row, efficiencies);
  return {.error = range.expected / row.seconds - 1,
          .half_width = (range.high - range.low) / 2 / range.expected,
          .inside = range.low <= row.seconds && row.seconds <= range.high,
          .source = row.source.key};
}

}  // namespace tunefit::validation
