#include <algorithm>

#include "core/codec/request_names.h"
#include "core/codec/request_steps.h"
#include "core/codec/words.h"

// The card and the machine that a request names, and how cards and machines reach each other.

namespace tunefit {
namespace {

/// Says that the catalog has no such row, and which of its ids was meant.
template <typename Rows, typename IdOf>
void UnknownId(RequestReading& reading, std::string_view code, std::string_view field, std::string_view kind,
               std::string_view written, const Rows& rows, IdOf id_of) {
  std::vector<std::string_view> known;
  for (const auto& row : rows) known.push_back(id_of(row));
  UnknownName(reading, code, field, kind, written, MeantName(written, known));
}

void FindGpu(RequestReading& reading, const Catalog& catalog) {
  const Field<Word>& id = reading.completed.gpu;
  if (!id) return;
  reading.gpu = catalog.FindGpu(*id);
  if (reading.gpu != nullptr) return;
  UnknownId(reading, "unknown_gpu", "hardware.gpu", "GPU with the id", *id, catalog.gpus,
            [](const CatalogGpu& row) -> std::string_view { return row.gpu.id; });
}

/// Null with an issue where there is no such server, and without one where the request names none.
const CatalogServer* FindServer(RequestReading& reading, const Market* market) {
  const Field<Word>& id = reading.completed.server;
  if (!id) return nullptr;
  if (market == nullptr) {
    AddIssue(reading.issues, "not_initialised", "hardware.server",
             "The catalog's servers have not been read yet: call init_market before a request that names one.", {});
    return nullptr;
  }
  const CatalogServer* server = market->FindServer(*id);
  if (server != nullptr) return server;
  UnknownId(reading, "unknown_server", "hardware.server", "server with the id", *id, market->servers,
            [](const CatalogServer& row) -> std::string_view { return row.id; });
  return nullptr;
}

/// A run of several GPUs fills one server after another, unless the request says how many each holds: no more than it
/// takes.
void FillServer(RequestReading& reading, const CatalogServer& server) {
  Field<std::int64_t>& per_node = reading.completed.parallel.gpus_per_node;
  const std::int64_t gpus = reading.completed.parallel.gpus.value_or(1);
  const std::string high = std::to_string(server.gpus_max);
  if (!per_node && gpus > 1) {
    per_node = server.gpus_max;
    reading.assumptions.push_back({.field = "parallel.gpus_per_node", .value = high, .reason = "server_holds"});
  }
  const std::int64_t held = std::min(gpus, per_node.value_or(1));
  if (held <= server.gpus_max) return;
  const std::string value = std::to_string(held);
  AddIssue(reading.issues, "too_many_gpus_in_server", "parallel.gpus_per_node",
           Join({"The ", server.name, " takes ", high, server.gpus_max == 1 ? " GPU" : " GPUs", " at most, not ", value,
                 "."}),
           {{"value", value}, {"high", high}, {"server", server.name}});
}

/// The server takes the GPU, and as many of them as the request says one holds.
void CheckServer(RequestReading& reading, const CatalogServer& server) {
  if (reading.gpu != nullptr) {
    const Gpu& gpu = *reading.gpu;
    const auto has = [&](const std::vector<std::string>& ids) {
      return std::find(ids.begin(), ids.end(), gpu.id) != ids.end();
    };
    const bool unconfirmed = has(server.gpus_unconfirmed);
    if (unconfirmed) {
      AddIssue(reading.issues, "gpu_unconfirmed_in_server", "hardware.server",
               Join({"No source confirms that the ", server.name, " takes the ", gpu.name, "."}),
               {{"value", gpu.name}, {"server", server.name}}, Severity::kWarning);
    } else if (!has(server.gpus)) {
      AddIssue(reading.issues, "gpu_not_in_server", "hardware.server",
               Join({"The ", server.name, " does not take the ", gpu.name, "; choose another server or another card."}),
               {{"value", gpu.name}, {"server", server.name}});
    }
  }
  FillServer(reading, server);
}

/// Null with an issue where there is no such link, and without one where the request names none.
const CatalogInterconnect* FindInterconnect(RequestReading& reading, const Catalog& catalog) {
  const Field<Word>& id = reading.completed.interconnect;
  if (!id) return nullptr;
  const CatalogInterconnect* link = catalog.FindInterconnect(*id);
  if (link == nullptr) {
    UnknownId(reading, "unknown_interconnect", "hardware.interconnect", "link between GPUs or machines with the id",
              *id, catalog.interconnects, [](const CatalogInterconnect& row) -> std::string_view { return row.id; });
    return nullptr;
  }
  const bool has_it = reading.gpu == nullptr || link->gpus.empty() ||
                      std::find(link->gpus.begin(), link->gpus.end(), reading.gpu->id) != link->gpus.end();
  if (has_it) return link;
  AddIssue(reading.issues, "gpu_without_interconnect", "hardware.interconnect",
           Join({"The ", reading.gpu->name, " has no ", link->name, "; choose another link or another card."}),
           {{"value", reading.gpu->name}, {"interconnect", link->name}});
  return nullptr;
}

/// What the server says, and before it what the request says.
Wiring WiringOf(const RequestReading& reading, const CatalogInterconnect* link) {
  Wiring wiring;
  const CatalogServer* server = reading.server;
  const std::int64_t in_machine = reading.completed.parallel.gpus_per_node.value_or(Parallel{}.gpus_per_node);
  if (server != nullptr) {
    wiring.by_host = server->joins_by_host;
    if (server->network_bytes_per_second > 0) {
      wiring.network_bytes_per_second = server->network_bytes_per_second / static_cast<double>(server->gpus_max);
    }
  }
  if (link == nullptr) return wiring;
  switch (link->joins) {
    case Joins::kGpusByHost:
      wiring.by_host = true;
      wiring.link_bytes_per_second = link->bytes_per_second;
      break;
    case Joins::kGpus:
      wiring.by_host = false;
      wiring.link_bytes_per_second = link->bytes_per_second;
      break;
    case Joins::kMachinesByGpu:
      wiring.network_bytes_per_second = link->bytes_per_second;
      break;
    case Joins::kMachines:
      wiring.network_bytes_per_second = link->bytes_per_second / static_cast<double>(in_machine);
      break;
  }
  return wiring;
}

}  // namespace

void FindHardware(RequestReading& reading, const Catalog& catalog, const Market* market) {
  FindGpu(reading, catalog);
  reading.server = FindServer(reading, market);
  if (reading.server != nullptr) CheckServer(reading, *reading.server);
  reading.wiring = WiringOf(reading, FindInterconnect(reading, catalog));
}

}  // namespace tunefit
