#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/codec/json_reader.h"
#include "core/codec/request_words.h"
#include "core/cost/pricing.h"
#include "core/time/run.h"

namespace tunefit {

template <typename T>
using Field = std::optional<T>;
using Word = std::string_view;  ///< one of request_words.h, or a text of the tree that was read

struct Targets {
  bool all_linear = false;
  std::vector<Word> modules;
};

struct MethodFields {
  Field<Word> kind;
  Field<std::int64_t> trainable_layers, virtual_tokens, rank;
  Field<Targets> target_modules;
  Field<std::vector<Word>> feedforward_modules;
  const JsonValue* rank_pattern = nullptr;  ///< an object of ranks, as written
  Field<std::vector<Word>> modules_to_save;
  Field<double> dropout;
  Field<Word> adapter_dtype, modules_to_save_dtype;
  Field<bool> dora;
  Field<Word> vision_tower;
};

struct QuantizationFields {
  bool given = false;  ///< the request has the key; without a kind it says null
  Field<Word> kind;
  Field<std::int64_t> bits, group_size;
  Field<bool> double_quant;
  Field<Word> prepare_kbit;
};

struct PrecisionFields {
  Field<Word> weights, compute;
  Field<bool> autocast, master_weights;
  Field<Word> optimizer_states;
};

struct BatchFields {
  Field<std::int64_t> per_device, gradient_accumulation, sequence_length;
  Field<Word> packing;
  Field<bool> length_varies;
};

struct RolloutFields {
  bool given = false;
  Field<std::int64_t> generations, prompt_length, completion_length, iterations, engine_gpus;
  Field<bool> colocated;
  Field<Word> engine;
  Field<double> memory_share;
};

struct EvaluationFields {
  bool given = false;
  Field<std::int64_t> per_device, examples, accumulation_steps;
  Field<bool> keeps_logits;
};

struct CheckpointingFields {
  Field<Word> kind;
  Field<std::int64_t> every;  ///< instead of a kind
};

struct ZeroFields {
  bool given = false;
  Field<std::int64_t> reduce_bucket_size;
  Field<bool> overlap_comm, contiguous_gradients;
  Field<std::int64_t> stage3_prefetch_bucket_size, stage3_param_persistence_threshold, stage3_max_live_parameters,
      stage3_max_reuse_distance, sub_group_size, zero_hpz_partition_size;
};

struct ParallelFields {
  Field<std::int64_t> gpus, gpus_per_node;
  Field<Word> strategy;
  Field<bool> reshard_after_forward;
  Field<Word> reduce_dtype;
  Field<std::int64_t> tensor;
  Field<bool> sequence_parallel;
  Field<std::int64_t> pipeline, interleave, context, expert, expert_tensor, shard;
  Field<bool> gradient_as_bucket_view;
  ZeroFields zero;
  bool offload = false;
  Field<Word> offload_optimizer, offload_parameters;
};

struct DatasetFields {
  bool given = false;
  Field<std::int64_t> examples;
  Field<double> mean_tokens;
  Field<std::int64_t> tokens;
  Field<double> epochs;
};

/// What a plan is asked for. An estimate reads it and passes it on.
struct PlanFields {
  Field<std::vector<Word>> methods, acquire, gpus, growth;
  Field<double> deadline_hours, budget;
  Field<std::int64_t> max_gpus, global_batch;
  Field<bool> ecc_required, data_in_house, vendor_only;
};

/// The request as written: every field of the contract with its type and words checked, nothing decided. The completed
/// request has the same shape with the defaults filled in. Views point into the tree that was read.
struct RequestFields {
  Field<Word> model;                        ///< a name
  const JsonValue* model_config = nullptr;  ///< or a Hugging Face config
  Field<Word> model_name;
  Field<std::int64_t> model_parameters;
  Field<Word> task, reference;
  MethodFields method;
  QuantizationFields quantization;
  PrecisionFields precision;
  Field<Word> optimizer;
  Field<std::int64_t> optimizer_rank;
  Field<bool> optimizer_in_backward;
  Field<std::vector<Word>> fused_kernels;
  BatchFields batch;
  RolloutFields rollout;
  EvaluationFields evaluation;
  CheckpointingFields checkpointing;
  Field<Word> attention, loss, stack, stack_version;
  Field<bool> compile;
  ParallelFields parallel;
  Field<std::vector<Word>> include;
  Field<Word> detail;
  Field<Word> gpu, server, interconnect;
  DatasetFields dataset;
  const JsonValue* plan_written = nullptr;  ///< passed on as written
  PlanFields plan;
  const JsonValue* pricing = nullptr;  ///< passed on as written
  Pricing prices;                      ///< `pricing`, read; what a number without a fault says is within its limits
};

/// Reads the members of a request. All faults are added to the reader's issues.
RequestFields ReadRequestFields(const ObjectReader& request);

/// A member of `object` that a table of request_words.h has, under the last part of its path.
Field<Word> ReadWord(const ObjectReader& object, const words::WordField& field);
Field<std::int64_t> ReadCount(const ObjectReader& object, const words::NumberField& field);
Field<double> ReadNumber(const ObjectReader& object, const words::NumberField& field);
/// A list of known words, each once.
Field<std::vector<Word>> ReadWords(const ObjectReader& object, const words::WordField& field);

/// The words of `pricing.currency` and `pricing.term`, in the order of their kinds.
std::vector<Word> CurrencyWords();
std::vector<Word> RentalTermWords();

/// Reads `pricing`: every number within core/cost's limits, which are over 0 for whatever something is divided by.
void ReadPricing(const ObjectReader& request, RequestFields& fields);
/// Reads `plan`.
void ReadPlan(const ObjectReader& request, RequestFields& fields);
DatasetFields ReadDataset(const ObjectReader& request);
Dataset DatasetOf(const DatasetFields& fields);

/// Reads the `defaults` of a stack in the catalog: the same fields, except `method.target_modules`, which is by model
/// type and left to the catalog.
RequestFields ReadStackDefaults(const ObjectReader& defaults);

/// "YYYY-MM".
bool IsMonth(std::string_view text);
/// "2025".
bool IsYear(std::string_view text);

}  // namespace tunefit
