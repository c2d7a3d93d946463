#include "core/codec/request.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/codec/hf_config.h"
#include "core/codec/json_reader.h"
#include "core/codec/request_steps.h"
#include "core/codec/words.h"
#include "core/model/litgpt.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

/// The catalog's name that was meant, for the message: one that begins with what was written, else one that is near,
/// else one that holds it. Of several the shortest, and of those the last ("h100": "h100-sxm"). Empty when there is
/// none.
std::string_view MeantName(std::string_view written, std::span<const std::string_view> known) {
  std::string name = LowerCase(written);
  std::replace(name.begin(), name.end(), ' ', '-');
  if (name.size() < 2) return {};
  std::string_view begins;
  std::string_view holds;
  for (const std::string_view candidate : known) {
    const std::size_t place = candidate.find(name);
    if (place == candidate.npos) continue;
    std::string_view& best = place == 0 ? begins : holds;
    if (best.empty() || candidate.size() <= best.size()) best = candidate;
  }
  if (!begins.empty()) return begins;
  const std::string_view near = Nearest(name, known);
  return near.empty() && name.size() > 2 ? holds : near;
}

std::string_view NearestModel(const Catalog& catalog, std::string_view name) {
  std::vector<std::string_view> known;
  known.reserve(catalog.model_names.size());
  for (const auto& entry : catalog.model_names) known.push_back(entry.first);
  return MeantName(name, known);
}

void UnknownName(RequestReading& reading, std::string_view code, std::string_view field, std::string_view kind,
                 std::string_view name, std::string_view nearest) {
  const std::string shown = Shortened(name);
  const std::string hint = nearest.empty() ? std::string() : Join({" Did you mean \"", nearest, "\"?"});
  AddIssue(reading.issues, code, field, Join({"The catalog has no ", kind, " \"", shown, "\".", hint}),
           {{"value", shown}, {"nearest", nearest}});
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

void FindGpu(RequestReading& reading, const Catalog& catalog) {
  const Field<Word>& id = reading.completed.gpu;
  if (!id) return;
  reading.gpu = catalog.FindGpu(*id);
  if (reading.gpu != nullptr) return;
  std::vector<std::string_view> known;
  for (const CatalogGpu& row : catalog.gpus) known.push_back(row.gpu.id);
  UnknownName(reading, "unknown_gpu", "hardware.gpu", "GPU with the id", *id, MeantName(*id, known));
}

/// Null with an issue where there is no such server, and without one where the request names none.
const CatalogServer* FindServer(RequestReading& reading, const Market* market) {
  const Field<Word>& id = reading.completed.server;
  if (!id) return nullptr;
  if (market == nullptr) {
    AddIssue(reading.issues, "not_initialised", "hardware.server",
             "The catalog's servers have not been read yet: call init_market before a request that names one.", {});
    return nullptr;
  }
  const CatalogServer* server = market->FindServer(*id);
  if (server != nullptr) return server;
  std::vector<std::string_view> known;
  for (const CatalogServer& row : market->servers) known.push_back(row.id);
  UnknownName(reading, "unknown_server", "hardware.server", "server with the id", *id, MeantName(*id, known));
  return nullptr;
}

/// A run of several GPUs fills one server after another, unless the request says how many each holds: no more than it
/// takes.
void FillServer(RequestReading& reading, const CatalogServer& server) {
  Field<std::int64_t>& per_node = reading.completed.parallel.gpus_per_node;
  const std::int64_t gpus = reading.completed.parallel.gpus.value_or(1);
  const std::string high = std::to_string(server.gpus_max);
  if (!per_node && gpus > 1) {
    per_node = server.gpus_max;
    reading.assumptions.push_back({.field = "parallel.gpus_per_node", .value = high, .reason = "server_holds"});
  }
  const std::int64_t held = std::min(gpus, per_node.value_or(1));
  if (held <= server.gpus_max) return;
  const std::string value = std::to_string(held);
  AddIssue(reading.issues, "too_many_gpus_in_server", "parallel.gpus_per_node",
           Join({"The ", server.name, " takes ", high, server.gpus_max == 1 ? " GPU" : " GPUs", " at most, not ", value,
                 "."}),
           {{"value", value}, {"high", high}, {"server", server.name}});
}

/// The server takes the GPU, and as many of them as the request says one holds.
void CheckServer(RequestReading& reading, const CatalogServer& server) {
  if (reading.gpu != nullptr) {
    const Gpu& gpu = *reading.gpu;
    const auto has = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), gpu.id) != ids.end();
    };
    const bool unconfirmed = has(server.gpus_unconfirmed);
    if (unconfirmed) {
      AddIssue(reading.issues, "gpu_unconfirmed_in_server", "hardware.server",
               Join({"No source confirms that the ", server.name, " takes the ", gpu.name, "."}),
               {{"value", gpu.name}, {"server", server.name}}, Severity::kWarning);
    } else if (!has(server.gpus)) {
      AddIssue(reading.issues, "gpu_not_in_server", "hardware.server",
               Join({"The ", server.name, " does not take the ", gpu.name, "; choose another server or another card."}),
               {{"value", gpu.name}, {"server", server.name}});
    }
  }
  FillServer(reading, server);
}

void ReadTree(RequestReading& reading, std::string_view text) {
  reading.tree = ParseJson(text, kRequestLimits, reading.issues);
  if (!reading.issues.empty()) return;
  if (reading.tree.kind != JsonKind::kObject) {
    const std::string found(JsonKindName(reading.tree.kind));
    AddIssue(reading.issues, "wrong_type", "", Join({"A request must be an object, not ", found, "."}),
             {{"expected", "an object"}, {"found", found}});
    return;
  }
  reading.completed = ReadRequestFields(ObjectReader(reading.tree, "", NullRule::kRefused, reading.issues));
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
  ReadTree(reading, text);
  if (reading.tree.kind != JsonKind::kObject) return reading;
  HfConfig config;
  const bool has_model = FindArchitecture(reading, catalog, config);
  FindGpu(reading, catalog);
  const CatalogServer* server = FindServer(reading, market);
  if (server != nullptr) CheckServer(reading, *server);
  reading.stack = FindStackVersion(reading, catalog);
  if (reading.stack == nullptr) return reading;
  const ModelHabits& built = reading.stack->habits.model;
  Architecture& architecture = reading.workload.architecture;
  if (built.mpt_runs_kernels && architecture.model_type == "mpt") architecture.eager_only = false;
  if (built.joined_qkv != JoinedQkv::kNo) BuildAsLitGpt(reading.workload.architecture, built);
  CompleteRequest(reading, config);
  reading.dataset = DatasetOf(reading.completed.dataset);
  RefuseUnmodelled(reading, config);
  CheckTask(reading);
  if (!has_model) return reading;
  FillWorkload(reading);
  if (HasError(reading.issues)) return reading;
  RemarkOn(reading, config);
  Issues faults = Validate(reading.workload);
  std::move(faults.begin(), faults.end(), std::back_inserter(reading.issues));
  return reading;
}

}  // namespace tunefit
