#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/model/hardware.h"

// The empirical part of time.

namespace tunefit {

/// The constants of core/time/step_time.h, one number each.
enum class Constant : std::uint8_t {
  kUnmeasuredShare,      ///< of the printed matrix rate, where nobody measured the best one
  kFp8Share,             ///< of a matrix share, of products in FP8 that TransformerEngine runs
  kCastFp8Share,         ///< the same, of torchao's
  kAttentionShare,       ///< of the matrix rate, of fused attention
  kOlderAttentionShare,  ///< the same, of kernels written for Ampere on Hopper and data-centre Blackwell
  kOperandShare,         ///< of the time that operands take to travel, what products do not hide
  kMemoryShare,          ///< of the memory's bandwidth
  kKernelSeconds,        ///< from one launch to the next, where the GPU waits for the host
  kGatherSeconds,        ///< of the host for each parameter that DeepSpeed's stage 3 gathers or scatters
  kLinkShare,            ///< of a link's bandwidth
  kHostLinkShare,        ///< of PCIe's, by way of the host
  kNetworkShare,         ///< of the network's
  kExposedShare,         ///< of the traffic of data ranks, what is waited for in any case
  kHiddenShare,          ///< of the compute time, what can hide the rest of it
  kStepSeconds,          ///< between steps
};
inline constexpr int kConstantCount = 15;

/// Names in catalog/efficiencies.json, in the order of Constant.
inline constexpr std::array<const char*, kConstantCount> kConstantNames = {
    "unmeasured_share", "fp8_share",     "cast_fp8_share", "attention_share", "older_attention_share",
    "operand_share",    "memory_share",  "kernel_seconds", "gather_seconds",  "link_share",
    "host_link_share",  "network_share", "exposed_share",  "hidden_share",    "step_seconds"};

/// How far measured runs lie around the estimate: shares of it.
struct Spread {
  double low = 0;   ///< as a share below
  double high = 0;  ///< and above
};

/// What bounds a run says how well its time is known.
enum class Bound : std::uint8_t {
  kCompute,  ///< most of its time is that of matrix products and attention
  kMemory,   ///< of other kernels
  kHost,     ///< launches
  kTraffic,  ///< a tenth or more of its time waits for other GPUs
};
inline constexpr int kBoundCount = 4;
inline constexpr std::array<const char*, kBoundCount> kBoundNames = {"compute", "memory", "host", "traffic"};

/// Fitted by `validate --fit-time` from named runs (catalog/efficiencies.json), never typed in by hand.
struct Efficiencies {
  std::array<double, kConstantCount> constants{};
  /// Of the best measured matrix rate, what products in a training step reach; the first is for any other architecture.
  struct Architecture {
    std::string name;
    double matmul_share = 1;
    double network_bytes_per_second = 0;  ///< a GPU's share of the network that its machines usually come with
  };
  std::vector<Architecture> architectures;
  std::array<Spread, kBoundCount> spreads{};

  double operator[](Constant constant) const { return constants[static_cast<std::size_t>(constant)]; }
  /// The row of the card's architecture, or the first. Blackwells without the data-centre ones' matrix instructions
  /// (compute capability 12) multiply as Ada does.
  const Architecture& Of(const Gpu& gpu) const;
};

}  // namespace tunefit
