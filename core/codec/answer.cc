#include "core/codec/answer.h"

#include "core/codec/request_words.h"
#include "core/model/parameters.h"

namespace tunefit {
namespace {

Answer Ask(const RequestReading& reading, const Catalog& catalog) {
  const Detail detail = reading.full_detail ? Detail::kFull : Detail::kSummary;
  Answer answer;
  const std::vector<TracedRank> job = TraceJob(reading.workload);
  answer.memory = EstimateMemory(reading.workload, job, reading.gpu, catalog.overheads, detail);
  if (reading.gpu != nullptr && HasRates(*reading.gpu)) {
    answer.time =
        EstimateTime(reading.workload, job, *reading.gpu, reading.wiring, catalog.efficiencies, reading.dataset);
    AddOutsideSteps(*answer.time, reading.workload, reading.dataset, answer.memory.disk_bytes, catalog.outside_steps);
    if (reading.includes_scaling) {
      answer.scaling = ScalingOf(reading.workload, *reading.gpu, reading.wiring, catalog.efficiencies);
    }
  }
  if (reading.includes_ranks) answer.ranks = EstimateRanks(reading.workload, reading.gpu, catalog.overheads);
  if (reading.includes_limits && reading.gpu != nullptr) {
    const SearchBounds bounds{words::kPerDevice.high, words::kSequenceLength.high, words::kTokensHigh};
    answer.limits = FindLimits(reading.workload, *reading.gpu, catalog.overheads, bounds);
  }
  return answer;
}

/// Services train adapters and whole models on examples; whatever else a request asks of them has no price.
TunedModel ModelForServices(const Workload& workload) {
  TunedModel model;
  const MethodKind kind = workload.method.kind;
  const bool trains = workload.task == Task::kSft || workload.task == Task::kPretrain;
  if (!trains || (kind != MethodKind::kLora && kind != MethodKind::kFull)) return model;
  model.method = kind == MethodKind::kLora ? TuningMethod::kLora : TuningMethod::kFull;
  model.parameters = static_cast<double>(CountParameters(workload.architecture).total());
  return model;
}

/// The cost of a run whose hours are known, and its remarks among the reading's.
void AddCost(RequestReading& reading, const Catalog& catalog, const Market& market, Answer& answer) {
  if (!answer.time || !answer.time->run || answer.time->total_seconds->low <= 0 || reading.dataset.epochs <= 0) {
    return;
  }
  const RunLength& length = *answer.time->run;
  CostedRun run;
  run.gpu = reading.gpu;
  run.time.seconds = *answer.time->total_seconds;
  run.time.padded_tokens = length.filled_tokens;
  run.time.trained_tokens = length.trained_tokens;
  run.time.gpu_busy_share = BusyShare(*answer.time, reading.workload.parallel);
  run.time.gpus = reading.workload.parallel.gpus;
  run.time.gpus_per_machine = reading.workload.parallel.gpus_per_node;
  run.model = ModelForServices(reading.workload);
  Machine machine;
  if (reading.server != nullptr) {
    machine = MachineOf(*reading.server, catalog);
    run.machine = &machine;
  }
  answer.cost = EstimateCost(run, market.prices, reading.completed.prices, reading.issues);
  answer.disk = DiskOf(answer.memory.disk_bytes, 1, length.trained_tokens / reading.dataset.epochs);
}

}  // namespace

Answer AnswerTo(RequestReading& reading, const Catalog& catalog, const Market* market) {
  Answer answer = Ask(reading, catalog);
  if (market != nullptr) AddCost(reading, catalog, *market, answer);
  return answer;
}

}  // namespace tunefit
