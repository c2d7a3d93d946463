#include "core/time/generation.h"

#include <algorithm>
#include <cmath>

#include "core/model/kv_cache.h"
#include "core/model/parameters.h"
#include "core/time/clock.h"
#include "core/trace/passes.h"

namespace tunefit {
namespace {

/// DynamicCache appends by torch.cat: the old keys and values are read and written again, then attention reads them
/// (transformers/cache_utils.py, DynamicLayer.update). vLLM's pages stay where they are.
constexpr double kMovesOfAppendedCache = 3;
constexpr double kAppendsOfLayer = 2;  // kernels: of keys, and of values

bool HasEngine(const Workload& workload) { return workload.rollout.engine == RolloutEngine::kVllm; }
bool IsApart(const Workload& workload) { return HasEngine(workload) && !workload.rollout.colocated; }

/// vLLM loads the model by its name, and TRL merges adapters before it hands them over (trl/generation/
/// vllm_generation.py). Its kernels are fused and made for the card; CUDA graphs launch them.
Workload OfEngine(const Workload& workload) {
  Workload engine;
  engine.architecture = workload.architecture;
  engine.task = workload.task;
  engine.method.kind = MethodKind::kFrozen;
  const Dtype dtype = workload.precision.compute == Dtype::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
  engine.precision = {.weights = dtype, .compute = dtype, .autocast = false, .optimizer_states = {}};
  engine.batch = workload.batch;
  engine.attention = AttentionKernel::kFlash;
  engine.compile = true;
  engine.habits.attention_by_generation = true;
  engine.rollout = workload.rollout;
  engine.rollout.engine_bytes = 0;
  return engine;
}

double BytesIn16Bits(const Workload& workload) {
  return 2 * static_cast<double>(CountParameters(workload.architecture).total());
}

/// Completions that are written together: of a GPU, or of an engine apart.
double EngineAtOnce(const Workload& workload, double completions) {
  const Rollout& rollout = workload.rollout;
  const double held = rollout.colocated ? rollout.engine_bytes : rollout.server_bytes;
  if (held <= 0) return completions;
  const Batch& batch = workload.batch;
  const double of_one = KvCacheBytes(workload.architecture, Dtype::kBf16, batch.sequence_length);
  const double room = held - BytesIn16Bits(workload);
  return std::clamp(of_one > 0 ? std::floor(room / of_one) : completions, 1.0, completions);
}

MicroBatchWork WorkOfPass(const Step& pass, double sequences, double length, double kept) {
  return WorkOf(pass, Axes::Of(sequences, length, pass.chunk, kept));
}

/// Stage 3 gathers all models that one wrapper holds; FSDP's units one after the other, for another engine alone: where
/// the model itself generates its passes gather.
void CountGathers(const Workload& workload, RolloutCounts& counts) {
  const Strategy strategy = workload.parallel.strategy;
  if (!GathersParameters(workload.parallel)) return;
  if (strategy != Strategy::kZero3 && !HasEngine(workload)) return;
  const Step gather = strategy == Strategy::kZero3 ? TraceHandover(workload).step : TraceNextToken(workload);
  const MicroBatchWork work = WorkOfPass(gather, 1, 1, 1);
  counts.gathered_bytes = work.gathered_bytes;
  counts.gathers = work.gathers;
  if (HasEngine(workload)) return;
  for (MicroBatchWork* pass : {&counts.prompts, &counts.token}) pass->gathered_bytes = pass->gathers = 0;
}

void CountScores(const Workload& workload, double completions, RolloutCounts& counts) {
  if (workload.task != Task::kPpo) return;
  const Batch& batch = workload.batch;
  const auto at_once = static_cast<double>(CompletionsAtOnce(workload));
  counts.scores = WorkOfPass(TraceScores(workload), at_once, static_cast<double>(batch.sequence_length),
                             static_cast<double>(workload.rollout.completion_length));
  counts.scored_times = std::ceil(completions / at_once);
}

/// What a pass over completions takes, nothing generated: forward, with the weights that it gathers.
struct PassTime {
  double seconds = 0;
  double busy = 0;
};

PassTime TimeOfPass(const Clock& clock, const MicroBatchWork& work) {
  StepTime time;
  clock.AddMicroBatch(work, time);
  PassTime pass;
  for (const double term : time.terms) pass.seconds += term;
  pass.busy = time[TimeTerm::kMatmul] + time[TimeTerm::kAttention] + time[TimeTerm::kMemory];
  pass.seconds += clock.Waited(clock.GatherSeconds(work.gathered_bytes), pass.seconds);
  return pass;
}

/// Every weight is there for a few rows: what it takes to read them, products may hide, or be hidden by.
PassTime TimeOfToken(const Clock& clock, const MicroBatchWork& work, double cache_bytes) {
  PassTime pass;
  pass.busy = std::max(clock.ProductSeconds(work), clock.MemorySeconds(work.operand_bytes)) +
              clock.MemorySeconds(work.bytes + cache_bytes);
  pass.seconds = std::max(pass.busy, clock.LaunchSeconds(work));
  pass.seconds += clock.Waited(clock.GatherSeconds(work.gathered_bytes), pass.seconds);
  return pass;
}

/// Weights on their way to what generates. A colocated engine copies them within the card; another gets them from the
/// first rank (sync_weights).
double HandoverSeconds(const Clock& clock, const RolloutCounts& counts, bool apart) {
  MicroBatchWork hooks;
  hooks.gathers = counts.gathers;
  const double gathered = std::max(clock.GatherSeconds(counts.gathered_bytes), clock.LaunchSeconds(hooks));
  return gathered + (apart ? clock.SendSeconds(counts.handed_bytes) : clock.MemorySeconds(2 * counts.handed_bytes));
}

}  // namespace

RolloutCounts CountRollout(const Workload& workload) {
  const Rollout& rollout = workload.rollout;
  const Batch& batch = workload.batch;
  const bool engine = HasEngine(workload);
  const Workload& generates = engine ? OfEngine(workload) : workload;
  const std::int64_t of_rank = batch.per_device * batch.gradient_accumulation;
  const auto completions = static_cast<double>(IsApart(workload) ? of_rank * workload.parallel.DataRanks() : of_rank);
  const double at_once =
      engine ? EngineAtOnce(workload, completions) : static_cast<double>(CompletionsAtOnce(workload));
  const double groups = engine ? std::max(1.0, at_once / static_cast<double>(rollout.generations)) : at_once;
  const Step pass = TraceNextToken(generates);
  RolloutCounts counts;
  counts.prompts = WorkOfPass(pass, groups, static_cast<double>(rollout.prompt_length), 1);
  counts.token = WorkOfPass(pass, at_once, 1, 1);
  const std::int64_t average = rollout.prompt_length + rollout.completion_length / 2;
  counts.cache_bytes = at_once * KvCacheBytes(generates.architecture, generates.precision.compute, average);
  counts.tokens = static_cast<double>(rollout.completion_length - 1);
  counts.times = engine ? completions / at_once : std::ceil(completions / at_once);
  if (engine) {
    counts.prompts.kernels = counts.token.kernels = 0;
    counts.handed_bytes = BytesIn16Bits(workload);
  } else {
    counts.cache_bytes *= kMovesOfAppendedCache;
    counts.token.kernels += kAppendsOfLayer * static_cast<double>(generates.architecture.layers());
  }
  CountGathers(workload, counts);
  CountScores(workload, completions, counts);
  return counts;
}

GenerationTime TimeGeneration(const RolloutCounts& counts, const Workload& workload, const Gpu& gpu,
                              const Fabric& fabric, const Efficiencies& efficiencies) {
  const Workload engine = HasEngine(workload) ? OfEngine(workload) : workload;
  const Clock own(workload, gpu, fabric, efficiencies);
  const Clock generating(engine, gpu, fabric, efficiencies);
  const bool apart = IsApart(workload);
  const PassTime prompts = TimeOfPass(generating, counts.prompts);
  const PassTime token = TimeOfToken(generating, counts.token, counts.cache_bytes);
  const PassTime scores = TimeOfPass(own, counts.scores);
  const double gpus = apart ? static_cast<double>(workload.rollout.engine_gpus) : 1;
  const auto steps = static_cast<double>(workload.rollout.iterations);
  GenerationTime time;
  time.seconds = counts.times * (prompts.seconds + counts.tokens * token.seconds) / gpus;
  time.seconds += counts.scored_times * scores.seconds + HandoverSeconds(own, counts, apart);
  time.seconds /= steps;
  time.busy_seconds = apart ? 0 : counts.times * (prompts.busy + counts.tokens * token.busy);
  time.busy_seconds = (time.busy_seconds + counts.scored_times * scores.busy) / steps;
  return time;
}

}  // namespace tunefit
