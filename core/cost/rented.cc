#include "core/cost/rented.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>

namespace tunefit {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `part` stands in `text`, whatever their case.
bool Holds(std::string_view text, std::string_view part) {
  const auto same = [](char a, char b) { return Lower(a) == Lower(b); };
  return part.empty() || std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

bool IsWished(const Offer& offer, const Pricing& pricing) {
  if (pricing.term && offer.term != *pricing.term) return false;
  if (!pricing.provider.empty() &&
      (offer.provider.size() != pricing.provider.size() || !Holds(offer.provider, pricing.provider))) {
    return false;
  }
  return Holds(offer.region, pricing.region);
}

RentedLine LineOf(const Offer& offer, const CostedRun& run, Currency currency, double eur_per_usd) {
  RentedLine line;
  line.offer = &offer;
  line.machines = MachinesFor(run.time.gpus, offer.gpus);
  line.splits_machines = offer.gpus < std::min(run.time.gpus, run.time.gpus_per_machine);
  line.gpus_idle = line.machines * offer.gpus - run.time.gpus;
  const Money one = MachinePricePerHour(offer);
  line.price_per_hour = static_cast<double>(line.machines) * AmountIn(currency, one, eur_per_usd);
  line.cost = RentCost(run.time.seconds, line.price_per_hour);
  if (!offer.covers_machine) line.notes.Add(CostNote::kHostNotIncluded);
  if (line.machines > 1) line.notes.Add(CostNote::kSeveralMachines);
  if (line.gpus_idle > 0) line.notes.Add(CostNote::kGpusIdle);
  return line;
}

bool IsCheaper(const RentedLine& a, const RentedLine& b) {
  const auto key = [](const RentedLine& line) {
    const Offer& offer = *line.offer;
    return std::tie(line.cost.expected, offer.provider, offer.instance, offer.region, offer.provenance.date);
  };
  return key(a) < key(b);
}

/// Names what there is instead of what was wished.
void RemarkOnWish(const char* field, const std::string& wish, const std::string& provider, std::string known,
                  Issues& issues) {
  const std::string of = provider.empty() ? "" : " of " + provider;
  issues.push_back({.code = "unknown_value",
                    .field = field,
                    .message = std::string(field) + " is \"" + wish + "\", and the catalog has no such offer" + of +
                               " with this GPU; it has " + (known.empty() ? "none that names one" : known) + ".",
                    .severity = Severity::kWarning,
                    .values = {{"value", wish}, {"known", std::move(known)}}});
}

using Offers = std::vector<const Offer*>;

Offers Wished(const Offers& offers, const Pricing& pricing) {
  Offers wished;
  for (const Offer* offer : offers) {
    if (IsWished(*offer, pricing)) wished.push_back(offer);
  }
  return wished;
}

/// What the offers have, every name once, in order, divided by commas.
template <typename NameOf>
std::string Listed(const Offers& offers, NameOf name_of) {
  std::vector<std::string_view> names;
  for (const Offer* offer : offers) {
    if (!name_of(*offer).empty()) names.push_back(name_of(*offer));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string listed;
  for (const std::string_view each : names) {
    if (!listed.empty()) listed += ", ";
    listed += each;
  }
  return listed;
}

/// The first of the wishes that leaves no offer, and what those had that were left until then.
void RemarkOnWishes(std::span<const Offer> all, const Pricing& pricing, Issues& issues) {
  Offers offers;
  for (const Offer& offer : all) offers.push_back(&offer);
  if (offers.empty()) return;
  Pricing asked;
  asked.provider = pricing.provider;
  const Offers of_provider = Wished(offers, asked);
  if (of_provider.empty()) {
    const auto provider = [](const Offer& offer) { return std::string_view(offer.provider); };
    return RemarkOnWish("pricing.provider", pricing.provider, "", Listed(offers, provider), issues);
  }
  asked.region = pricing.region;
  const Offers of_region = Wished(of_provider, asked);
  if (of_region.empty()) {
    const auto region = [](const Offer& offer) { return std::string_view(offer.region); };
    return RemarkOnWish("pricing.region", pricing.region, pricing.provider, Listed(of_provider, region), issues);
  }
  const auto term = [](const Offer& offer) { return RentalTermName(offer.term); };
  RemarkOnWish("pricing.term", std::string(RentalTermName(*pricing.term)), pricing.provider, Listed(of_region, term),
               issues);
}

}  // namespace

std::int64_t MachinesFor(std::int64_t gpus, std::int64_t gpus_of_one) { return (gpus + gpus_of_one - 1) / gpus_of_one; }

Range RentCost(const Range& seconds, double price_per_hour) { return HoursOf(seconds) * price_per_hour; }

std::vector<RentedLine> RentedLines(const CostedRun& run, const Prices& prices, const Pricing& pricing,
                                    Currency currency, Issues& issues) {
  const std::span<const Offer> offers = prices.OffersWith(run.gpu->id);
  std::vector<RentedLine> lines;
  for (const Offer& offer : offers) {
    if (!IsWished(offer, pricing)) continue;
    lines.push_back(LineOf(offer, run, currency, prices.defaults.eur_per_usd.value.expected));
  }
  if (lines.empty()) RemarkOnWishes(offers, pricing, issues);
  std::sort(lines.begin(), lines.end(), IsCheaper);
  if (!pricing.hourly_price && !pricing.gpu_per_hour) return lines;
  RentedLine own;
  own.price_per_hour =
      pricing.hourly_price ? *pricing.hourly_price : *pricing.gpu_per_hour * static_cast<double>(run.time.gpus);
  own.cost = RentCost(run.time.seconds, own.price_per_hour);
  lines.insert(lines.begin(), std::move(own));
  return lines;
}

std::int64_t ReferenceLine(const std::vector<RentedLine>& lines, const Pricing& pricing) {
  const RentalTerm term = pricing.term.value_or(RentalTerm::kOnDemand);
  std::array<std::int64_t, 4> best = {-1, -1, -1, -1};  // by how little the line compares
  std::int64_t place = -1;
  for (const RentedLine& line : lines) {
    ++place;
    if (line.offer == nullptr) return place;
    if (line.offer->term != term || !line.offer->covers_machine) continue;
    const std::size_t rank = (line.splits_machines ? 2 : 0) + (line.offer->provenance.low_confidence ? 1 : 0);
    if (best[rank] < 0) best[rank] = place;
  }
  for (const std::int64_t found : best) {
    if (found >= 0) return found;
  }
  return -1;
}

}  // namespace tunefit
