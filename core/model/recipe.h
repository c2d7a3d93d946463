#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/model/dtype.h"

// What a run trains, in which numbers, and with which optimizer.

namespace tunefit {

enum class MethodKind : std::uint8_t {
  kFull,
  kFreeze,  ///< the last layers train, all else is frozen
  kLora,
  kIa3,           ///< a learned vector scales what goes into or comes out of some matrices
  kPromptTuning,  ///< learned embeddings stand before those of every sequence
  kFrozen,        ///< nothing trains: a reference or reward model beside the trained one; no request says it
};

/// PEFT's methods: the model is frozen, what trains is added to it.
constexpr bool AddsToFrozenModel(MethodKind kind) {
  return kind == MethodKind::kLora || kind == MethodKind::kIa3 || kind == MethodKind::kPromptTuning;
}
/// They stand at matrices of the layers.
constexpr bool AdaptsModules(MethodKind kind) { return kind == MethodKind::kLora || kind == MethodKind::kIa3; }

struct Method {
  MethodKind kind = MethodKind::kFull;
  std::int64_t rank = 16;
  std::vector<std::pair<std::string, std::int64_t>> rank_pattern = {};  ///< modules whose rank is another one
  bool all_linear = true;                   ///< every matrix of the layers, not the output head
  std::vector<std::string> target_modules;  ///< module names, when not all_linear
  /// kIa3: those among all modules whose input is scaled; of the others the output is.
  std::vector<std::string> feedforward_modules = {};
  std::int64_t virtual_tokens = 0;  ///< kPromptTuning: learned embeddings of a sequence; else 0
  bool adapts_embedding = false;    ///< kLora: the token table has an adapter too
  bool adapts_head = false;         ///< and the output head
  bool saves_embedding = false;     ///< modules_to_save holds the embedding: a copy trains
  bool saves_head = false;          ///< the same for the output head
  double dropout = 0;
  Dtype adapter_dtype = Dtype::kFp32;
  std::optional<Dtype> saved_dtype = {};  ///< of the copies that modules_to_save trains; as their originals without
  bool dora = false;                      ///< the update's direction and size apart: a magnitude a row
  std::int64_t trainable_layers = 2;      ///< kFreeze: how many, from the last
  bool trains_vision_tower = false;       ///< kFull: its parameters require gradients
};

/// Of the adapter on the module of that name ("embed_tokens" and "lm_head" for table and head).
std::int64_t AdapterRank(const Method& method, const char* module);

/// In what the matrices of a frozen base are stored.
enum class QuantizationKind : std::uint8_t {
  kNone,
  kNf4,   ///< bitsandbytes, four bits a weight
  kFp4,   ///< the same with another code
  kInt8,  ///< LLM.int8
  kGptq,  ///< AutoGPTQ, GPTQModel: packed in int32, a zero point and an fp16 scale a group of a column
  kAwq,   ///< AutoAWQ: the same without an order of columns
  kHqq,   ///< HQQ: packed in bytes, zero point and scale in the compute dtype
  kFp8,   ///< a byte a weight, an fp32 scale a block of 128 x 128 (DeepSeek-V3's format)
};

/// What is upcast after a quantized model is loaded.
enum class PrepareKbit : std::uint8_t {
  kNone,  ///< as loaded
  kPeft,  ///< every unquantized float becomes fp32
  kTrl,   ///< norms fp32, embeddings and head in the compute dtype
};

struct Quantization {
  QuantizationKind kind = QuantizationKind::kNone;
  bool double_quant = true;
  PrepareKbit prepare = PrepareKbit::kPeft;
  std::int64_t bits = 4;          ///< a weight: of GPTQ, AWQ and HQQ; the other kinds say it themselves
  std::int64_t group_size = 128;  ///< weights of a column that share a scale, of the same three
};

struct Precision {
  Dtype weights = Dtype::kBf16;
  Dtype compute = Dtype::kBf16;
  bool autocast = true;                        ///< the forward pass runs under torch.autocast(compute)
  bool master_weights = false;                 ///< 16-bit weights train through an fp32 copy that the optimizer keeps
  std::optional<Dtype> optimizer_states = {};  ///< of the moments; without it what the optimizer takes by itself
  bool fp8_products = false;                   ///< the layers' matrix products read their operands cast to FP8
  bool fp8_transposes = true;  ///< before Blackwell products of FP8 need the transpose of what a gradient reads
  bool fp8_weights = false;    ///< the layers' matrices are FP8 themselves (TransformerEngine's fp8_model_init)
};

/// An update rule as its library writes it; core/trace/optimizer_rule.h says what each keeps.
enum class Optimizer : std::uint8_t {
  kAdamwForeach,  ///< adamw_torch: one transient copy of the trained parameters
  kAdamwFused,    ///< adamw_torch_fused: no transient
  kAdamwLoop,     ///< adamw_hf: one parameter after the other
  kAdamwAnyPrecision,
  kAdamwTorchao8bit,
  kAdamwTorchao4bit,
  kAdamw8bit,  ///< adamw_bnb_8bit: blockwise 8-bit states
  kPagedAdamw32bit,
  kPagedAdamw8bit,
  kAdemamix,
  kAdemamix8bit,
  kPagedAdemamix32bit,
  kPagedAdemamix8bit,
  kLion32bit,
  kLion8bit,
  kPagedLion32bit,
  kPagedLion8bit,
  kRmspropBnb32bit,
  kRmspropBnb8bit,
  kAdafactor,
  kSgd,
  kAdagrad,
  kRmsprop,
  kGaloreAdamw,
  kGaloreAdamw8bit,
  kGaloreAdafactor,
  kApolloAdamw,
  kMuon,
  kAdamMini,
  kLomo,
  kAdalomo,
  kGrokadamw,
  kScheduleFreeAdamw,
  kScheduleFreeSgd,
  kStableAdamw,
};

}  // namespace tunefit
