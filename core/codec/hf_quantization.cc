#include "core/codec/hf_quantization.h"

#include <string_view>

#include "core/codec/request_recipe.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// GPTQConfig and AwqConfig name them at the top, HqqConfig two objects deeper. A group size of -1 is a whole column.
void ReadGroups(const ObjectReader& stored, Quantization& quantization) {
  quantization.group_size = UsualGroupSize(quantization.kind);
  if (!HasGroups(quantization.kind)) return;
  const ObjectReader inner(stored, "quant_config");
  const ObjectReader weights(inner, "weight_quant_params");
  const bool hqq = quantization.kind == QuantizationKind::kHqq;
  const ObjectReader& groups = hqq ? weights : stored;
  const auto bits = groups.Count(hqq ? "nbits" : "bits", words::kBits.low, words::kBits.high);
  quantization.bits = bits.value_or(quantization.bits);
  const auto size = groups.Count("group_size", -1, words::kGroupSize.high);
  if (size) quantization.group_size = *size > 0 ? *size : words::kGroupSize.high;
}

}  // namespace

void ReadStoredQuantization(const ObjectReader& config, HfConfig& result) {
  const ObjectReader stored(config, "quantization_config");
  if (!stored.present()) return;
  const std::string_view method = stored.Text("quant_method").value_or("");
  Quantization quantization;
  if (stored.Flag("load_in_4bit").value_or(false)) {
    static constexpr std::string_view kTypes[] = {"nf4", "fp4"};
    const std::size_t type = stored.Choice("bnb_4bit_quant_type", kTypes).value_or(1);  // BitsAndBytesConfig: fp4
    quantization.kind = type == 0 ? QuantizationKind::kNf4 : QuantizationKind::kFp4;
    quantization.double_quant = stored.Flag("bnb_4bit_use_double_quant").value_or(false);
  } else if (stored.Flag("load_in_8bit").value_or(false)) {
    quantization.kind = QuantizationKind::kInt8;
    quantization.double_quant = false;
  } else if (method == "gptq" || method == "awq" || method == "hqq" || method == "fp8") {
    quantization.kind = ReadQuantizationKind(method);
    quantization.double_quant = false;
    ReadGroups(stored, quantization);
  } else {
    result.other_quantization = method.empty() ? "unknown" : Shortened(method);
    return;
  }
  result.quantization = quantization;
}

}  // namespace tunefit
