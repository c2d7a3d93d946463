#include "core/cost/cost_report.h"

namespace tunefit {

std::optional<CostReport> EstimateCost(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                       Issues& issues) {
  Issues faults;
  Validate(pricing, faults);
  issues.insert(issues.end(), faults.begin(), faults.end());
  if (!faults.empty()) return {};
  CostReport report;
  report.currency = pricing.currency.value_or(prices.currency);
  report.eur_per_usd = &prices.defaults.eur_per_usd;
  report.notes.Add(CostNote::kWithoutVat);
  report.notes.Add(CostNote::kEgressLeftOut);
  report.rented = RentedLines(run, prices, pricing, report.currency, issues);
  report.reference = ReferenceLine(report.rented, pricing);
  report.token_services = TokenServiceLines(run, prices, report.currency);
  report.energy = EnergyOf(run, prices.defaults, pricing, report.currency);
  report.bought = BoughtCostOf(run, prices, pricing, report.currency, report.energy ? &*report.energy : nullptr);
  const RentedLine* rent = report.reference_line();
  if (report.bought && rent != nullptr) report.break_even = BreakEvenOf(*rent, *report.bought);
  if (report.bought && rent == nullptr) report.notes.Add(CostNote::kNoRentToCompare);
  Range compute;
  if (report.bought) compute = report.bought->of_run.total();
  if (rent != nullptr) compute = rent->cost;
  report.extras = ExtrasOf(pricing, compute);
  return report;
}

}  // namespace tunefit
