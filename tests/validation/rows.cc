#include "tests/validation/rows.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/codec/request.h"
#include "core/model/parameters.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

std::string TextOr(const Json& object, const char* key, const char* otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

double NumberOr(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string MethodOf(const Json& request) {
  const std::string kind = TextOr(request.value("method", Json::object()), "kind", "full");
  const Json quantization = request.value("quantization", Json());
  if (quantization.is_object()) return kind + "+" + TextOr(quantization, "kind", "?");
  if (kind != "full") return kind;
  const Json precision = request.value("precision", Json::object());
  return "full-" + TextOr(precision, "weights", "?") + (precision.value("autocast", false) ? "-amp" : "");
}

std::string ModelOf(const Json& request) {
  const Json model = request.value("model", Json());
  if (model.is_string()) return model.get<std::string>();
  return TextOr(model, "name", "config");
}

void Measure(Row& row, const Json& measured) {
  row.statistic = TextOr(measured, "statistic", "");
  row.measured_bytes = NumberOr(measured, "bytes", 0);
  row.out_of_memory = measured.value("oom", false);
  row.parameters = NumberOr(measured, "parameters", 0);
  row.trainable_parameters = NumberOr(measured, "trainable_parameters", 0);
  const Json phases = measured.value("phases", Json::object());
  for (const auto& [name, bytes] : phases.items()) row.phases[name] = bytes.get<double>();
}

void Estimate(Row& row, const Json& request, const Catalog& catalog) {
  const RequestReading reading = ReadRequest(request.dump(), catalog);
  for (const Issue& issue : reading.issues) {
    if (issue.severity == Severity::kError && row.refusal.empty()) row.refusal = issue.code + " at " + issue.field;
  }
  if (HasError(reading.issues)) return;
  row.modelled = true;
  row.varied = reading.workload.batch.length_varies && reading.workload.batch.packing == Packing::kNone;
  row.usable_bytes = reading.gpu != nullptr ? reading.gpu->usable_bytes : 0;
  row.counted_parameters = CountParameters(reading.workload.architecture).total();
  row.estimate = EstimateMemory(reading.workload, reading.gpu, catalog.overheads, Detail::kSummary);
}

}  // namespace

std::vector<Row> ReadRows(const std::string& path, const Catalog& catalog) {
  std::vector<Row> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    Row& row = rows.emplace_back();
    row.id = TextOr(json, "id", "?");
    row.quality = TextOr(json, "quality", "A");
    const Json request = json.value("request", Json::object());
    row.model = ModelOf(request);
    row.method = MethodOf(request);
    row.stack = TextOr(request, "stack", "?");
    row.source = TextOr(json.value("source", Json::object()), "title", "?");
    Measure(row, json.value("measured", Json::object()));
    Estimate(row, request, catalog);
  }
  return rows;
}

double PhaseOf(const Phases& phases, const std::string& name) {
  if (name == "static") return phases.static_bytes;
  if (name == "between_steps") return phases.between_steps;
  if (name == "after_forward") return phases.after_forward;
  if (name == "peak_forward") return phases.peak_forward;
  if (name == "after_backward") return phases.after_backward;
  if (name == "peak_backward") return phases.peak_backward;
  if (name == "peak_optimizer") return phases.peak_optimizer;
  if (name == "peak_step") return phases.peak_step;
  return 0;
}

const Range* RangeOf(const Row& row) {
  if (row.statistic == "allocated") return &row.estimate.allocated;
  if (row.statistic == "reserved") return &row.estimate.reserved;
  if (row.statistic == "device" || row.statistic == "unstated") return &row.estimate.device;
  return nullptr;
}

}  // namespace tunefit::validation
