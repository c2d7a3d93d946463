#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/catalog.h"
#include "core/cost/run_time.h"
#include "core/model/issue.h"

namespace tunefit {

/// A machine that takes GPUs, bought or rented.
struct CatalogServer {
  std::string id, name;
  bool is_sold = false;                       ///< and not an instance of somebody's cloud
  bool has_maker = false;                     ///< and is no machine of its kind in general
  std::vector<std::string> gpus;              ///< ids of the GPUs that a source names for it
  std::vector<std::string> gpus_unconfirmed;  ///< ids of those of the same form that nobody confirmed
  std::int64_t gpus_max = 0;
  bool joins_by_host = false;           ///< its GPUs reach each other by PCIe, whatever link they have
  double network_bytes_per_second = 0;  ///< one way, of all ports for other machines; 0 where nobody says
  double power_watts = 0;               ///< of the whole machine under load, for planning; 0 where nobody says
  double memory_bytes = 0;              ///< of the host, at most; 0 where nobody says
  std::string form, cooling;            ///< "rack", "tower" ...; "air", "liquid" ...; empty where nobody says
  std::int64_t height_units = 0;        ///< in a rack; 0 where nobody says
};

/// How a stack is told a change of core/plan.
struct StackSwitch {
  std::string stack, change;
  std::vector<std::string> source_ids;
  std::string setting;  ///< `{batch.per_device}` stands for the new value of that field; empty: it has none
};

/// The second part of the catalog, as far as the core uses it. The vendor's words are checked and left to the page.
struct Market {
  std::vector<CatalogServer> servers;
  Prices prices;
  std::vector<StackSwitch> switches;

  /// By id, without regard to case. Null when there is none.
  const CatalogServer* FindServer(std::string_view id) const;
  /// Null where the catalog says nothing of it.
  const StackSwitch* FindSwitch(std::string_view stack, std::string_view change) const;
};

/// What core/cost asks of a machine; its host's power follows from that of the hottest card that a source names for it.
Machine MachineOf(const CatalogServer& server, const Catalog& catalog);

/// Reads the second bundle, `{"meta", "servers", "prices", "switches", "vendor"}`, whose GPUs and sources are those of
/// the first. All faults are added to `issues`, with the dotted path in the bundle as their field; rules over several
/// values are looked at in lists without other faults. The answer is only to be used when there are none.
Market ReadMarket(std::string_view text, const Catalog& catalog, Issues& issues);

}  // namespace tunefit
