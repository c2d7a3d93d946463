#include "tests/validation/rows.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/codec/request.h"
#include "core/model/parameters.h"
#include "tests/validation/json_fields.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

constexpr double kFullCard = 0.92;

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

/// "fsdp", or "zero1+tensor+pipeline" where those are above one.
std::string StrategyOf(const Json& parallel) {
  std::string strategy = TextOr(parallel, "strategy", "none");
  for (const char* side : {"tensor", "pipeline", "context", "expert"}) {
    if (parallel.value(side, 1) > 1) strategy += std::string("+") + side;
  }
  return strategy;
}

void Describe(Row& row, const Json& json) {
  row.id = TextOr(json, "id", "?");
  row.quality = TextOr(json, "quality", "A");
  const Json request = json.value("request", Json::object());
  const Json parallel = request.value("parallel", Json::object());
  row.model = ModelOf(request);
  row.method = MethodOf(request);
  row.stack = TextOr(request, "stack", "?");
  row.strategy = StrategyOf(parallel);
  row.gpus = parallel.value("gpus", std::int64_t{1});
  row.gpu = TextOr(request.value("hardware", Json::object()), "gpu", "");
  row.quantized = request.value("quantization", Json()).is_object();
  row.source = SourceOf(json);
}

void Measure(Row& row, const Json& measured) {
  row.statistic = TextOr(measured, "statistic", "");
  row.measured_bytes = NumberOr(measured, "bytes", 0);
  row.unit_certain = measured.value("unit_certain", true);
  if (measured.value("oom", false)) row.outcome = Outcome::kOutOfMemory;
  if (measured.value("ran", false)) row.outcome = Outcome::kRan;
  row.parameters = NumberOr(measured, "parameters", 0);
  row.trainable_parameters = NumberOr(measured, "trainable_parameters", 0);
  const Json phases = measured.value("phases", Json::object());
  for (const auto& [name, bytes] : phases.items()) row.phases[name] = bytes.get<double>();
}

void Estimate(Row& row, const Json& request, const Catalog& catalog) {
  const RequestReading reading = ReadRequest(request.dump(), catalog);
  for (const Issue& issue : reading.issues) {
    if (issue.severity == Severity::kError && row.not_modelled.empty()) {
      row.not_modelled = issue.code + " at " + issue.field;
    }
  }
  if (HasError(reading.issues)) return;
  row.usable_bytes = reading.gpu != nullptr ? reading.gpu->usable_bytes : 0;
  row.gpu_architecture = reading.gpu != nullptr ? reading.gpu->architecture : "";
  row.workspace_bytes = 2 * BlasWorkspaceBytes(reading.gpu);
  row.counted_parameters = CountParameters(reading.workload.architecture).total();
  row.estimate = EstimateMemory(reading.workload, reading.gpu, catalog.overheads, Detail::kSummary);
}

}  // namespace

Source SourceOf(const Json& row) {
  const Json stated = row.value("source", Json::object());
  Source source;
  source.title = TextOr(stated, "title", "?");
  source.key = TextOr(stated, "repo", source.title);
  source.url = TextOr(stated, "url", "");
  source.locator = TextOr(stated, "locator", "");
  return source;
}

bool Row::full_card() const { return usable_bytes > 0 && measured_bytes >= kFullCard * usable_bytes; }

std::vector<Row> ReadRows(const std::string& path, const Catalog& catalog, std::vector<UnmappedReport>* unmapped) {
  std::vector<Row> rows;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (unmapped != nullptr && !json.contains("request")) {
      unmapped->push_back({TextOr(json, "id", "?"), TextOr(json, "not_mapped", "")});
      continue;
    }
    Row& row = rows.emplace_back();
    Describe(row, json);
    Measure(row, json.value("measured", Json::object()));
    Estimate(row, json.value("request", Json::object()), catalog);
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
  if (name == "load") return phases.load;
  if (name == "save") return phases.save;
  return 0;
}

bool RangeOf(const Row& row, Range& range) {
  if (row.statistic == "allocated") {
    range = row.estimate.allocated;
  } else if (row.statistic == "reserved") {
    range = row.estimate.reserved;
  } else if (row.statistic == "device" || row.statistic == "unstated") {
    range = row.estimate.device;
  } else if (row.statistic == "between_steps") {
    const double bytes = row.estimate.phases.between_steps;
    range = {bytes, bytes, bytes};
  } else {
    return false;
  }
  return true;
}

}  // namespace tunefit::validation
