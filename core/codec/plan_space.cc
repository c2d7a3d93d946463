#include "core/codec/plan_space.h"

#include <algorithm>
#include <string>

#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/cost/money.h"

namespace tunefit {
namespace {

/// Where nobody says: of an update, and of the data.
constexpr std::int64_t kUsualBatch = 64;
constexpr std::int64_t kUsualExamples = 10000;
constexpr std::int64_t kUsualTokens = 512;
/// From this length on context ranks are tried: a sequence of it fills a card with activations.
constexpr std::int64_t kLongSequence = 16384;

void Assume(RequestReading& reading, const char* field, std::int64_t value) {
  reading.assumptions.push_back({.field = field, .value = std::to_string(value), .reason = "core_default"});
}

TunedBy MethodOf(Word word) {
  if (word == "full") return TunedBy::kFull;
  return word == "lora" ? TunedBy::kLora : TunedBy::kQlora;
}

/// What trains, as far as the request leaves it open. A method that is none of the three stays what it is.
std::vector<TunedBy> MethodsOf(const RequestFields& asked) {
  std::vector<TunedBy> methods = {TunedBy::kFull, TunedBy::kLora, TunedBy::kQlora};
  if (asked.plan.methods) {
    methods.clear();
    for (const Word word : *asked.plan.methods) methods.push_back(MethodOf(word));
    std::sort(methods.rbegin(), methods.rend());
  }
  const QuantizationFields& quantization = asked.quantization;
  const auto remove = [&methods](TunedBy method) {
    methods.erase(std::remove(methods.begin(), methods.end(), method), methods.end());
  };
  if (asked.method.kind && *asked.method.kind != "lora") return {TunedBy::kFull};
  if (asked.method.kind) remove(TunedBy::kFull);
  if (quantization.given) remove(quantization.kind ? TunedBy::kLora : TunedBy::kQlora);
  if (quantization.given && quantization.kind) remove(TunedBy::kFull);
  return methods;
}

std::vector<StackSpace> StacksOf(const RequestFields& asked) {
  std::vector<StackSpace> stacks;
  for (StackSpace& stack : PlanStacks()) {
    if (asked.stack ? stack.id == *asked.stack : stack.is_tried) stacks.push_back(std::move(stack));
  }
  return stacks;
}

Said SaidBy(const RequestFields& asked) {
  Said said;
  const ParallelFields& parallel = asked.parallel;
  if (parallel.strategy) said.strategy = ReadStrategy(*parallel.strategy);
  said.tensor = parallel.tensor;
  said.pipeline = parallel.pipeline;
  said.context = parallel.context;
  said.expert = parallel.expert;
  if (parallel.offload) {
    said.offloads_optimizer = parallel.offload_optimizer.value_or("none") != "none";
    said.offloads_parameters = parallel.offload_parameters.value_or("none") != "none";
  }
  said.per_device = asked.batch.per_device;
  said.gradient_accumulation = asked.batch.gradient_accumulation;
  if (asked.optimizer_in_backward.value_or(false)) said.gradient_accumulation = 1;
  said.checkpointing = asked.checkpointing.kind || asked.checkpointing.every;
  return said;
}

std::vector<std::int64_t> GpusOf(const RequestFields& asked) {
  if (asked.parallel.gpus) return {*asked.parallel.gpus};
  const std::int64_t most = asked.plan.max_gpus.value_or(words::kPlanGpus.high);
  std::vector<std::int64_t> counts;
  for (std::int64_t gpus = 1; gpus <= most; gpus *= 2) counts.push_back(gpus);
  return counts;
}

/// Of an update: what the plan is asked for, what the request's own batch comes to, else the usual.
std::int64_t GlobalBatchOf(const RequestFields& asked, RequestReading& reading) {
  if (asked.plan.global_batch) return *asked.plan.global_batch;
  const BatchFields& batch = asked.batch;
  if (batch.per_device && batch.gradient_accumulation) {
    return *batch.per_device * *batch.gradient_accumulation * asked.parallel.gpus.value_or(1);
  }
  const std::int64_t usual = std::max(kUsualBatch, batch.per_device.value_or(1) * asked.parallel.gpus.value_or(1));
  Assume(reading, "plan.global_batch", usual);
  return usual;
}

void FillData(RequestFields& asked, RequestReading& reading) {
  DatasetFields& data = asked.dataset;
  if (data.examples || data.tokens) return;
  data.given = true;
  data.examples = kUsualExamples;
  Assume(reading, "dataset.examples", *data.examples);
  if (data.mean_tokens) return;
  const std::int64_t tokens = std::min(kUsualTokens, reading.workload.batch.sequence_length);
  data.mean_tokens = static_cast<double>(tokens);
  Assume(reading, "dataset.mean_tokens", tokens);
}

Wishes WishesOf(const PlanFields& plan) {
  Wishes wishes;
  const auto wants = [&plan](Word way) {
    return !plan.acquire || std::find(plan.acquire->begin(), plan.acquire->end(), way) != plan.acquire->end();
  };
  const bool owns = plan.data_in_house.value_or(false) || plan.vendor_only.value_or(false);
  wishes.rents = wants("rent") && !owns;
  wishes.buys = wants("buy");
  if (plan.deadline_hours) wishes.most_seconds = *plan.deadline_hours * kSecondsPerHour;
  wishes.most_cost = plan.budget;
  return wishes;
}

}  // namespace

PlanQuestion QuestionOf(RequestFields asked, RequestReading& reading) {
  PlanQuestion question;
  const Workload& workload = reading.workload;
  FillData(asked, reading);
  Space& space = question.space;
  space.stacks = StacksOf(asked);
  space.methods = MethodsOf(asked);
  space.gpus = GpusOf(asked);
  space.global_batch = GlobalBatchOf(asked, reading);
  space.said = SaidBy(asked);
  const std::int64_t length = LayerTokens(workload, workload.batch.sequence_length);
  space.most_per_device = std::max<std::int64_t>(1, words::kTokensHigh / length);
  space.most_layers = workload.architecture.layers();
  ForEachExperts(workload.architecture, [&space](const Experts& /*experts*/) { space.has_experts = true; });
  space.is_long = length >= kLongSequence;
  question.wishes = WishesOf(asked.plan);
  question.dataset = DatasetOf(asked.dataset);
  if (!question.dataset.mean_tokens) question.dataset.mean_tokens = reading.dataset.mean_tokens;
  question.asked = std::move(asked);
  return question;
}

}  // namespace tunefit
