#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cost/prices.h"
#include "core/model/issue.h"

namespace tunefit {

/// People's hours on the data, apart from any computer's.
struct DataWork {
  double hours = 0;
  double rate_per_hour = 0;  ///< in the answer's currency
};

/// What the request says of prices. Whatever is left out is taken from the catalog, or its line is left out. Amounts
/// are in `currency`, without VAT.
struct Pricing {
  std::optional<Currency> currency;  ///< of the answer; the vendor's where it is left out
  std::string provider;              ///< the only one asked for, whatever its case; empty for all
  std::string region;                ///< text within the region of an offer, whatever its case; empty for all
  std::optional<RentalTerm> term;    ///< the only one asked for

  std::optional<double> hourly_price;  ///< an hour of everything that the run rents, hosts included
  std::optional<double> gpu_per_hour;  ///< an hour of one GPU, its share of the host included

  std::optional<double> purchase_price;       ///< of everything that is bought for the run
  std::optional<double> server_price;         ///< of one machine with its GPUs
  std::optional<double> lifetime_years;       ///< over which a purchase is written off
  std::optional<double> residual_share;       ///< of the price that a sale brings at the end
  std::optional<double> utilisation;          ///< share of all hours in which the machine works
  std::optional<double> support_share;        ///< service contract, of the price, a year
  std::optional<double> rack_per_month;       ///< of everything that is bought
  std::optional<double> electricity_per_kwh;  ///< may be 0
  std::optional<double> pue;                  ///< 1 or more
  std::optional<double> grid_g_co2_per_kwh;

  std::optional<std::int64_t> trials;  ///< whole runs before the one that counts
  std::optional<double> failed_share;  ///< of the run's compute that is lost to failures
  std::optional<DataWork> data_work;
};

/// A number of the request: its key under `pricing`, and the least and the most that is computed with.
struct PricingField {
  const char* key;
  std::optional<double> Pricing::*value;
  double low, high;
};

/// What nobody is asked for: no amount of money, no share and no lifetime that something is divided by may be 0.
inline constexpr double kLeastDivisor = 1e-6;
inline constexpr double kMostMoney = 1e9;
inline constexpr PricingField kPricingFields[] = {
    {"hourly_price", &Pricing::hourly_price, kLeastDivisor, kMostMoney},
    {"gpu_per_hour", &Pricing::gpu_per_hour, kLeastDivisor, 1e6},
    {"purchase_price", &Pricing::purchase_price, kLeastDivisor, kMostMoney},
    {"server_price", &Pricing::server_price, kLeastDivisor, kMostMoney},
    {"lifetime_years", &Pricing::lifetime_years, kLeastDivisor, 100},
    {"residual_share", &Pricing::residual_share, 0, 1},
    {"utilisation", &Pricing::utilisation, kLeastDivisor, 1},
    {"support_share", &Pricing::support_share, 0, 1},
    {"rack_per_month", &Pricing::rack_per_month, 0, kMostMoney},
    {"electricity_per_kwh", &Pricing::electricity_per_kwh, 0, 1000},
    {"pue", &Pricing::pue, 1, 10},
    {"grid_g_co2_per_kwh", &Pricing::grid_g_co2_per_kwh, 0, 5000},
    {"failed_share", &Pricing::failed_share, 0, 1},
};
inline constexpr std::int64_t kMostTrials = 1000000;
inline constexpr double kMostWorkHours = 1e7;

/// Adds `out_of_range` {value, low, high}, with the field in the request, for every number outside these limits: a
/// price, a lifetime or a utilisation of 0, a share over 1, a PUE under 1, and whatever is no number. Without an error
/// nothing that this room computes is infinite.
void Validate(const Pricing& pricing, Issues& issues);

}  // namespace tunefit
