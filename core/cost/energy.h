#pragma once

#include <optional>

#include "core/cost/pricing.h"
#include "core/cost/run_time.h"

namespace tunefit {

/// What one's own machines draw for the run, at the socket of the building.
struct EnergyUse {
  double gpu_busy_share = 1;
  Range gpu_watts;   ///< of all GPUs, on average
  Range host_watts;  ///< of the machines' other parts, the run's share by GPUs; 0 where nobody knows
  Range pue;
  Range kwh;
  Range price_per_kwh;  ///< in the answer's currency
  Range cost;
  Range g_co2_per_kwh, kg_co2;
  const Figure* working_power_share = nullptr;
  const Figure* waiting_power_share = nullptr;
  const Provenance* pue_from = nullptr;     ///< null: the request's own
  const Provenance* tariff_from = nullptr;  ///< null: the request's own
  const Provenance* grid_from = nullptr;    ///< null: the request's own
  CostNotes notes;

  /// COST-24  Of an hour of work: what is drawn · PUE · price of a kilowatt-hour.
  Range cost_per_hour() const;
  Range watts() const { return gpu_watts + host_watts; }
};

/// COST-10  What is planned for everything but the cards of a machine: power - gpus · board power of the hottest card
/// that it takes. All in watts; `power_watts` is the machine's for planning. 0 where one of them is unknown (0), or
/// where nothing is left. Of it machines at work draw the share that their cards do of their board power.
double HostWatts(double power_watts, std::int64_t gpus, double hottest_card_watts);

/// COST-11  Watts of the GPUs: gpus · board power · (busy share · share of it drawn at work + the rest · share drawn
/// while they wait).
Range GpuWatts(double board_power_watts, std::int64_t gpus, double busy_share, const CostDefaults& defaults);

/// COST-12  Kilowatt-hours: watts / 1000 · hours · PUE.
Range EnergyKwh(const Range& watts, const Range& seconds, const Range& pue);

/// COST-13  Kilograms of CO2: kWh · grams a kWh / 1000.
Range CarbonKg(const Range& kwh, const Range& g_co2_per_kwh);

/// Nothing where nobody knows the card's board power.
std::optional<EnergyUse> EnergyOf(const CostedRun& run, const CostDefaults& defaults, const Pricing& pricing,
                                  Currency currency);

}  // namespace tunefit
