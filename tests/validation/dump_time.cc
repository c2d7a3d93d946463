#include "tests/validation/dump_time.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/codec/request.h"
#include "core/memory/traced_rank.h"
#include "core/model/parameters.h"
#include "core/model/ranks.h"
#include "core/time/compute.h"

namespace tunefit::validation {
namespace {

using Json = nlohmann::json;

double NumberOr(const Json& object, const char* key, double otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string TextOr(const Json& object, const char* key, const char* otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// Seconds of one optimizer step, from whatever a source prints; 0 where it prints none of these.
double StepSeconds(const Json& measured, const Workload& workload) {
  const Parallel& parallel = workload.parallel;
  const auto data = static_cast<double>(parallel.DataRanks() / parallel.context);
  const double local =
      static_cast<double>(workload.batch.per_device) * data * static_cast<double>(workload.batch.gradient_accumulation);
  const double sequences = NumberOr(measured, "global_batch_sequences", local);
  if (const double seconds = NumberOr(measured, "sec_per_iter", 0); seconds > 0) return seconds;
  if (const double rate = NumberOr(measured, "tokens_per_sec_per_gpu", 0); rate > 0) {
    return sequences * static_cast<double>(workload.batch.sequence_length) /
           (rate * static_cast<double>(parallel.gpus));
  }
  const double rate = NumberOr(measured, "samples_per_sec", 0);
  return rate > 0 ? sequences / rate : 0;
}

Json ToJson(const Flops& flops) { return {flops.forward, flops.recompute, flops.backward}; }

void Print(const Json& row, const Catalog& catalog) {
  const Json& request = row.at("request");
  const RequestReading reading = ReadRequest(request.dump(), catalog);
  if (HasError(reading.issues)) {
    for (const Issue& issue : reading.issues) {
      if (issue.severity == Severity::kError)
        std::fprintf(stderr, "%s: %s at %s\n", row.at("id").get<std::string>().c_str(), issue.code.c_str(),
                     issue.field.c_str());
    }
    return;
  }
  const double seconds = StepSeconds(row.at("measured"), reading.workload);
  if (seconds <= 0 || reading.gpu == nullptr) return;
  Json ranks = Json::array();
  for (Workload& workload : RanksToCompare(reading.workload)) {
    const TracedRank rank = TraceRank(workload);
    const MicroBatchWork work = WorkOf(rank.step, rank.axes, static_cast<double>(workload.parallel.context));
    ranks.push_back({{"matmul", ToJson(work.matmul)},
                     {"matmul_fp8", ToJson(work.matmul_fp8)},
                     {"attention", ToJson(work.attention)},
                     {"operand_bytes", work.operand_bytes},
                     {"bytes", work.bytes},
                     {"gathered_bytes", work.gathered_bytes},
                     {"tensor_bytes", work.tensor_bytes},
                     {"expert_bytes", work.expert_bytes},
                     {"kernels", work.kernels},
                     {"weights", rank.replay.weights},
                     {"states", rank.replay.optimizer_states},
                     {"trained", CountElements(rank.step, rank.step.trained)}});
  }
  const Workload& workload = reading.workload;
  const Json dumped = {{"id", row.at("id")},
                       {"seconds", seconds},
                       {"gpu", reading.gpu->id},
                       {"request", request},
                       {"source", TextOr(row.at("source"), "repo", TextOr(row.at("source"), "title", "?").c_str())},
                       {"accumulation", workload.batch.gradient_accumulation},
                       {"sequences", workload.batch.per_device},
                       {"length", workload.batch.sequence_length},
                       {"parameters", CountParameters(workload.architecture).total()},
                       {"layers", workload.architecture.layers()},
                       {"hidden", workload.architecture.hidden_size},
                       {"measured", row.at("measured")},
                       {"ranks", ranks}};
  std::printf("%s\n", dumped.dump().c_str());
}

}  // namespace

int DumpTime(const std::string& path, const Catalog& catalog) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (row.value("quality", "C") != "C" && row.contains("request")) Print(row, catalog);
  }
  return 0;
}

}  // namespace tunefit::validation
