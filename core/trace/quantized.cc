#include "core/trace/quantized.h"

#include <utility>

namespace tunefit {
namespace {

/// Elements that share one scale in bitsandbytes' 4-bit formats, and scales that share a second one.
/// Source: bitsandbytes functional.py, quantize_4bit: blocksize 64, nested blocksize 256.
constexpr std::int64_t kQuantBlock = 64;
constexpr std::int64_t kNestedBlock = 256;
/// Rows and columns of a block of weights with one scale in FP8 checkpoints (transformers FineGrainedFP8Config).
constexpr std::int64_t kFp8Block = 128;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Declares one packed matrix, part by part.
class Declarer {
 public:
  Declarer(Tracer& tracer, const Workload& workload, const LinearShape& shape, std::int64_t count)
      : tracer_(tracer),
        quantization_(workload.quantization),
        compute_(workload.precision.compute),
        shape_(shape),
        elements_(shape.in_features * shape.out_features),
        count_(count) {}

  void Declare() const {
    switch (quantization_.kind) {
      case QuantizationKind::kNone:
        break;
      case QuantizationKind::kNf4:
        return Bitsandbytes4bit(Dtype::kNf4);
      case QuantizationKind::kFp4:
        return Bitsandbytes4bit(Dtype::kFp4);
      case QuantizationKind::kInt8:
        return Int8();
      case QuantizationKind::kGptq:
        return Gptq();
      case QuantizationKind::kAwq:
        return Awq();
      case QuantizationKind::kHqq:
        return Hqq();
      case QuantizationKind::kFp8:
        return Fp8();
    }
  }

 private:
  void Add(std::int64_t elements, Dtype dtype, Term term, const char* role) const {
    tracer_.Weight(VectorShape(elements), dtype, term, role, false, count_);
  }
  void AddWeight(Dtype dtype) const { Add(elements_, dtype, Term::kWeights, "weight"); }
  void AddConstants(std::int64_t elements, Dtype dtype, const char* role) const {
    Add(elements, dtype, Term::kQuantization, role);
  }
  Dtype Packed() const {
    switch (quantization_.bits) {
      case 2:
        return Dtype::kInt2;
      case 3:
        return Dtype::kInt3;
      case 4:
        return Dtype::kInt4;
      default:
        return Dtype::kInt8;
    }
  }

  /// bitsandbytes Params4bit: absmax, with double quantization a byte each and a second scale, and code tables.
  void Bitsandbytes4bit(Dtype packed) const {
    Add(elements_ + elements_ % 2, packed, Term::kWeights, "weight");
    const std::int64_t blocks = CeilDivide(elements_, kQuantBlock);
    if (quantization_.double_quant) {
      AddConstants(blocks, Dtype::kUint8, "absmax");
      AddConstants(CeilDivide(blocks, kNestedBlock), Dtype::kFp32, "nested absmax");
      AddConstants(256, Dtype::kFp32, "nested code");
    } else {
      AddConstants(blocks, Dtype::kFp32, "absmax");
    }
    AddConstants(16, Dtype::kFp32, "code");
  }

  /// LLM.int8: a byte a weight and one fp32 scale a row (bitsandbytes Int8Params: CB, SCB).
  void Int8() const {
    AddWeight(Dtype::kInt8);
    AddConstants(shape_.out_features, Dtype::kFp32, "row scales");
  }

  /// AutoGPTQ qlinear_tritonv2.py, QuantLinear: qweight, and for each group of a column's weights a packed zero point
  /// (qzeros) and an fp16 scale; g_idx names the group of every row.
  void Gptq() const {
    Awq();
    AddConstants(shape_.in_features, Dtype::kInt32, "g_idx");
  }

  /// AutoAWQ modules/linear/gemm.py, WQLinear_GEMM: the same, rows in order.
  void Awq() const {
    AddWeight(Packed());
    const std::int64_t scales = CeilDivide(shape_.in_features, quantization_.group_size) * shape_.out_features;
    AddConstants(scales, Packed(), "qzeros");
    AddConstants(scales, Dtype::kFp16, "scales");
  }

  /// hqq core/quantize.py, Quantizer.quantize: W_q packed in bytes; zero and scale of each group in the compute dtype.
  void Hqq() const {
    AddWeight(Packed());
    const std::int64_t groups = CeilDivide(elements_, quantization_.group_size);
    AddConstants(groups, compute_, "scale");
    AddConstants(groups, compute_, "zero");
  }

  /// transformers integrations/finegrained_fp8.py, FP8Linear: weight and weight_scale_inv.
  void Fp8() const {
    AddWeight(Dtype::kFp8);
    const std::int64_t blocks = CeilDivide(shape_.out_features, kFp8Block) * CeilDivide(shape_.in_features, kFp8Block);
    AddConstants(blocks, Dtype::kFp32, "weight_scale_inv");
  }

  Tracer& tracer_;
  const Quantization& quantization_;
  const Dtype compute_;
  const LinearShape& shape_;
  const std::int64_t elements_;
  const std::int64_t count_;
};

/// One element through AutoGPTQ's unpacking: the shift reads half a byte and writes an int32, the cast reads that and
/// writes a byte, the mask reads and writes it. Then zeros are subtracted and scales multiplied over broadcast, where
/// PyTorch's kernels do not vectorize: every access moves a word of 4 bytes (aten/src/ATen/native/cuda/Loops.cuh).
constexpr double kUnpackBytesPerElement = 0.5 + 4 + 4 + 1 + 1 + 1 + 2 * 4 + 2 * 4;
constexpr double kUnpackKernels = 5;

/// AutoGPTQ's qlinear_cuda_old.py and GPTQModel's torch.py (TorchLinear, which its Triton layer falls back on when it
/// trains): the matrix is unpacked by shifts in int32, masked as bytes, and scaled; torch.matmul keeps it for backward.
Value GptqTorchForward(Tracer& tracer, Value x, const Value& bias, double in, double out) {
  const Size elements{in * out, Axis::kOnce};
  const Tracer::Scope outer = tracer.scope;
  tracer.scope.term = Term::kWorkspace;
  tracer.Launch(kUnpackKernels);
  tracer.Move(elements, kUnpackBytesPerElement);
  Value shifted = tracer.Empty(elements, Dtype::kInt32, "shifted weight");
  Value codes = tracer.Empty(elements, Dtype::kInt8, "codes");
  shifted.Drop();
  codes = tracer.Empty(elements, Dtype::kInt8, "codes");
  Value centred = tracer.Empty(elements, Dtype::kInt8, "codes less zeros");
  tracer.scope.term = Term::kAutocastCopies;
  Value matrix = tracer.Empty(elements, Dtype::kFp16, "dequantized weight");
  centred.Drop();
  codes.Drop();
  if (!tracer.autocast()) matrix = tracer.Cast(std::move(matrix), tracer.DtypeOf(x));
  tracer.scope = outer;
  Value product = tracer.Linear(std::move(x), matrix, Value(), in, out);
  if (!bias) return product;
  Value cast = tracer.Cast(bias, tracer.DtypeOf(product));
  return tracer.Add(std::move(product), std::move(cast));
}

}  // namespace

void AddQuantizedWeight(Tracer& tracer, const Workload& workload, const LinearShape& shape, std::int64_t count) {
  Declarer(tracer, workload, shape, count).Declare();
}

QuantizedProduct ProductOf(const Workload& workload) {
  switch (workload.quantization.kind) {
    case QuantizationKind::kNone:
      break;
    case QuantizationKind::kNf4:
    case QuantizationKind::kFp4:
      return QuantizedProduct::kBitsandbytes4bit;
    case QuantizationKind::kInt8:
      return QuantizedProduct::kInt8;
    case QuantizationKind::kGptq:
      return workload.habits.gptq_unpacks_in_torch ? QuantizedProduct::kGptqTorch : QuantizedProduct::kGptqKernel;
    case QuantizationKind::kAwq:
      return QuantizedProduct::kAwq;
    case QuantizationKind::kHqq:
      return QuantizedProduct::kHqq;
    case QuantizationKind::kFp8:
      return QuantizedProduct::kFp8;
  }
  return QuantizedProduct::kNone;
}

/// bitsandbytes functional.py, dequantize_4bit, and unsloth kernels/utils.py, fast_dequantize: scales that are packed
/// themselves are unpacked first, and moved by their mean.
constexpr std::uint8_t kKernelsOf4bit = 1;
constexpr std::uint8_t kKernelsOfDoubleQuant = 3;

Dequantization DequantizationOf(const Workload& workload) {
  switch (ProductOf(workload)) {
    case QuantizedProduct::kBitsandbytes4bit: {
      const bool through_fp16 = workload.habits.kbit_dequantizes_to_fp16 && workload.precision.compute != Dtype::kFp16;
      return {.keeps_input = workload.habits.kbit_keeps_input,
              .on_context = true,
              .as_input = workload.habits.kbit_computes_as_input,
              .copies = static_cast<std::uint8_t>(through_fp16 ? 2 : 1),
              .kernels = workload.quantization.double_quant ? kKernelsOfDoubleQuant : kKernelsOf4bit};
    }
    case QuantizedProduct::kAwq:
      // AutoAWQ WQLinearMMFunction, GPTQModel AwqGemmFn: the whole matrix above 1,024 tokens (fewer are not modelled
      // apart); backward multiplies by weights.repeat(batch_size, 1, 1).
      return {.keeps_input = true, .in_forward = true, .copies = 1, .repeats_batch = true};
    case QuantizedProduct::kHqq:
      // hqq HQQMatmulNoCacheMul saves x; Quantizer.dequantize holds the unpacked, the centred and the scaled matrix.
      return {.keeps_input = true, .in_forward = true, .copies = 3, .repeats_batch = false};
    case QuantizedProduct::kFp8:
      // unsloth kernels/fp8.py, FP8BlockQuantLinear: forward multiplies in FP8, backward writes the matrix out.
      return {.keeps_input = false, .in_forward = false, .copies = 1, .repeats_batch = false};
    default:
      break;
  }
  return {};
}

bool AdapterCastsInput(const Workload& workload) {
  // peft tuners/lora/awq.py and hqq.py cast the input only outside autocast; gptq.py too until 2025-06.
  const QuantizationKind kind = workload.quantization.kind;
  const bool only_without_autocast = kind == QuantizationKind::kAwq || kind == QuantizationKind::kHqq ||
                                     (kind == QuantizationKind::kGptq && !workload.habits.gptq_lora_casts_input);
  if (only_without_autocast && workload.precision.autocast) return false;
  return workload.habits.lora_casts_input;
}

bool PreparesFloats(QuantizationKind kind) {
  return kind == QuantizationKind::kNf4 || kind == QuantizationKind::kFp4 || kind == QuantizationKind::kInt8 ||
         kind == QuantizationKind::kFp8;
}

bool PacksTower(QuantizationKind kind) {
  return kind == QuantizationKind::kNf4 || kind == QuantizationKind::kFp4 || kind == QuantizationKind::kInt8 ||
         kind == QuantizationKind::kHqq;
}

Value QuantizedForward(Tracer& tracer, QuantizedProduct product, const Dequantization& how, Dtype compute,
                       const Value& x, const Value& bias, const LinearShape& shape) {
  const auto in = static_cast<double>(shape.in_features);
  const auto out = static_cast<double>(shape.out_features);
  switch (product) {
    case QuantizedProduct::kInt8:
      return tracer.Int8Linear(x, bias, in, out);
    case QuantizedProduct::kGptqTorch:
      return GptqTorchForward(tracer, x, bias, in, out);
    default:
      break;
  }
  const Dtype input = tracer.DtypeOf(x);
  Value result = tracer.DequantizedLinear(tracer.Cast(x, how.as_input ? input : compute), bias, in, out, how);
  return tracer.Cast(std::move(result), input);
}

}  // namespace tunefit
