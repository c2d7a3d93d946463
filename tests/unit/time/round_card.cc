#include "tests/unit/time/round_card.h"

namespace tunefit::test {

Gpu RoundCard() {
  Gpu gpu;
  gpu.architecture = "Ampere";
  gpu.compute_capability = "8.0";
  gpu.peak = {.fp32 = 1e11, .fp16 = 2e12, .bf16 = 2e12, .fp8 = 0};
  gpu.measured.bf16 = 1e12;
  gpu.memory_bytes_per_second = 1e9;
  gpu.link = LinkTopology::kSwitch;
  gpu.link_gpus = 8;
  gpu.link_bytes_per_second = 1e8;
  gpu.host_bytes_per_second = 1e7;
  return gpu;
}

Efficiencies Ideal() {
  Efficiencies efficiencies;
  efficiencies.constants.fill(1);
  for (const Constant zero : {Constant::kOperandShare, Constant::kKernelSeconds, Constant::kGatherSeconds,
                              Constant::kHiddenShare, Constant::kStepSeconds}) {
    efficiencies.constants[static_cast<std::size_t>(zero)] = 0;
  }
  efficiencies.architectures = {{"", 1, 1e6}};
  efficiencies.spreads.fill({0.1, 0.2});
  return efficiencies;
}

}  // namespace tunefit::test
