#include "core/time/links.h"

#include <algorithm>

namespace tunefit {
namespace {

/// A switch that joins more is a rack's, and reaches beyond the machine.
constexpr std::int64_t kGpusOfABoard = 8;

/// Of a group's ranks, those in one domain.
std::int64_t LocalRanks(const Fabric& fabric, std::int64_t ranks, std::int64_t stride) {
  return std::clamp<std::int64_t>(fabric.domain_gpus / std::max<std::int64_t>(stride, 1), 1, ranks);
}

}  // namespace

Fabric FabricOf(const Gpu& gpu, const Parallel& parallel, const Wiring& wiring, double usual_network_bytes_per_second) {
  const std::int64_t in_machine = std::min(parallel.gpus, parallel.gpus_per_node);
  Fabric fabric{.domain_gpus = in_machine};
  fabric.link_bytes_per_second = wiring.link_bytes_per_second.value_or(gpu.link_bytes_per_second);
  fabric.network_bytes_per_second = wiring.network_bytes_per_second.value_or(usual_network_bytes_per_second);
  const bool has_link = gpu.link != LinkTopology::kNone && gpu.link_bytes_per_second > 0;
  const bool joins_all = gpu.link != LinkTopology::kBridge || in_machine <= gpu.link_gpus;
  if (wiring.by_host || !has_link || !joins_all) {
    const double host = gpu.host_bytes_per_second;
    fabric.link_bytes_per_second = wiring.by_host ? wiring.link_bytes_per_second.value_or(host) : host;
    fabric.by_host = true;
  } else if (gpu.link == LinkTopology::kSwitch && gpu.link_gpus > kGpusOfABoard) {
    fabric.domain_gpus = std::min(parallel.gpus, std::max(in_machine, gpu.link_gpus));
  }
  return fabric;
}

bool AreAlongside(const Gpu& gpu, const Parallel& parallel, const Fabric& fabric, std::int64_t others) {
  const bool in_rack = gpu.link == LinkTopology::kSwitch && gpu.link_gpus > kGpusOfABoard && !fabric.by_host;
  return parallel.gpus + others <= (in_rack ? std::max(parallel.gpus_per_node, gpu.link_gpus) : parallel.gpus_per_node);
}

double RingBytesPerSecond(const Fabric& fabric, std::int64_t ranks, std::int64_t stride) {
  const std::int64_t local = LocalRanks(fabric, ranks, stride);
  if (local >= ranks) return fabric.link_bytes_per_second;
  return std::min(fabric.link_bytes_per_second, static_cast<double>(local) * fabric.network_bytes_per_second);
}

double ExchangeBytesPerSecond(const Fabric& fabric, std::int64_t ranks, std::int64_t stride) {
  const std::int64_t local = LocalRanks(fabric, ranks, stride);
  if (local >= ranks) return fabric.link_bytes_per_second;
  const double leaving = static_cast<double>(ranks - local) / static_cast<double>(ranks - 1);
  return std::min(fabric.link_bytes_per_second, fabric.network_bytes_per_second / leaving);
}

}  // namespace tunefit
