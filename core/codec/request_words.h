#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

// The words and limits of the request, as wasm/tunefit.d.ts has them. What stands here but is not modelled yet gets an
// issue `not_modelled`; what does not stand here gets `unknown_value`.

namespace tunefit::words {

inline constexpr std::array<std::string_view, 9> kTask = {"sft",  "pretrain", "seqcls", "reward", "dpo",
                                                          "orpo", "kto",      "grpo",   "ppo"};
inline constexpr std::array<std::string_view, 4> kReference = {"none", "copy", "adapter", "precomputed"};
inline constexpr std::array<std::string_view, 2> kEngine = {"transformers", "vllm"};
inline constexpr std::array<std::string_view, 6> kMethod = {"full", "freeze",        "lora",
                                                            "ia3",  "prompt_tuning", "prefix_tuning"};
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
inline constexpr std::array<std::string_view, 3> kInclude = {"limits", "timeline", "ranks"};

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
inline constexpr Interval kGpus = {1, 1000000};
inline constexpr Interval kTrainableLayers = {1, 1000};
inline constexpr Interval kVirtualTokens = {1, 65536};
/// Numbers of parameters, in DeepSpeed's settings: what may be switched off, and what may not.
inline constexpr Interval kElements = {0, 1000000000000000};
inline constexpr Interval kBucket = {1, 1000000000000000};

}  // namespace tunefit::words
