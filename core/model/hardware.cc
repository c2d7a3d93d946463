#include "core/model/hardware.h"

#include <algorithm>

namespace tunefit {

int CapabilityMajor(const Gpu& gpu) {
  int major = 0;
  for (const char c : gpu.compute_capability) {
    if (c == '.') return major;
    if (c < '0' || c > '9') return 0;  // AMD's names, "gfx942"
    major = 10 * major + (c - '0');
  }
  return 0;
}

bool ComputesIn(const Gpu& gpu, Dtype dtype) {
  return std::find(gpu.dtypes.begin(), gpu.dtypes.end(), dtype) != gpu.dtypes.end();
}

bool RunsFlashAttention2(const Gpu& gpu) {
  if (gpu.vendor == "AMD") return true;
  const int major = CapabilityMajor(gpu);
  return gpu.vendor == "NVIDIA" && (major == 0 || major >= 8);
}

}  // namespace tunefit
