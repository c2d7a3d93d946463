#include "core/cost/prices.h"

#include <algorithm>
#include <array>

namespace tunefit {
namespace {

constexpr std::array<std::string_view, kRentalTermCount> kTerms = {
    "on_demand", "spot", "community", "marketplace", "flex_start", "calendar", "one_year", "three_years"};
constexpr std::array<std::string_view, kPurchaseKindCount> kKinds = {"retail",   "list",     "used",  "in_server",
                                                                     "complete", "barebone", "quoted"};
constexpr std::array<std::string_view, kTuningMethodCount> kMethods = {"lora", "full", "reinforcement", "not_said"};

bool IsSameMachine(const Offer& a, const Offer& b) {
  return a.provider == b.provider && a.instance == b.instance && a.gpus == b.gpus && a.term == b.term &&
         a.covers_machine == b.covers_machine;
}

/// A newer price of the same machine stands for it.
bool IsOutdone(const Offer& offer, std::span<const Offer* const> offers) {
  return std::any_of(offers.begin(), offers.end(), [&](const Offer* other) {
    return other->provenance.date > offer.provenance.date && IsSameMachine(*other, offer) &&
           (offer.region.empty() || other->region == offer.region);
  });
}

}  // namespace

std::string_view RentalTermName(RentalTerm term) { return kTerms[static_cast<std::size_t>(term)]; }
std::string_view PurchaseKindName(PurchaseKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }
std::string_view TuningMethodName(TuningMethod method) { return kMethods[static_cast<std::size_t>(method)]; }

Money MachinePricePerHour(const Offer& offer) {
  return {offer.price_per_gpu_hour * static_cast<double>(offer.gpus), offer.currency};
}

std::vector<Offer> CurrentOffers(const std::vector<Offer>& offers) {
  std::vector<const Offer*> by_gpu;
  by_gpu.reserve(offers.size());
  for (const Offer& offer : offers) by_gpu.push_back(&offer);
  // Those with the same GPU stay in the order of the catalog.
  std::sort(by_gpu.begin(), by_gpu.end(),
            [](const Offer* a, const Offer* b) { return a->gpu != b->gpu ? a->gpu < b->gpu : a < b; });
  std::vector<Offer> current;
  current.reserve(offers.size());
  for (auto first = by_gpu.begin(); first != by_gpu.end();) {
    const auto last =
        std::find_if(first, by_gpu.end(), [&](const Offer* offer) { return offer->gpu != (*first)->gpu; });
    const std::span<const Offer* const> alike(&*first, static_cast<std::size_t>(last - first));
    for (const Offer* offer : alike) {
      if (!IsOutdone(*offer, alike)) current.push_back(*offer);
    }
    first = last;
  }
  return current;
}

std::span<const Offer> Prices::OffersWith(std::string_view gpu) const {
  const auto first = std::lower_bound(offers.begin(), offers.end(), gpu,
                                      [](const Offer& offer, std::string_view id) { return offer.gpu < id; });
  auto last = first;
  while (last != offers.end() && last->gpu == gpu) ++last;
  // By pointer and count: the library of Emscripten before 3.1.9 makes no span of two iterators.
  return {offers.data() + (first - offers.begin()), static_cast<std::size_t>(last - first)};
}

}  // namespace tunefit
