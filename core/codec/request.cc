#include "core/codec/request.h"

#include <iterator>
#include <span>
#include <utility>

#include "core/codec/hf_config.h"
#include "core/codec/json_reader.h"
#include "core/codec/request_names.h"
#include "core/codec/request_steps.h"
#include "core/codec/words.h"
#include "core/model/litgpt.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

std::string_view NearestModel(const Catalog& catalog, std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(catalog.model_names.size());
  for (const auto& entry : catalog.model_names) known.push_back(entry.first);
  return MeantName(name, known);
}

/// A stated count that differs is no fault, it is often the hub's own number; the config's counts.
void CompareParameters(RequestReading& reading) {
  const Field<std::int64_t>& stated = reading.completed.model_parameters;
  const std::int64_t counted = CountParameters(reading.workload.architecture).total();
  if (!stated || *stated == counted) return;
  const std::string value = std::to_string(*stated);
  const std::string expected = std::to_string(counted);
  AddIssue(reading.issues, "parameters_differ", "model.parameters",
           Join({"The config describes ", expected, " parameters, not ", value, "; the config is taken."}),
           {{"value", value}, {"expected", expected}}, Severity::kWarning);
}

/// False with an issue where the text is no object. (Faults of single fields leave it true.)
bool ReadTree(RequestReading& reading, std::string_view text) {
  reading.tree = ParseJson(text, kRequestLimits, reading.issues);
  if (!reading.issues.empty()) return false;
  if (reading.tree.kind != JsonKind::kObject) {
    const std::string found(JsonKindName(reading.tree.kind));
    AddIssue(reading.issues, "wrong_type", "", Join({"A request must be an object, not ", found, "."}),
             {{"expected", "an object"}, {"found", found}});
    return false;
  }
  reading.completed = ReadRequestFields(ObjectReader(reading.tree, "", NullRule::kRefused, reading.issues));
  return true;
}

/// All that follows from the fields.
void Understand(RequestReading& reading, const Catalog& catalog, const Market* market) {
  HfConfig config;
  reading.names_quantization = reading.completed.quantization.given;
  const bool has_model = FindArchitecture(reading, catalog, config);
  FindHardware(reading, catalog, market);
  reading.stack = FindStackVersion(reading, catalog);
  if (reading.stack == nullptr) return;
  const ModelHabits& built = reading.stack->habits.model;
  Architecture& architecture = reading.workload.architecture;
  if (built.mpt_runs_kernels && architecture.model_type == "mpt") architecture.eager_only = false;
  if (built.joined_qkv != JoinedQkv::kNo) BuildAsLitGpt(reading.workload.architecture, built);
  CompleteRequest(reading, config);
  reading.dataset = DatasetOf(reading.completed.dataset);
  RefuseUnmodelled(reading, config);
  CheckTask(reading);
  if (!has_model) return;
  FillWorkload(reading);
  if (HasError(reading.issues)) return;
  RemarkOn(reading, config);
  Issues faults = Validate(reading.workload);
  std::move(faults.begin(), faults.end(), std::back_inserter(reading.issues));
}

}  // namespace

bool FindArchitecture(RequestReading& reading, const Catalog& catalog, HfConfig& config) {
  const RequestFields& request = reading.completed;
  if (request.model_config != nullptr) {
    const std::size_t before = reading.issues.size();
    config = ReadHfConfig(ObjectReader(*request.model_config, "model.config", NullRule::kAbsent, reading.issues));
    if (reading.issues.size() > before) return false;
    reading.workload.architecture = std::move(config.architecture);
    CompareParameters(reading);
    return true;
  }
  if (!request.model) return false;
  reading.model = catalog.FindModel(*request.model);
  if (reading.model == nullptr) {
    UnknownName(reading, "unknown_model", "model", "model named", *request.model,
                NearestModel(catalog, *request.model));
    return false;
  }
  reading.workload.architecture = reading.model->architecture;
  return true;
}

RequestReading ReadRequest(std::string_view text, const Catalog& catalog, const Market* market) {
  RequestReading reading;
  if (ReadTree(reading, text)) Understand(reading, catalog, market);
  return reading;
}

RequestReading ReadWritten(std::string_view text) {
  RequestReading reading;
  ReadTree(reading, text);
  return reading;
}

RequestReading CompleteFields(RequestFields fields, const Catalog& catalog, const Market* market) {
  RequestReading reading;
  reading.completed = std::move(fields);
  Understand(reading, catalog, market);
  return reading;
}

}  // namespace tunefit
