#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/dtype.h"

namespace tunefit {

/// Dense operations of the matrix units a second, by what they multiply; 0 where there are none or nobody says.
struct MatrixRates {
  double fp32 = 0;
  double fp16 = 0;
  double bf16 = 0;
  double fp8 = 0;
};

/// How a card reaches its neighbours in the machine.
enum class LinkTopology : std::uint8_t {
  kNone,    ///< by way of the host
  kBridge,  ///< in groups as large as the bridge
  kSwitch,  ///< every other at full rate; `link_gpus` of them, in one machine or a rack
  kMesh,    ///< every other of the board by a link of its own
  kDirect,
};

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
  double board_power_watts = 0;    ///< the most that the card may draw
  std::vector<Dtype> dtypes;       ///< what its matrix units compute in
  MatrixRates peak;                ///< as printed
  MatrixRates measured;            ///< the best that somebody measured over matrices of any size
  MatrixRates kin_share;           ///< GPU-2: of the printed rates, where nobody measured this card; 0 without kin
  double memory_bytes_per_second = 0;
  LinkTopology link = LinkTopology::kNone;
  std::int64_t link_gpus = 0;
  double link_bytes_per_second = 0;  ///< one way
  double host_bytes_per_second = 0;  ///< one way, between card and host
  std::vector<std::string> source_ids;
};

/// The first number of the CUDA compute capability; 0 where there is none, or none is known.
int CapabilityMajor(const Gpu& gpu);

/// What a card of NVIDIA's needs at the least to be programmed at all: the toolkit that first had its generation, and
/// the Linux driver that came with it (CUDA Toolkit Release Notes, "CUDA Toolkit and Corresponding Driver Versions").
/// Null for other vendors' cards, and where no compute capability is known.
struct CudaFloor {
  const char* capability;
  const char* toolkit;
  const char* driver;
};
const CudaFloor* CudaFloorOf(const Gpu& gpu);

/// Its matrix units compute in that type.
bool ComputesIn(const Gpu& gpu, Dtype dtype);

/// flash-attn's kernels need NVIDIA's Ampere, or AMD's port of them (Dao-AILab/flash-attention, README). What is not
/// known to be older runs them.
bool RunsFlashAttention2(const Gpu& gpu);

/// How GPUs and machines of a job are joined, as far as somebody says; else the card's own words hold. One way.
struct Wiring {
  bool by_host = false;                         ///< GPUs reach each other by PCIe and the host, whatever link they have
  std::optional<double> link_bytes_per_second;  ///< between GPUs of a machine
  std::optional<double> network_bytes_per_second;  ///< between machines, a GPU's share
};

}  // namespace tunefit
