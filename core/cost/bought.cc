#include "core/cost/bought.h"

#include <algorithm>
#include <array>

#include "core/cost/rented.h"

namespace tunefit {
namespace {

using Rows = std::vector<const PurchasePrice*>;

/// Those that are believed most: the vendor's own where there are any, else those without doubt, else all. Used cards
/// are no price of new ones.
template <typename Fits>
Rows Believed(const std::vector<PurchasePrice>& prices, Fits fits) {
  std::array<Rows, 3> by_doubt;
  for (const PurchasePrice& price : prices) {
    if (price.kind == PurchaseKind::kUsed || !fits(price)) continue;
    const bool quoted = price.kind == PurchaseKind::kQuoted;
    by_doubt[quoted ? 0 : (price.provenance.low_confidence ? 2 : 1)].push_back(&price);
  }
  for (Rows& rows : by_doubt) {
    if (!rows.empty()) return std::move(rows);
  }
  return {};
}

/// From the lowest to the highest of several prices of one thing; the middle is expected.
Range SpanOf(const Rows& rows, Currency currency, double eur_per_usd) {
  Range span;
  for (const PurchasePrice* row : rows) {
    const double low = AmountIn(currency, {row->low, row->currency}, eur_per_usd);
    const double high = AmountIn(currency, {row->high, row->currency}, eur_per_usd);
    span.low = row == rows.front() ? low : std::min(span.low, low);
    span.high = row == rows.front() ? high : std::max(span.high, high);
  }
  span.expected = (span.low + span.high) / 2;
  return span;
}

/// GPUs in a machine: as many as the one that is named takes, or as the request puts in one. A run of fewer fills none.
std::int64_t GpusOfOne(const CostedRun& run) {
  const std::int64_t most = run.machine != nullptr ? run.machine->gpus_max : run.time.gpus_per_machine;
  return std::min(run.time.gpus_per_machine, most);
}

/// Looks for what the run has to buy.
class Shop {
 public:
  Shop(const CostedRun& run, const Prices& prices, Currency currency)
      : run_(run), prices_(prices), currency_(currency), rate_(prices.defaults.eur_per_usd.value.expected) {}

  /// The machine that is named, with these cards in it.
  std::optional<Purchase> Complete() const {
    const Machine& machine = *run_.machine;
    return Filled(Believed(prices_.machines, [&](const PurchasePrice& price) {
      return price.server == machine.id && price.gpu == run_.gpu->id && price.gpus > 0;
    }));
  }

  /// A machine of the market that the run's cards fill.
  std::optional<Purchase> OfTheMarket() const {
    return Filled(Believed(prices_.machines, [&](const PurchasePrice& price) {
      return price.server.empty() && price.gpu == run_.gpu->id && price.gpus > 0 && run_.time.gpus % price.gpus == 0;
    }));
  }

  /// The machine that is named without cards, and the cards.
  std::optional<Purchase> BareAndCards() const {
    const Machine& machine = *run_.machine;
    const Rows bare = Believed(prices_.machines, [&](const PurchasePrice& price) {
      return price.server == machine.id && price.kind == PurchaseKind::kBarebone;
    });
    std::optional<Purchase> purchase = Cards();
    if (bare.empty() || !purchase) return {};
    const std::int64_t machines = MachinesFor(run_.time.gpus, GpusOfOne(run_));
    purchase->price = purchase->price + SpanOf(bare, currency_, rate_) * static_cast<double>(machines);
    purchase->prices.insert(purchase->prices.begin(), bare.begin(), bare.end());
    purchase->machines = machines;
    purchase->is_of_machines = true;
    purchase->notes.Remove(CostNote::kHostNotIncluded);
    purchase->notes.Add(CostNote::kProcessorsNotIncluded);
    return purchase;
  }

  std::optional<Purchase> Cards() const {
    const Rows rows = Believed(prices_.cards, [&](const PurchasePrice& price) { return price.gpu == run_.gpu->id; });
    if (rows.empty()) return {};
    Purchase purchase;
    purchase.prices = rows;
    purchase.gpus = run_.time.gpus;
    purchase.price = SpanOf(rows, currency_, rate_) * static_cast<double>(run_.time.gpus);
    purchase.notes.Add(CostNote::kHostNotIncluded);
    return purchase;
  }

 private:
  /// Rows of machines with one number of cards: the smallest that holds the run, else the largest.
  std::optional<Purchase> Filled(Rows rows) const {
    if (rows.empty()) return {};
    std::int64_t largest = 0;
    std::int64_t holding = 0;
    for (const PurchasePrice* row : rows) {
      largest = std::max(largest, row->gpus);
      if (row->gpus >= run_.time.gpus && (holding == 0 || row->gpus < holding)) holding = row->gpus;
    }
    const std::int64_t gpus = holding > 0 ? holding : largest;
    rows.erase(std::remove_if(rows.begin(), rows.end(), [gpus](const PurchasePrice* row) { return row->gpus != gpus; }),
               rows.end());
    Purchase purchase;
    purchase.machines = MachinesFor(run_.time.gpus, gpus);
    purchase.gpus = purchase.machines * gpus;
    purchase.price = SpanOf(rows, currency_, rate_) * static_cast<double>(purchase.machines);
    purchase.prices = std::move(rows);
    purchase.is_of_machines = true;
    return purchase;
  }

  const CostedRun& run_;
  const Prices& prices_;
  Currency currency_;
  double rate_;
};

/// A price that the request gives. A machine that is bought whole comes with all of its GPUs, where one is named.
std::optional<Purchase> OwnPurchase(const CostedRun& run, const Pricing& pricing) {
  if (!pricing.purchase_price && !pricing.server_price) return {};
  Purchase purchase;
  purchase.is_of_machines = run.machine != nullptr || !pricing.purchase_price;
  if (purchase.is_of_machines) {
    purchase.machines = MachinesFor(run.time.gpus, GpusOfOne(run));
    if (run.machine != nullptr) purchase.gpus = purchase.machines * run.machine->gpus_max;
  }
  purchase.price = Exactly(pricing.purchase_price ? *pricing.purchase_price
                                                  : *pricing.server_price * static_cast<double>(purchase.machines));
  return purchase;
}

std::optional<Purchase> CatalogPurchase(const CostedRun& run, const Prices& prices, Currency currency) {
  const Shop shop(run, prices, currency);
  if (run.machine != nullptr) {
    if (auto complete = shop.Complete()) return complete;
    if (auto bare = shop.BareAndCards()) return bare;
  }
  if (auto market = shop.OfTheMarket()) return market;
  return shop.Cards();
}

HourOfWork operator*(const HourOfWork& hour, const Range& hours) {
  return {Times(hour.amortisation, hours), Times(hour.support, hours), Times(hour.rack, hours),
          Times(hour.electricity, hours)};
}

/// The request's own share, or of a machine the catalog's.
Range SupportShare(BoughtCost& cost, const CostDefaults& defaults, const Pricing& pricing) {
  if (pricing.support_share) return Exactly(*pricing.support_share);
  if (cost.purchase.is_of_machines) {
    cost.support_from = &defaults.support_share_per_year.provenance;
    return defaults.support_share_per_year.value;
  }
  cost.notes.Add(CostNote::kNoServiceContract);
  return {};
}

}  // namespace

std::optional<Purchase> PurchaseOf(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                   Currency currency) {
  std::optional<Purchase> purchase = OwnPurchase(run, pricing);
  if (!purchase) purchase = CatalogPurchase(run, prices, currency);
  if (!purchase) return {};
  if (purchase->machines > 1) purchase->notes.Add(CostNote::kSeveralMachines);
  if (purchase->gpus > run.time.gpus) purchase->notes.Add(CostNote::kGpusIdle);
  return purchase;
}

Range AmortisationPerHour(const Range& price, double residual_share, const Range& lifetime_years, double utilisation) {
  return Over(price * (1 - residual_share), lifetime_years * (kHoursPerYear * utilisation));
}

Range YearlyPerHour(const Range& per_year, double utilisation) {
  return per_year * (1 / (kHoursPerYear * utilisation));
}

std::optional<BoughtCost> BoughtCostOf(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                       Currency currency, const EnergyUse* energy) {
  std::optional<Purchase> purchase = PurchaseOf(run, prices, pricing, currency);
  if (!purchase) return {};
  BoughtCost cost;
  cost.purchase = std::move(*purchase);
  const Figure& lifetime = prices.defaults.lifetime_years;
  cost.lifetime_years = pricing.lifetime_years ? Exactly(*pricing.lifetime_years) : lifetime.value;
  if (!pricing.lifetime_years) cost.lifetime_from = &lifetime.provenance;
  cost.residual_share = pricing.residual_share.value_or(0);
  cost.utilisation = pricing.utilisation.value_or(1);
  if (!pricing.residual_share) cost.notes.Add(CostNote::kWrittenOffWhole);
  if (!pricing.utilisation) cost.notes.Add(CostNote::kAlwaysInUse);
  if (cost.utilisation < 1) cost.notes.Add(CostNote::kIdlePowerLeftOut);
  const Range& price = cost.purchase.price;
  cost.per_hour.amortisation = AmortisationPerHour(price, cost.residual_share, cost.lifetime_years, cost.utilisation);
  const Range support = SupportShare(cost, prices.defaults, pricing);
  cost.per_hour.support = YearlyPerHour(Times(price, support), cost.utilisation);
  const double rack_per_year = kMonthsPerYear * pricing.rack_per_month.value_or(0);
  cost.per_hour.rack = YearlyPerHour(Exactly(rack_per_year), cost.utilisation);
  const Range hours = HoursOf(run.time.seconds);
  if (energy != nullptr) cost.per_hour.electricity = energy->cost_per_hour();
  cost.of_run = cost.per_hour * hours;
  return cost;
}

}  // namespace tunefit
