#pragma once

#include <cstdint>
#include <optional>

#include "core/model/workload.h"
#include "core/trace/quantized.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// What is declared once for a whole kind of layer: how many of it the model has, and where its path starts.
struct Place {
  std::int64_t count = 1;  ///< how many modules of the model this one stands for
  bool in_layer = false;
};

/// A low-rank adapter beside a matrix.
struct Adapter {
  Value down, up;  ///< PEFT's lora_A and lora_B
  double rank = 0;
  double dropout = 0;
  Dtype dtype = Dtype::kFp32;
  bool casts_input = true;
  bool fused = false;            ///< one kernel with its matrix
  std::int64_t parts = 0;        ///< of a joined matrix that are adapted, each with rows of `down`; 0: no such matrix
  double reached = 0;            ///< then: outputs of those parts together
  bool joins_parts = false;      ///< then: they are of unlike widths, made apart and joined
  Value magnitude;               ///< DoRA's, one number a row of the matrix; empty for plain LoRA
  bool dora_reuses_base = true;  ///< DoRA scales the product that is there instead of making it again
};

/// IA3's vector, which multiplies a matrix's product or what it reads.
struct Rescaling {
  Value vector;
  bool of_input = false;
};

/// torch.nn.Linear, or what PEFT and bitsandbytes put in its place. Substitution happens here, once, as the libraries
/// do it to a model after it is built; the layers that call it never ask.
struct LinearModule {
  LinearShape shape;
  const char* path = "";
  Value weight, bias;  ///< no weight where the matrix is quantized
  QuantizedProduct quantized = QuantizedProduct::kNone;
  Dequantization dequantization;
  Dtype compute = Dtype::kBf16;
  bool fp8 = false;  ///< multiplies in FP8
  Fp8Operands fp8_operands = Fp8Operands::kCast;
  bool fp8_transposes = false;
  std::optional<Adapter> adapter;
  std::optional<Rescaling> rescaling;

  bool KeepsFp8() const { return fp8 && fp8_operands == Fp8Operands::kKept; }
};

/// The matrices of all experts of a layer, each kind in one parameter of `count` x rows x columns.
struct ExpertStack {
  std::int64_t count = 0;
  Value gate_up, down;  ///< gate and up in one; up alone where the experts have no gate
  Value gate_up_bias, down_bias;
  std::optional<Adapter> gate_up_adapter, down_adapter;  ///< those of all experts, stacked like their matrices
};

struct NormModule {
  NormKind kind = NormKind::kRmsNorm;
  bool fused = false;  ///< run by one kernel
  bool writes_fp8 = false;
  const char* path = "";
  Value weight, bias;  ///< empty where the kind has none
};

/// Declares the model's modules for a workload: which weights exist, in which dtype, frozen or trained, quantized or
/// adapted. Everything PEFT, bitsandbytes and prepare_model_for_kbit_training do to a freshly built model.
class ModuleFactory {
 public:
  ModuleFactory(Tracer& tracer, const Workload& workload) : tracer_(tracer), workload_(workload) {}

  /// Matrices are packed here.
  bool Quantized() const {
    return in_tower_ ? PacksTower(workload_.quantization.kind) : workload_.quantization.kind != QuantizationKind::kNone;
  }
  /// What the model's weights and buffers are loaded in.
  Dtype WeightsDtype() const { return workload_.precision.weights; }
  /// What a table of embeddings is in, once the model is prepared.
  Dtype TableDtype() const { return UnquantizedDtype(false); }
  /// Of the modules that follow, where only some layers train.
  void InTrainedLayer(bool trains) { in_trained_layer_ = trains; }
  /// The modules that follow belong to the tower for images.
  void InTower(bool inside) { in_tower_ = inside; }
  LinearModule MakeLinear(const LinearShape& shape, const char* path, Term term, Place place);
  /// Queries, keys and values from one matrix, of which some parts are adapted (LitGPT's LoRAQKVLinear).
  LinearModule MakeJoinedLinear(const Attention& attention, Place place);
  /// A matrix that the library's class holds as a bare parameter: nothing is put in its place.
  LinearModule MakeParameterLinear(const LinearShape& shape, const char* path, Term term, Place place);
  /// Stacked experts: transformers' are no torch.nn.Linear, so neither adapters nor bitsandbytes find them.
  ExpertStack MakeExpertStack(const Experts& experts, const char* path, Place place);
  /// The matrices of a scorer that runs without gradients: they are there and never train.
  void MakeIndexer(const Indexer& indexer, Place place);
  /// One number an expert that the optimizer leaves alone.
  Value MakeFrozenVector(std::int64_t width, const char* path, const char* role, Dtype dtype, Place place);
  /// A learned bias for every bucket of distances and every head (T5).
  Value MakeRelativeTable(std::int64_t buckets, std::int64_t heads, Place place);
  /// A small parameter of its own: a scale, a scalar of an activation.
  Value MakeVector(const char* path, const char* role, std::int64_t width, Term term, Place place);
  NormModule MakeNorm(NormKind kind, const char* path, std::int64_t width, Place place);
  /// The token or position table. `saved` adds PEFT's trained copy, in the adapter's dtype, and keeps the
  /// original, frozen.
  Value MakeTable(std::int64_t rows, std::int64_t width, const char* path, bool saved);
  /// LoRA beside the token table.
  Adapter MakeTableAdapter(std::int64_t width);
  /// PEFT's prompt encoder: as many rows as there are virtual tokens.
  Value MakePrompt(std::int64_t width);
  /// A matrix of a task's own head, never quantized or adapted; PEFT trains a copy of it beside any adapter.
  LinearModule MakeHeadLinear(const LinearShape& shape, const char* path);
  /// The output head: `table` itself where it is tied; a classifier's where the architecture has labels.
  LinearModule MakeHead(const Value& table);

 private:
  bool Trained() const {
    if (in_tower_) return workload_.method.kind == MethodKind::kFull && workload_.method.trains_vision_tower;
    return workload_.method.kind == MethodKind::kFull ||
           (workload_.method.kind == MethodKind::kFreeze && in_trained_layer_);
  }
  /// peft utils/other.py, ModulesToSaveWrapper: a deep copy, in the dtype of its original unless told otherwise.
  Dtype SavedDtype() const { return workload_.method.saved_dtype.value_or(UnquantizedDtype(false)); }
  bool Adapted(const char* name) const;
  /// The weight of a matrix whose products keep FP8 operands, and its lasting copies in FP8.
  Value MakeFp8Weight(const LinearShape& shape, Dtype dtype, Place place);
  LinearModule MakeScore();
  LinearModule MakeMatrix(const LinearShape& shape, const char* path, Term term, Place place);
  Adapter MakeAdapter(const LinearShape& shape, Place place);
  struct Up {
    std::int64_t rank, out;
  };
  Adapter MakeLowRank(std::int64_t in, std::int64_t rows, Up up, Place place);
  /// `name`: of the matrix in each expert.
  Adapter MakeExpertAdapter(const char* name, std::int64_t experts, std::int64_t in, std::int64_t out, Place place);
  Rescaling MakeRescaling(const LinearShape& shape, Place place);
  Dtype UnquantizedDtype(bool is_norm) const;
  /// Of a matrix that stays out of quantization.
  Dtype WideDtype() const;

  bool in_trained_layer_ = false;
  bool in_tower_ = false;

  Tracer& tracer_;
  const Workload& workload_;
};

Value Forward(Tracer& tracer, const LinearModule& module, const Value& x);

/// `rows` is the number of vectors that are normalized: one statistic each.
Value Forward(Tracer& tracer, const NormModule& module, const Value& x, Size rows);

}  // namespace tunefit
