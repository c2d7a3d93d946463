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
  engine.compile = !engine.architecture.streams;  // compiled streams are not modelled
  engine.habits.attention_by_generation = true;
  engine.rollout = workload.rollout;
  engine.rollout.engine_bytes = 0;
  return engine;
}

/// Whose passes write the completions.
Workload WriterOf(const Workload& workload) { return workload.rollout.has_engine() ? OfEngine(workload) : workload; }

/// Completions that are written together: of a GPU, or of an engine apart.
double EngineAtOnce(const Workload& workload, double completions) {
  const double held = workload.rollout.held_bytes();
  const double of_one = KvCacheBytes(workload.architecture, Dtype::kBf16, workload.batch.sequence_length);
  if (of_one <= 0 || held == 0) return completions;
  // An engine without room for the model would not start, of which the request's reader warns.
  return std::clamp(std::floor((held - ServedBytes(workload.architecture)) / of_one), 1.0, completions);
}

MicroBatchWork WorkOfPass(const Step& pass, double sequences, double length, double kept) {
  return WorkOf(pass, Axes::Of(sequences, length, pass.chunk, kept));
}

/// As many weights as a pass gathers. Stage 3 gathers them once, in ppo those of policy and critic, which one wrapper
/// holds; FSDP only for another engine: where the model itself generates, each of its passes gathers.
void CountGathers(const Workload& workload, RolloutCounts& counts) {
  if (!GathersParameters(workload.parallel)) return;
  const bool generates = !workload.rollout.has_engine();
  if (generates && workload.parallel.strategy != Strategy::kZero3) return;
  const MicroBatchWork pass = generates ? counts.token : WorkOfPass(TraceNextToken(workload), 1, 1, 1);
  const double models = workload.task == Task::kPpo ? 2 : 1;
  counts.gathered_bytes = models * pass.gathered_bytes;
  counts.gathers = models * pass.gathers;
  if (!generates) return;
  for (MicroBatchWork* one : {&counts.prompts, &counts.token}) one->gathered_bytes = one->gathers = 0;
}

void CountScores(const Workload& workload, double completions, RolloutCounts& counts) {
  if (workload.task != Task::kPpo) return;
  const Batch& batch = workload.batch;
  const auto at_once = static_cast<double>(CompletionsAtOnce(workload));
  counts.scores = WorkOfPass(TraceScores(workload), at_once, static_cast<double>(batch.sequence_length),
                             static_cast<double>(workload.rollout.completion_length));
  counts.scored_times = std::ceil(completions / at_once);
}

/// Of `times` passes like this, with the weights that they gather.
GenerationTime TimeOf(const Clock& clock, const MicroBatchWork& work, const StepTime& time, double times) {
  GenerationTime pass;
  pass.seconds = times * clock.WithGathers(work, time);
  pass.launch_seconds = times * time[TimeTerm::kLaunch];
  pass.busy_seconds = times * (time[TimeTerm::kMatmul] + time[TimeTerm::kAttention] + time[TimeTerm::kMemory]);
  return pass;
}

GenerationTime TimeOfPasses(const Clock& clock, const MicroBatchWork& work, double times) {
  StepTime time;
  clock.AddMicroBatch(work, time);
  return TimeOf(clock, work, time, times);
}

/// Every weight is there for a few rows: reading them hides the products, or is hidden by them.
GenerationTime TimeOfTokens(const Clock& clock, const RolloutCounts& counts) {
  const MicroBatchWork& work = counts.token;
  StepTime time;
  At(time, TimeTerm::kMatmul) = std::max(clock.ProductSeconds(work), clock.MemorySeconds(work.operand_bytes));
  At(time, TimeTerm::kMemory) = clock.MemorySeconds(work.bytes + counts.cache_bytes);
  At(time, TimeTerm::kLaunch) =
      std::max(0.0, clock.LaunchSeconds(work) - time[TimeTerm::kMatmul] - time[TimeTerm::kMemory]);
  return TimeOf(clock, work, time, counts.times * counts.tokens);
}

void Add(GenerationTime& sum, const GenerationTime& part) {
  sum.seconds += part.seconds;
  sum.busy_seconds += part.busy_seconds;
  sum.launch_seconds += part.launch_seconds;
}

/// Weights on their way to what generates. A colocated engine copies them within the card; another gets them from the
/// first rank (sync_weights).
double HandoverSeconds(const Clock& clock, const RolloutCounts& counts, const Workload& workload) {
  MicroBatchWork hooks;
  hooks.gathers = counts.gathers;
  const double gathered = std::max(clock.GatherSeconds(counts.gathered_bytes), clock.LaunchSeconds(hooks));
  if (!workload.rollout.is_apart()) return gathered + clock.MemorySeconds(2 * counts.handed_bytes);
  return gathered + clock.SendSeconds(counts.handed_bytes, workload.rollout.engine_gpus);
}

}  // namespace

RolloutCounts CountRollout(const Workload& workload) {
  const Rollout& rollout = workload.rollout;
  const Batch& batch = workload.batch;
  const bool engine = rollout.has_engine();
  const Workload generates = WriterOf(workload);
  const std::int64_t of_rank = batch.per_device * batch.gradient_accumulation;
  const auto completions = static_cast<double>(rollout.is_apart() ? of_rank * workload.parallel.DataRanks() : of_rank);
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
    counts.handed_bytes = ServedBytes(workload.architecture);
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
  const Workload generates = WriterOf(workload);
  const Clock writes(generates, gpu, fabric, efficiencies);
  GenerationTime time = TimeOfPasses(writes, counts.prompts, counts.times);
  Add(time, TimeOfTokens(writes, counts));
  if (workload.rollout.is_apart()) time = {time.seconds / static_cast<double>(workload.rollout.engine_gpus), 0, 0};
  const Clock trains(workload, gpu, fabric, efficiencies);
  Add(time, TimeOfPasses(trains, counts.scores, counts.scored_times));
  time.seconds += HandoverSeconds(trains, counts, workload);
  const auto steps = static_cast<double>(workload.rollout.iterations);
  return {time.seconds / steps, time.busy_seconds / steps, time.launch_seconds / steps};
}

}  // namespace tunefit
