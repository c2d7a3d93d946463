#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/cost/pricing.h"

// The words and limits of the request, as wasm/tunefit.d.ts has them. What stands here but is not modelled yet gets an
// issue `not_modelled`; what does not stand here gets `unknown_value`.

namespace tunefit::words {

inline constexpr std::array<std::string_view, 9> kTask = {"sft",  "pretrain", "seqcls", "reward", "dpo",
                                                          "orpo", "kto",      "grpo",   "ppo"};
inline constexpr std::array<std::string_view, 4> kReference = {"none", "copy", "adapter", "precomputed"};
inline constexpr std::array<std::string_view, 2> kEngine = {"transformers", "vllm"};
inline constexpr std::array<std::string_view, 6> kMethod = {"full", "freeze",        "lora",
                                                            "ia3",  "prompt_tuning", "prefix_tuning"};
/// Instead of a list of modules.
inline constexpr std::array<std::string_view, 1> kTargets = {"all-linear"};
inline constexpr std::array<std::string_view, 3> kAdapterDtype = {"fp32", "bf16", "fp16"};
inline constexpr std::array<std::string_view, 7> kQuantization = {"nf4", "fp4", "int8", "gptq", "awq", "hqq", "fp8"};
inline constexpr std::array<std::string_view, 2> kVisionTower = {"frozen", "trained"};
inline constexpr std::array<std::string_view, 3> kPrepareKbit = {"none", "peft", "trl"};
inline constexpr std::array<std::string_view, 4> kPrecision = {"bf16", "fp16", "fp32", "fp8"};
inline constexpr std::array<std::string_view, 4> kFusedKernels = {"rms_norm", "rope", "swiglu", "lora"};
inline constexpr std::array<std::string_view, 3> kPacking = {"none", "packed", "padding_free"};
inline constexpr std::array<std::string_view, 4> kCheckpointing = {"none", "full", "selective", "offload"};
inline constexpr std::array<std::string_view, 6> kAttention = {
    "flash_attention_2", "flash_attention_3", "sdpa", "eager", "xformers", "flex"};
inline constexpr std::array<std::string_view, 4> kLoss = {"standard", "chunked", "fused_ce", "fused_linear_ce"};
inline constexpr std::array<std::string_view, 8> kStrategy = {"none",  "ddp",  "zero1", "zero2",
                                                              "zero3", "fsdp", "fsdp2", "device_map"};
inline constexpr std::array<std::string_view, 3> kOffload = {"none", "cpu", "nvme"};
inline constexpr std::array<std::string_view, 5> kInclude = {"limits", "timeline", "ranks", "advice", "scaling"};
inline constexpr std::array<std::string_view, 2> kDetail = {"full", "summary"};
/// In a plan: what trains, and how its hardware is come by.
inline constexpr std::array<std::string_view, 3> kPlanMethod = {"full", "lora", "qlora"};
inline constexpr std::array<std::string_view, 2> kAcquire = {"rent", "buy"};
/// Stacks of the contract; those that the catalog describes are modelled.
inline constexpr std::array<std::string_view, 8> kStack = {"transformers", "torchtune", "torchtitan", "litgpt",
                                                           "llm-foundry",  "unsloth",   "deepspeed",  "megatron"};
/// Hugging Face's `optim` names, and what other trainers offer: adamw_hf (transformers before 5), muon, adam_mini.
inline constexpr std::array<std::string_view, 45> kOptimizer = {
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_bnb_8bit",
    "adamw_8bit",
    "paged_adamw_32bit",
    "paged_adamw_8bit",
    "adafactor",
    "sgd",
    "lion_32bit",
    "lion_8bit",
    "paged_lion_32bit",
    "paged_lion_8bit",
    "muon",
    "adam_mini",
    "galore_adamw",
    "galore_adamw_8bit",
    "galore_adafactor",
    "galore_adamw_layerwise",
    "galore_adamw_8bit_layerwise",
    "galore_adafactor_layerwise",
    "apollo_adamw",
    "apollo_adamw_layerwise",
    "lomo",
    "adalomo",
    "adamw_torch_8bit",
    "adamw_torch_4bit",
    "ademamix",
    "ademamix_8bit",
    "paged_ademamix_32bit",
    "paged_ademamix_8bit",
    "schedule_free_adamw",
    "schedule_free_radam",
    "schedule_free_sgd",
    "stable_adamw",
    "grokadamw",
    "adamw_apex_fused",
    "adamw_anyprecision",
    "adamw_hf",
    "adagrad",
    "rmsprop",
    "rmsprop_bnb",
    "rmsprop_bnb_8bit",
    "rmsprop_bnb_32bit",
    "adamw_torch_xla",
    "adamw_torch_npu_fused",
};

/// What the core models today: a subset of the words above, in the order in which a page offers them.
namespace modelled {

/// All but prefix tuning, which is the last.
inline constexpr std::span<const std::string_view> kMethod(words::kMethod.data(), words::kMethod.size() - 1);
/// Stacks that run PEFT's other methods than LoRA.
inline constexpr std::array<std::string_view, 2> kPeftStacks = {"transformers", "deepspeed"};
/// Stacks that run TRL's trainers: the other tasks are modelled as they do them.
inline constexpr std::array<std::string_view, 3> kTrlStacks = {"transformers", "unsloth", "deepspeed"};
inline constexpr std::array<std::string_view, 3> kPrecision = {"bf16", "fp16", "fp32"};
/// All but those for other accelerators than GPUs, which are the last two.
inline constexpr std::span<const std::string_view> kOptimizer(words::kOptimizer.data(), words::kOptimizer.size() - 2);

}  // namespace modelled

struct Interval {
  std::int64_t low;
  std::int64_t high;
};

/// Bits of a packed weight, and weights that share a scale; the most stands for a whole column.
inline constexpr Interval kBits = {1, 16};
inline constexpr Interval kGroupSize = {1, 1000000};
inline constexpr Interval kRank = {1, 65536};
inline constexpr Interval kPerDevice = {1, 65536};
inline constexpr Interval kAccumulation = {1, 1000000};
inline constexpr Interval kSequenceLength = {1, 16777216};
/// Tokens of a micro-batch.
inline constexpr std::int64_t kTokensHigh = 67108864;
inline constexpr Interval kEvaluationExamples = {1, 1000000000};
/// Of `dataset`.
inline constexpr Interval kExamples = {1, 1000000000000};
inline constexpr Interval kDatasetTokens = {1, 1000000000000000};
inline constexpr Interval kEpochs = {0, 1000000};
inline constexpr Interval kGenerations = {1, 65536};
inline constexpr Interval kIterations = {1, 1000};
inline constexpr Interval kGpus = {1, 1000000};
inline constexpr Interval kPlanGpus = {1, 1024};
inline constexpr Interval kTrainableLayers = {1, 1000};
inline constexpr Interval kVirtualTokens = {1, 65536};
/// Numbers of parameters, in DeepSpeed's settings: what may be switched off, and what may not.
inline constexpr Interval kElements = {0, 1000000000000000};
inline constexpr Interval kBucket = {1, 1000000000000000};
inline constexpr Interval kParameters = {1, 100000000000000};
inline constexpr Interval kShare = {0, 1};

/// A field whose values are words: those that are read, and those of them that are modelled.
struct WordField {
  std::string_view path;
  std::span<const std::string_view> known, modelled;

  constexpr WordField(std::string_view at, std::span<const std::string_view> all) : WordField(at, all, all) {}
  constexpr WordField(std::string_view at, std::span<const std::string_view> all,
                      std::span<const std::string_view> some)
      : path(at), known(all), modelled(some) {}
};

/// A field that is a number, and its limits.
struct NumberField {
  std::string_view path;
  Interval limits;
};

// Every such field of a request, but those whose words or limits core/cost and the catalog have: the reader reads by
// these tables and the description is written from them.

inline constexpr WordField kWordFields[] = {
    {"task", kTask},
    {"reference", kReference},
    {"rollout.engine", kEngine},
    {"method.kind", kMethod, modelled::kMethod},
    {"method.target_modules", kTargets},
    {"method.adapter_dtype", kAdapterDtype},
    {"method.modules_to_save_dtype", kAdapterDtype},
    {"method.vision_tower", kVisionTower},
    {"quantization.kind", kQuantization},
    {"quantization.prepare_kbit", kPrepareKbit},
    {"precision.weights", kPrecision, modelled::kPrecision},
    {"precision.compute", kPrecision},
    {"precision.optimizer_states", kAdapterDtype},
    {"optimizer", kOptimizer, modelled::kOptimizer},
    {"fused_kernels", kFusedKernels},
    {"batch.packing", kPacking},
    {"gradient_checkpointing", kCheckpointing},
    {"attention", kAttention},
    {"loss", kLoss},
    {"parallel.strategy", kStrategy},
    {"parallel.reduce_dtype", kPrecision},
    {"parallel.offload.optimizer", kOffload},
    {"parallel.offload.parameters", kOffload},
    {"include", kInclude},
    {"detail", kDetail},
    {"plan.methods", kPlanMethod},
    {"plan.acquire", kAcquire},
};

inline constexpr NumberField kNumberFields[] = {
    {"version", {1, 1}},
    {"model.parameters", kParameters},
    {"method.trainable_layers", kTrainableLayers},
    {"method.virtual_tokens", kVirtualTokens},
    {"method.rank", kRank},
    {"method.dropout", kShare},
    {"quantization.bits", kBits},
    {"quantization.group_size", kGroupSize},
    {"optimizer_rank", kRank},
    {"batch.per_device", kPerDevice},
    {"batch.gradient_accumulation", kAccumulation},
    {"batch.sequence_length", kSequenceLength},
    {"gradient_checkpointing.every", kTrainableLayers},
    {"rollout.generations", kGenerations},
    {"rollout.prompt_length", kSequenceLength},
    {"rollout.completion_length", kSequenceLength},
    {"rollout.memory_share", kShare},
    {"rollout.iterations", kIterations},
    {"rollout.engine_gpus", kGpus},
    {"evaluation.per_device", kPerDevice},
    {"evaluation.examples", kEvaluationExamples},
    {"evaluation.accumulation_steps", kAccumulation},
    {"parallel.gpus", kGpus},
    {"parallel.gpus_per_node", kGpus},
    {"parallel.tensor", kGpus},
    {"parallel.pipeline", kGpus},
    {"parallel.interleave", kGpus},
    {"parallel.context", kGpus},
    {"parallel.expert", kGpus},
    {"parallel.expert_tensor", kGpus},
    {"parallel.shard", kGpus},
    {"parallel.zero.reduce_bucket_size", kBucket},
    {"parallel.zero.stage3_prefetch_bucket_size", kElements},
    {"parallel.zero.stage3_param_persistence_threshold", kElements},
    {"parallel.zero.stage3_max_live_parameters", kElements},
    {"parallel.zero.stage3_max_reuse_distance", kElements},
    {"parallel.zero.sub_group_size", kBucket},
    {"parallel.zero.zero_hpz_partition_size", kGpus},
    {"dataset.examples", kExamples},
    {"dataset.mean_tokens", kSequenceLength},
    {"dataset.tokens", kDatasetTokens},
    {"dataset.epochs", kEpochs},
    {"plan.deadline_hours", {0, 1000000}},
    {"plan.budget", {0, static_cast<std::int64_t>(kMostMoney)}},
    {"plan.max_gpus", kPlanGpus},
    {"plan.global_batch", kAccumulation},
    {"pricing.trials", {0, kMostTrials}},
    {"pricing.data_work.hours", {0, static_cast<std::int64_t>(kMostWorkHours)}},
    {"pricing.data_work.rate_per_hour", {0, static_cast<std::int64_t>(kMostMoney)}},
};

/// Cannot run where a constant is computed: the compiler refuses a path that no table has.
void NoTableHasThisPath();

consteval const WordField& WordsAt(std::string_view path) {
  for (const WordField& field : kWordFields) {
    if (field.path == path) return field;
  }
  NoTableHasThisPath();
  return kWordFields[0];
}

consteval const NumberField& NumberAt(std::string_view path) {
  for (const NumberField& field : kNumberFields) {
    if (field.path == path) return field;
  }
  NoTableHasThisPath();
  return kNumberFields[0];
}

}  // namespace tunefit::words
