#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/money.h"

// What the market asks, as the catalog has it: every figure with its date and its sources. Without VAT.

namespace tunefit {

/// Where a figure was read, and how far it is to be trusted.
struct Provenance {
  std::string date;             ///< "YYYY", "YYYY-MM" or "YYYY-MM-DD"; empty where nobody dated it
  bool low_confidence = false;  ///< sources disagree, or none is the seller's
  std::string note;             ///< English, for people; may be empty
  std::vector<std::string> source_ids;
};

/// How a machine is rented: at once; while nobody else wants it; from another person, of a marketplace; when there is
/// room; booked ahead; bound for years.
enum class RentalTerm : std::uint8_t {
  kOnDemand,
  kSpot,
  kCommunity,
  kMarketplace,
  kFlexStart,
  kCalendar,
  kOneYear,
  kThreeYears
};
inline constexpr int kRentalTermCount = 8;

/// As the catalog and the request write it: "on_demand".
std::string_view RentalTermName(RentalTerm term);

/// A machine with GPUs that somebody rents out by the hour. Without storage and traffic.
struct Offer {
  std::string provider, instance, region;  ///< the last two may be empty
  std::string gpu;                         ///< id
  std::int64_t gpus = 1;                   ///< of one machine
  double price_per_gpu_hour = 0;           ///< the whole machine's price, divided by its GPUs
  Currency currency = Currency::kUsd;
  RentalTerm term = RentalTerm::kOnDemand;
  bool covers_machine = true;  ///< false: processors and memory of the machine are charged besides
  Provenance provenance;
};

/// COST-2  One machine for an hour, GPUs and host together: price_per_gpu_hour · gpus, in the offer's currency.
Money MachinePricePerHour(const Offer& offer);

enum class PurchaseKind : std::uint8_t {
  kRetail,
  kList,  ///< a maker's or a table's price, no offer
  kUsed,
  kInServer,  ///< estimated share of a machine
  kComplete,  ///< a machine with its GPUs
  kBarebone,  ///< a machine without GPUs, processors and memory
  kQuoted     ///< the vendor's own
};
inline constexpr int kPurchaseKindCount = 7;

/// As the catalog writes it: "retail".
std::string_view PurchaseKindName(PurchaseKind kind);

/// What a card or a machine costs to buy, from the lowest to the highest price that was read.
struct PurchasePrice {
  std::string server;     ///< id of the machine; empty for a card, and for a machine that the catalog does not list
  std::string gpu;        ///< id of the card, or of those in the machine; empty where the price is of none
  std::int64_t gpus = 0;  ///< in the machine; 0 for a card, and for a machine without any
  double low = 0, high = 0;
  Currency currency = Currency::kUsd;
  PurchaseKind kind = PurchaseKind::kRetail;
  Provenance provenance;
};

enum class TuningMethod : std::uint8_t { kLora, kFull, kReinforcement, kNotSaid };
inline constexpr int kTuningMethodCount = 4;

/// As the catalog writes it: "lora".
std::string_view TuningMethodName(TuningMethod method);

/// Which tokens a service bills where rows are not packed.
enum class BilledTokens : std::uint8_t {
  kNotSaid,
  kOwn,    ///< those of the rows themselves
  kPadded  ///< rows by the length that they are padded to
};

/// A service that trains on its own machines and bills by the token.
struct TokenService {
  std::string provider;
  std::string models;  ///< what the provider charges this for, in its words
  TuningMethod method = TuningMethod::kNotSaid;
  double parameters_max = 0;  ///< models up to so many parameters; 0 where the price is of models by name
  double low = 0, high = 0;   ///< of a million tokens
  Currency currency = Currency::kUsd;
  BilledTokens billed = BilledTokens::kNotSaid;
  Provenance provenance;
};

/// A figure that an answer starts from where the request says nothing.
struct Figure {
  Range value;
  Provenance provenance;
};

struct CostDefaults {
  Figure electricity_eur_per_kwh;
  Figure pue;  ///< power of the building over that of its computers
  Figure eur_per_usd;
  Figure support_share_per_year;  ///< service contract of a machine, of its price
  Figure grid_g_co2_per_kwh;
  Figure lifetime_years;
  Figure working_power_share;  ///< of the board power, that a GPU draws while it computes
  Figure waiting_power_share;  ///< and while it waits for the host or for other GPUs
};

/// Sorted by GPU, the order kept otherwise, without those that a newer price stands for: of one machine on several days
/// the newest, and none without a region where a newer one has one.
std::vector<Offer> CurrentOffers(const std::vector<Offer>& offers);

struct Prices {
  Currency currency = Currency::kEur;  ///< the vendor's: of an answer whose request names none
  std::vector<Offer> offers;           ///< as CurrentOffers gives them
  std::vector<PurchasePrice> cards, machines;
  std::vector<TokenService> services;
  CostDefaults defaults;

  /// The offers with that GPU, in the catalog's order.
  std::span<const Offer> OffersWith(std::string_view gpu) const;
};

}  // namespace tunefit
