#include "core/model/hardware.h"

#include <algorithm>
#include <iterator>

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

const CudaFloor* CudaFloorOf(const Gpu& gpu) {
  static constexpr CudaFloor kFloors[] = {
      {"7.0", "9.0", "384.81"},   {"7.5", "10.0", "410.48"},  {"8.0", "11.0", "450.36"},  {"8.6", "11.1", "455.23"},
      {"8.9", "11.8", "520.61"},  {"9.0", "11.8", "520.61"},  {"10.0", "12.8", "570.26"}, {"10.3", "12.9", "575.51"},
      {"12.0", "12.8", "570.26"}, {"12.1", "12.9", "575.51"},
  };
  if (gpu.vendor != "NVIDIA") return nullptr;
  const auto found = std::find_if(std::begin(kFloors), std::end(kFloors),
                                  [&](const CudaFloor& floor) { return gpu.compute_capability == floor.capability; });
  return found == std::end(kFloors) ? nullptr : found;
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
