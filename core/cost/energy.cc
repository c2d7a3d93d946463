#include "core/cost/energy.h"

#include <algorithm>

namespace tunefit {
namespace {

constexpr double kWattsPerKilowatt = 1000;
constexpr double kGramsPerKilogram = 1000;

/// The request's own number, or the catalog's figure and where it was read.
Range Chosen(const std::optional<double>& own, const Figure& figure, const Provenance*& from) {
  from = own ? nullptr : &figure.provenance;
  return own ? Exactly(*own) : figure.value;
}

}  // namespace

double HostWatts(double power_watts, std::int64_t gpus, double hottest_card_watts) {
  if (power_watts <= 0 || hottest_card_watts <= 0) return 0;
  return std::max(0.0, power_watts - static_cast<double>(gpus) * hottest_card_watts);
}

Range GpuWatts(double board_power_watts, std::int64_t gpus, double busy_share, const CostDefaults& defaults) {
  const Range share =
      defaults.working_power_share.value * busy_share + defaults.waiting_power_share.value * (1 - busy_share);
  return share * (static_cast<double>(gpus) * board_power_watts);
}

Range EnergyUse::cost_per_hour() const { return Times(Times(pue, price_per_kwh), watts()) * (1 / kWattsPerKilowatt); }

Range EnergyKwh(const Range& watts, const Range& seconds, const Range& pue) {
  return Times(Times(HoursOf(seconds), pue), watts) * (1 / kWattsPerKilowatt);
}

Range CarbonKg(const Range& kwh, const Range& g_co2_per_kwh) {
  return Times(kwh, g_co2_per_kwh) * (1 / kGramsPerKilogram);
}

std::optional<EnergyUse> EnergyOf(const CostedRun& run, const CostDefaults& defaults, const Pricing& pricing,
                                  Currency currency) {
  if (run.gpu->board_power_watts <= 0) return {};
  EnergyUse use;
  use.gpu_busy_share = run.time.gpu_busy_share;
  use.working_power_share = &defaults.working_power_share;
  use.waiting_power_share = &defaults.waiting_power_share;
  use.gpu_watts = GpuWatts(run.gpu->board_power_watts, run.time.gpus, run.time.gpu_busy_share, defaults);
  if (run.machine != nullptr) {
    const double machines = static_cast<double>(run.time.gpus) / static_cast<double>(run.machine->gpus_max);
    use.host_watts = defaults.working_power_share.value * (machines * run.machine->host_watts);
  }
  use.notes.Add(use.host_watts.expected > 0 ? CostNote::kHostPowerDerived : CostNote::kHostPowerUnknown);
  use.pue = Chosen(pricing.pue, defaults.pue, use.pue_from);
  use.kwh = EnergyKwh(use.watts(), run.time.seconds, use.pue);
  use.price_per_kwh = Chosen(pricing.electricity_per_kwh, defaults.electricity_eur_per_kwh, use.tariff_from);
  if (use.tariff_from != nullptr) {
    use.price_per_kwh =
        use.price_per_kwh * AmountIn(currency, {1, Currency::kEur}, defaults.eur_per_usd.value.expected);
  }
  use.cost = Times(use.kwh, use.price_per_kwh);
  use.g_co2_per_kwh = Chosen(pricing.grid_g_co2_per_kwh, defaults.grid_g_co2_per_kwh, use.grid_from);
  use.kg_co2 = CarbonKg(use.kwh, use.g_co2_per_kwh);
  return use;
}

}  // namespace tunefit
