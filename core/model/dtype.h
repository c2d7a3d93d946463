#pragma once

#include <cstdint>

namespace tunefit {

/// Element types of tensors. Those of less than a byte are packed, several elements to a byte or word; their scales are
/// tensors of their own.
enum class Dtype : std::uint8_t {
  kFp32,
  kBf16,
  kFp16,
  kFp8,
  kInt64,
  kInt32,
  kInt8,
  kUint8,
  kBool,
  kNf4,
  kFp4,
  kInt4,
  kInt3,
  kInt2
};

/// Bytes of one element; a fraction for the packed types.
constexpr double BytesPerElement(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt64:
      return 8;
    case Dtype::kFp32:
    case Dtype::kInt32:
      return 4;
    case Dtype::kBf16:
    case Dtype::kFp16:
      return 2;
    case Dtype::kFp8:
    case Dtype::kInt8:
    case Dtype::kUint8:
    case Dtype::kBool:
      return 1;
    case Dtype::kNf4:
    case Dtype::kFp4:
    case Dtype::kInt4:
      return 0.5;
    case Dtype::kInt3:
      return 0.375;
    case Dtype::kInt2:
      return 0.25;
  }
  return 0;
}

constexpr bool IsFloat(Dtype dtype) {
  return dtype == Dtype::kFp32 || dtype == Dtype::kBf16 || dtype == Dtype::kFp16 || dtype == Dtype::kFp8;
}

/// The name used in requests and reports: "bf16".
constexpr const char* DtypeName(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
      return "fp32";
    case Dtype::kBf16:
      return "bf16";
    case Dtype::kFp16:
      return "fp16";
    case Dtype::kFp8:
      return "fp8";
    case Dtype::kInt64:
      return "int64";
    case Dtype::kInt32:
      return "int32";
    case Dtype::kInt8:
      return "int8";
    case Dtype::kUint8:
      return "uint8";
    case Dtype::kBool:
      return "bool";
    case Dtype::kNf4:
      return "nf4";
    case Dtype::kFp4:
      return "fp4";
    case Dtype::kInt4:
      return "int4";
    case Dtype::kInt3:
      return "int3";
    case Dtype::kInt2:
      return "int2";
  }
  return "";
}

/// PyTorch's promotion of two floating types in one operation: the wider wins, bf16 with fp16 gives fp32.
constexpr Dtype Promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (!IsFloat(a)) return b;
  if (!IsFloat(b)) return a;
  return Dtype::kFp32;
}

}  // namespace tunefit
