#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/dtype.h"

namespace tunefit {

/// An accelerator as the catalog describes it, in base units. What nobody confirmed is zero or empty.
struct Gpu {
  std::string id;
  std::string name;
  std::string vendor;
  std::string architecture;  ///< "Hopper", "Ada" ...
  std::string segment;       ///< "consumer", "workstation", "desktop", "datacenter"
  std::string compute_capability;
  double memory_bytes = 0;         ///< as marketed
  double usable_bytes = 0;         ///< as nvidia-smi shows the card's total, ECC as shipped
  bool usable_is_derived = false;  ///< no source shows the card's total: taken from the smallest share seen elsewhere
  std::vector<Dtype> dtypes;       ///< what its matrix units compute in
  std::vector<std::string> source_ids;
};

/// The first number of the CUDA compute capability; 0 where there is none, or none is known.
int CapabilityMajor(const Gpu& gpu);

/// Its matrix units compute in that type.
bool ComputesIn(const Gpu& gpu, Dtype dtype);

/// flash-attn's kernels need NVIDIA's Ampere, or AMD's port of them (Dao-AILab/flash-attention, README). What is not
/// known to be older runs them.
bool RunsFlashAttention2(const Gpu& gpu);

}  // namespace tunefit
