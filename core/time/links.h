#pragma once

#include <cstdint>

#include "core/model/hardware.h"
#include "core/model/parallel.h"

// How fast the GPUs of a job reach each other.

namespace tunefit {

/// Bandwidths of a job's machines, one way, as printed: shares of them are achieved.
struct Fabric {
  double link_bytes_per_second = 0;     ///< between GPUs of one domain, per GPU
  bool by_host = false;                 ///< there is no link: by PCIe and the host
  std::int64_t domain_gpus = 1;         ///< GPUs that reach each other by the link
  double network_bytes_per_second = 0;  ///< between domains, per GPU
};

/// TIM-20  A card's own link where one joins the GPUs of a group, else PCIe by way of the host. A bridge joins
/// `link_gpus`; a switch, or links to each other, all of the machine, and a rack's switch more than one machine.
/// `wiring` stands before the card's own words, `usual_network_bytes_per_second`, a GPU's share of the network that
/// such machines usually come with, where the wiring has none.
Fabric FabricOf(const Gpu& gpu, const Parallel& parallel, const Wiring& wiring, double usual_network_bytes_per_second);

/// `others` GPUs more would be in the domain of a job that fills none but one.
bool AreAlongside(const Gpu& gpu, const Parallel& parallel, const Fabric& fabric, std::int64_t others);

/// TIM-21  Bytes per second at which every rank of a group sends and receives in a ring, where neighbours in the group
/// are `stride` GPUs apart: the link's within a domain; beyond it, as many rings as ranks of the group are in a domain
/// share its network, and none is faster than the link (NCCL, doc/: rings by NIC).
double RingBytesPerSecond(const Fabric& fabric, std::int64_t ranks, std::int64_t stride);

/// TIM-22  The same where every rank sends each other one a part (all-to-all): what leaves the domain waits for the
/// rank's own share of the network.
double ExchangeBytesPerSecond(const Fabric& fabric, std::int64_t ranks, std::int64_t stride);

}  // namespace tunefit
