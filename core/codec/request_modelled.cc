#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

class Refuser {
 public:
  explicit Refuser(RequestReading& reading) : issues_(reading.issues) {}

  void Refuse(const char* field, std::string_view value, Severity severity = Severity::kError) {
    const std::string shown = Shortened(value);
    RefuseWith(field, shown, Join({field, " \"", shown, "\" is not modelled yet."}), severity);
  }
  void RefuseWith(const char* field, std::string_view shown, std::string_view message,
                  Severity severity = Severity::kError) {
    AddIssue(issues_, "not_modelled", field, message, {{"value", shown}}, severity);
  }
  /// The value must be one of those modelled.
  void Only(const char* field, Word value, std::span<const std::string_view> modelled) {
    for (const std::string_view word : modelled) {
      if (word == value) return;
    }
    Refuse(field, value);
  }
  void OnlyOne(const char* field, const Field<std::int64_t>& value) {
    if (value.value_or(1) != 1) Refuse(field, std::to_string(*value));
  }

 private:
  Issues& issues_;
};

/// The widths that the libraries pack, smallest first.
std::vector<std::int64_t> PackedBits(Word kind) {
  if (kind == "nf4" || kind == "fp4" || kind == "awq") return {4};
  if (kind == "gptq") return {2, 3, 4, 8};
  if (kind == "hqq") return {2, 4, 8};
  return {8};
}

void RefuseQuantization(Refuser& refuser, const QuantizationFields& fields) {
  if (!fields.kind) return;
  const std::vector<std::int64_t> packed = PackedBits(*fields.kind);
  if (fields.bits && std::find(packed.begin(), packed.end(), *fields.bits) == packed.end()) {
    refuser.Refuse("quantization.bits", std::to_string(*fields.bits));
  }
  // bitsandbytes' block: a constant of its kernels on NVIDIA cards.
  const bool bitsandbytes = *fields.kind == "nf4" || *fields.kind == "fp4";
  if (bitsandbytes && fields.group_size.value_or(64) != 64) {
    refuser.Refuse("quantization.group_size", std::to_string(*fields.group_size));
  }
}

/// PEFT has IA3 layers for torch.nn.Linear and bitsandbytes' two. Those over bitsandbytes return fp32, which only
/// autocast brings back to the other heads' dtype.
void RefuseIa3(Refuser& refuser, const RequestFields& request) {
  const Word kind = request.quantization.kind.value_or("none");
  if (kind == "none") return;
  if (kind != "nf4" && kind != "fp4" && kind != "int8") refuser.Refuse("quantization.kind", kind);
  if (!*request.precision.autocast) refuser.Refuse("precision.autocast", "false");
}

/// Virtual tokens are put before the tokens of a decoder's sequences, one sequence a row of the batch.
void RefusePromptTuning(Refuser& refuser, const RequestFields& request, const Architecture& architecture) {
  if (architecture.encoder != EncoderKind::kNone || architecture.encodes_source()) {
    refuser.Refuse("method.kind", "prompt_tuning");
  }
  if (*request.task != "sft" && *request.task != "pretrain") refuser.Refuse("task", *request.task);
  if (*request.batch.packing == "padding_free") refuser.Refuse("batch.packing", "padding_free");
  refuser.OnlyOne("parallel.context", request.parallel.context);
}

void RefuseMethod(Refuser& refuser, const RequestReading& reading) {
  const RequestFields& request = reading.completed;
  const Word kind = *request.method.kind;
  if (kind == "prefix_tuning") {
    refuser.RefuseWith("method.kind", kind,
                       "Prefix tuning, which learns keys and values of every layer, is not modelled yet; "
                       "prompt_tuning, which learns embeddings before the sequence, is.");
  }
  if (kind == "lora" && reading.stack->habits.model.joined_qkv != JoinedQkv::kNo) {
    // LitGPT has neither DoRA nor ranks of its own for a module.
    if (*request.method.dora) refuser.Refuse("method.dora", "true");
    if (request.method.rank_pattern != nullptr && !request.method.rank_pattern->members.empty()) {
      refuser.Refuse("method.rank_pattern", Shortened(request.method.rank_pattern->members.front().key));
    }
  }
  if (kind != "ia3" && kind != "prompt_tuning") return;
  const auto& stacks = words::modelled::kPeftStacks;
  if (std::find(stacks.begin(), stacks.end(), *request.stack) == stacks.end()) refuser.Refuse("method.kind", kind);
  if (kind == "ia3") {
    RefuseIa3(refuser, request);
  } else {
    RefusePromptTuning(refuser, request, reading.workload.architecture);
  }
}

/// Only sharded parameters are known to travel; FSDP moves them with the states or not at all, and to memory only.
void RefuseOffload(Refuser& refuser, const RequestFields& request) {
  const ParallelFields& fields = request.parallel;
  const Word strategy = *fields.strategy;
  const bool zero = strategy == "zero1" || strategy == "zero2" || strategy == "zero3";
  const bool fsdp = strategy == "fsdp" || strategy == "fsdp2";
  const Word to = fields.offload_parameters.value_or("none");
  const Word states_to = fields.offload_optimizer.value_or("none");
  const bool parameters = to != "none";
  const bool optimizer = states_to != "none";
  if (!parameters && !optimizer) return;
  // DeepSpeed moves parameters with the states or not at all, too; FSDP on one rank has no shards.
  const std::int64_t shards = *fields.gpus / (fields.tensor.value_or(1) * fields.pipeline.value_or(1));
  const bool moves_parameters = fsdp ? shards > 1 && to == "cpu" : strategy == "zero3" && optimizer;
  if (parameters && !moves_parameters) refuser.Refuse("parallel.offload.parameters", to);
  // Megatron's states on disk are nobody's code.
  const bool moves_states =
      (zero && !(states_to == "nvme" && *request.stack == "megatron")) || (fsdp && parameters && states_to == "cpu");
  if (optimizer && !moves_states) refuser.Refuse("parallel.offload.optimizer", states_to);
  if (request.optimizer_in_backward.value_or(false)) refuser.Refuse("parallel.offload", optimizer ? states_to : to);
}

/// Experts of their own ranks, all else by data: Megatron-LM's and torchtitan's way.
void RefuseExperts(Refuser& refuser, const RequestFields& request) {
  const std::int64_t tensor_ranks = request.parallel.tensor.value_or(1);
  const std::int64_t of_one = request.parallel.expert_tensor.value_or(tensor_ranks);
  const bool own_ranks = request.parallel.expert.value_or(1) > 1;
  if (of_one != tensor_ranks && (of_one != 1 || !own_ranks)) {
    refuser.Refuse("parallel.expert_tensor", std::to_string(of_one));
  }
  if (!own_ranks) return;
  const std::string ranks = std::to_string(*request.parallel.expert);
  const Word stack = *request.stack;
  const Word strategy = *request.parallel.strategy;
  const bool replicates = strategy == "none" || strategy == "ddp";
  const bool divides = (stack == "megatron" && strategy == "zero1") || (stack == "torchtitan" && strategy == "fsdp2");
  const bool has_experts = stack == "megatron" || stack == "torchtitan";
  if (!has_experts || !(replicates || divides) || request.quantization.kind) refuser.Refuse("parallel.expert", ranks);
  if (tensor_ranks > 1 && !request.parallel.sequence_parallel.value_or(true)) {
    refuser.Refuse("parallel.sequence_parallel", "false");  // Megatron-LM refuses it too
  }
}

/// Copies of the model that are divided each: FSDP on a mesh of two dimensions, DeepSpeed's MiCS in stage 3, instances
/// of Megatron's distributed optimizer. A copy on every rank is none of these.
void RefuseShard(Refuser& refuser, const RequestFields& request) {
  const ParallelFields& fields = request.parallel;
  const std::int64_t ranks = *fields.gpus / (fields.tensor.value_or(1) * fields.pipeline.value_or(1));
  if (!fields.shard || *fields.shard == ranks) return;
  const Word strategy = *fields.strategy;
  const bool of_deepspeed = (strategy == "zero1" && *request.stack != "megatron") || strategy == "zero2";
  const bool divides =
      of_deepspeed || strategy == "zero1" || strategy == "zero3" || strategy == "fsdp" || strategy == "fsdp2";
  const bool has_expert_ranks = fields.expert.value_or(1) > 1;  // copies of experts are not divided so yet
  if (of_deepspeed || has_expert_ranks || (divides && *fields.shard == 1)) {
    refuser.Refuse("parallel.shard", std::to_string(*fields.shard));
  }
  // MiCS's groups and hpZ's second shards both say which ranks gather from which.
  const std::int64_t second = fields.zero.zero_hpz_partition_size.value_or(1);
  if (strategy == "zero3" && second > 1) {
    refuser.Refuse("parallel.zero.zero_hpz_partition_size", std::to_string(second));
  }
}

void RefuseParallel(Refuser& refuser, const RequestFields& request) {
  const ParallelFields& fields = request.parallel;
  RefuseExperts(refuser, request);
  RefuseShard(refuser, request);
  RefuseOffload(refuser, request);
  // One process, whose cards share no matrix and no sequence.
  const std::int64_t ranks = fields.tensor.value_or(1) * fields.pipeline.value_or(1) * fields.context.value_or(1);
  if (*fields.strategy == "device_map" && ranks > 1) refuser.Refuse("parallel.strategy", "device_map");
}

bool HasExperts(const Architecture& architecture) {
  bool has = false;
  ForEachExperts(architecture, [&has](const Experts& /*experts*/) { has = true; });
  return has;
}

/// FP8 parameters are TransformerEngine's, whose products keep FP8 operands; trained ones need the distributed
/// optimizer (Megatron-LM, --fp8-param-gather). Grouped experts and Megatron's own FSDP have kernels of their own.
void RefuseFp8(Refuser& refuser, const RequestReading& reading) {
  const PrecisionFields& precision = reading.completed.precision;
  const Word strategy = *reading.completed.parallel.strategy;
  const bool keeps = reading.stack->habits.fp8_operands == Fp8Operands::kKept;
  const bool computes = *precision.compute == "fp8";
  const bool distributed = (strategy == "zero1" || strategy == "zero2") && *precision.master_weights;
  if (!keeps || !computes || !(distributed || *reading.completed.method.kind == "lora")) {
    refuser.Only("precision.weights", *precision.weights, words::modelled::kPrecision);
  }
  if (!computes) return;
  const bool too_early = *reading.completed.stack == "megatron" && !keeps;
  const bool shards = strategy == "fsdp" || strategy == "fsdp2" || strategy == "zero3";
  if (too_early || (keeps && (shards || HasExperts(reading.workload.architecture)))) {
    refuser.Refuse("precision.compute", "fp8");
  }
}

}  // namespace

void RefuseUnmodelled(RequestReading& reading, const HfConfig& config) {
  Refuser refuser(reading);
  const RequestFields& request = reading.completed;
  RefuseMethod(refuser, reading);
  // Beside an adapter, or under the last layers alone, the tower stays frozen.
  const bool has_tower = reading.workload.architecture.vision.has_value();
  if (has_tower && *request.method.kind != "full" && request.method.vision_tower == "trained") {
    refuser.Refuse("method.vision_tower", "trained");
  }
  RefuseQuantization(refuser, request.quantization);
  if (!config.other_quantization.empty() && !reading.names_quantization) {
    refuser.Refuse("model.config.quantization_config", config.other_quantization);
  }
  RefuseFp8(refuser, reading);
  refuser.Only("optimizer", *request.optimizer, words::modelled::kOptimizer);
  // Several forward passes of one compiled model are not traced yet.
  if (*request.compile && *request.task != "sft" && *request.task != "pretrain") refuser.Refuse("compile", "true");
  // Other stacks have no class for them, or one of their own.
  const bool own_classes = *request.stack != "transformers" && *request.stack != "deepspeed";
  const bool has_streams = reading.workload.architecture.streams.has_value();
  if ((reading.workload.architecture.encodes_source() || has_streams) && own_classes) {
    refuser.Refuse("stack", *request.stack);
  } else if (has_streams && !reading.stack->habits.model.lends_keys) {
    refuser.RefuseWith("stack_version", request.stack_version.value_or(""),
                       "Until transformers 5.7 (2026-05) layers that share keys and values made their own in training: "
                       "that is not modelled.");
  }
  RefuseParallel(refuser, request);
  // Other stacks' tensor ranks hold all tokens.
  const bool divides_tokens = *request.stack == "megatron" || *request.stack == "torchtitan";
  if (request.parallel.sequence_parallel.value_or(false) && request.parallel.tensor.value_or(1) > 1 &&
      !(divides_tokens && reading.workload.architecture.is_plain_decoder())) {
    refuser.Refuse("parallel.sequence_parallel", "true");
  }
  // Scores of a token against a whole sequence, of which a rank has a part: only fused kernels do that.
  if (request.parallel.context.value_or(1) > 1 && *request.attention == "eager") refuser.Refuse("attention", "eager");
}

}  // namespace tunefit
