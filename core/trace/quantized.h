#pragma once

#include <cstdint>

#include "core/model/layer.h"
#include "core/model/workload.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// Declares the packed matrix of a frozen base with its scales, zero points and tables, `count` of them alike.
void AddQuantizedWeight(Tracer& tracer, const Workload& workload, const LinearShape& shape, std::int64_t count);

/// MEM-60  What the libraries put in torch.nn.Linear's place: how the packed matrix becomes a product. Chosen once,
/// when the module is built.
enum class QuantizedProduct : std::uint8_t {
  kNone,
  kBitsandbytes4bit,  ///< casts the input to the compute dtype and the product back
  kInt8,              ///< LLM.int8: multiplies in int8
  kGptqKernel,        ///< Triton's kernel writes the matrix out, for each use
  kGptqTorch,         ///< PyTorch's operations unpack the matrix; the product keeps it for backward
  kAwq,
  kHqq,
  kFp8,
};

QuantizedProduct ProductOf(const Workload& workload);

/// How the libraries of that time dequantize the matrix.
Dequantization DequantizationOf(const Workload& workload);

/// True where PEFT's layer over this base casts the adapter's input to the adapter's dtype.
bool AdapterCastsInput(const Workload& workload);

/// True where prepare_model_for_kbit_training upcasts the floats that are not quantized.
bool PreparesFloats(QuantizationKind kind);

/// True where a tower for images is packed with the rest: bitsandbytes and HQQ replace every torch.nn.Linear while a
/// model is loaded; published GPTQ, AWQ and FP8 checkpoints leave it out.
bool PacksTower(QuantizationKind kind);

/// The product of x with the packed matrix, `bias` added (may be empty).
Value QuantizedForward(Tracer& tracer, QuantizedProduct product, const Dequantization& how, Dtype compute,
                       const Value& x, const Value& bias, const LinearShape& shape);

}  // namespace tunefit
