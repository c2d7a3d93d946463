#include "core/codec/market.h"

#include <algorithm>
#include <string>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"
#include "core/codec/words.h"
#include "core/cost/energy.h"

namespace tunefit {
namespace {

/// What rows of the bundle may name.
KnownNames NamesOf(const ObjectReader& bundle, const Catalog& catalog) {
  std::vector<std::string_view> gpus;
  std::vector<std::string_view> sources;
  for (const CatalogGpu& row : catalog.gpus) gpus.push_back(row.gpu.id);
  for (const CatalogSource& source : catalog.sources) sources.push_back(source.id);
  const JsonValue* prices = bundle.Find("prices");
  KnownNames names;
  names.Set(Table::kGpus, std::move(gpus));
  names.Set(Table::kSources, std::move(sources));
  names.Set(Table::kServers, TextsIn(bundle.Find("servers"), "id"));
  const auto providers_of = [prices](std::string_view list) {
    return TextsIn(prices == nullptr ? nullptr : prices->Find(list), "provider");
  };
  std::vector<std::string_view> providers = providers_of("rented");
  for (const std::string_view name : providers_of("services")) providers.push_back(name);
  names.Set(Table::kProviders, std::move(providers));
  return names;
}

}  // namespace

const CatalogServer* Market::FindServer(std::string_view id) const {
  const std::string lower = LowerCase(id);
  for (const CatalogServer& server : servers) {
    if (server.id == lower) return &server;
  }
  return nullptr;
}

const StackSwitch* Market::FindSwitch(std::string_view stack, std::string_view change) const {
  for (const StackSwitch& row : switches) {
    if (row.stack == stack && row.change == change) return &row;
  }
  return nullptr;
}

Machine MachineOf(const CatalogServer& server, const Catalog& catalog) {
  double hottest_card_watts = 0;
  for (const std::string& id : server.gpus) {
    const Gpu* gpu = catalog.FindGpu(id);
    if (gpu != nullptr) hottest_card_watts = std::max(hottest_card_watts, gpu->board_power_watts);
  }
  return {server.id, server.gpus_max, HostWatts(server.power_watts, server.gpus_max, hottest_card_watts)};
}

Market ReadMarket(std::string_view text, const Catalog& catalog, Issues& issues) {
  static constexpr std::string_view kKnown[] = {"meta", "servers", "prices", "switches", "vendor"};
  Market market;
  JsonValue tree;
  if (!ReadBundle(text, tree, issues)) return market;
  const ObjectReader bundle(tree, "", NullRule::kRefused, issues);
  NeedParts(bundle, kKnown);
  const KnownNames names = NamesOf(bundle, catalog);
  const std::string date = ReadMeta(bundle, names);
  if (!date.empty() && date != catalog.date) {
    bundle.Fault("parts_differ", "meta.date", Join({"is not that of the first part, ", catalog.date}),
                 {{"value", date}, {"expected", catalog.date}});
  }
  ReadServers(bundle, names, market);
  CheckPrices(bundle, names, {catalog, market, date});
  ReadSwitches(bundle, names, market);
  CheckVendor(bundle, names, {catalog, market, date});
  if (issues.empty()) KeepPrices(bundle, market.prices);
  return market;
}

}  // namespace tunefit
