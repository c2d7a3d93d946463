#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "core/codec/advice_changes.h"
#include "core/time/run.h"

// Other cards, and more of them.

namespace tunefit {
namespace {

/// Cards that are tried, of those that come into question.
constexpr std::size_t kMostCards = 3;

/// Dense operations a second in the dtype of the run's products, as printed.
double RateOf(const Gpu& gpu, const Workload& workload) {
  if (workload.precision.fp8_products) return gpu.peak.fp8;
  if (workload.precision.compute == Dtype::kBf16) return gpu.peak.bf16;
  return workload.precision.compute == Dtype::kFp16 ? gpu.peak.fp16 : gpu.peak.fp32;
}

/// The same run on another card; a machine or a link that was named is of the card before.
RequestPatch OnCard(const AdvisedRun& run, const Gpu& gpu) {
  RequestPatch patch = {{"hardware.gpu", gpu.id}};
  if (run.written.server) patch.Set("hardware.server", {});
  if (run.written.interconnect) patch.Set("hardware.interconnect", {});
  return patch;
}

/// What runs on one vendor's cards needs not run on another's. Too small ones by far are left out.
std::vector<const Gpu*> CardsFor(const AdvisedRun& run, double bytes, const Catalog& catalog) {
  const Gpu& now = *run.reading.gpu;
  std::vector<const Gpu*> cards;
  for (const CatalogGpu& row : catalog.gpus) {
    const bool kin = row.gpu.vendor == now.vendor && row.gpu.id != now.id;
    const bool may_hold = row.gpu.usable_bytes >= bytes;
    if (kin && may_hold && RateOf(row.gpu, run.reading.workload) > 0 && HasRates(row.gpu)) cards.push_back(&row.gpu);
  }
  return cards;
}

template <typename Rank>
std::vector<ProposedChange> FirstCards(const AdvisedRun& run, Change change, std::vector<const Gpu*> cards,
                                       std::size_t most, Rank rank) {
  std::stable_sort(cards.begin(), cards.end(), [&](const Gpu* a, const Gpu* b) { return rank(*a) < rank(*b); });
  if (cards.size() > most) cards.resize(most);
  std::vector<ProposedChange> proposed;
  proposed.reserve(cards.size());
  for (const Gpu* gpu : cards) proposed.push_back({change, ChangeQuality::kNone, OnCard(run, *gpu)});
  return proposed;
}

/// Of the offers at once whose price covers the machine, in US dollars an hour of one GPU; 0 where there is none.
double LeastRent(const Gpu& gpu, const Market& market) {
  const double usd_per_eur = 1 / market.prices.defaults.eur_per_usd.value.expected;
  double least = 0;
  for (const Offer& offer : market.prices.OffersWith(gpu.id)) {
    if (offer.term != RentalTerm::kOnDemand || !offer.covers_machine) continue;
    const double price = offer.price_per_gpu_hour * (offer.currency == Currency::kEur ? usd_per_eur : 1);
    if (least == 0 || price < least) least = price;
  }
  return least;
}

/// A step of the same rows on `times` as many GPUs, as far as they divide.
void DivideBatch(const Batch& batch, std::int64_t times, RequestPatch& patch, ChangeQuality& quality) {
  if (batch.gradient_accumulation % times == 0) {
    patch.Set("batch.gradient_accumulation", batch.gradient_accumulation / times);
  } else if (batch.per_device % times == 0) {
    patch.Set("batch.per_device", batch.per_device / times);
  } else {
    quality = ChangeQuality::kSlight;  // a step takes more rows
  }
}

/// What divides most among GPUs, of what the stack has a setting for; empty where it has none.
Word StrategyOf(Word stack, const Market* market) {
  for (const Change change : {Change::kFsdp2, Change::kZero3, Change::kFsdp, Change::kZero1}) {
    if (MayHaveSetting(market, stack, change)) return ChangeName(change);  // named like the strategies
  }
  return "";
}

}  // namespace

std::vector<ProposedChange> ProposeMoreGpus(const AdvisedRun& run, const Batch& batch, const Market* market) {
  std::vector<ProposedChange> proposed;
  const Workload& workload = run.reading.workload;
  if (run.fits()) return proposed;
  const Parallel& parallel = workload.parallel;
  const bool alone = parallel.strategy == Strategy::kNone || parallel.strategy == Strategy::kDdp;
  const Word strategy = alone ? StrategyOf(*run.reading.completed.stack, market) : Word();
  for (const std::int64_t times : {2, 4, 8}) {
    ProposedChange more{Change::kMoreGpus, ChangeQuality::kNone, {}};
    more.patch.Set("parallel.gpus", parallel.gpus * times);
    DivideBatch(batch, times, more.patch, more.quality);
    if (!strategy.empty()) more.patch.Set("parallel.strategy", std::string(strategy));
    proposed.push_back(std::move(more));
  }
  return proposed;
}

bool HasOwnPrice(const Pricing& prices) {
  return prices.hourly_price || prices.gpu_per_hour || prices.purchase_price || prices.server_price;
}

std::vector<ProposedChange> ProposeSmallestCards(const AdvisedRun& run, double bytes, const Catalog& catalog,
                                                 const Market* market) {
  if (run.fits()) return {};
  const auto smallest = [&](const Gpu& gpu) {
    const double rent = market == nullptr ? 0 : LeastRent(gpu, *market);
    return std::tuple(gpu.memory_bytes, rent == 0, rent, RateOf(gpu, run.reading.workload), std::string_view(gpu.id));
  };
  return FirstCards(run, Change::kSmallestCard, CardsFor(run, bytes, catalog), kMostCards, smallest);
}

std::vector<ProposedChange> ProposeCheapestCards(const AdvisedRun& run, const Catalog& catalog, const Market& market) {
  if (HasOwnPrice(run.reading.completed.prices) || !run.figures.cost || !run.figures.cost->rented) return {};
  std::vector<const Gpu*> cards;
  for (const Gpu* gpu : CardsFor(run, run.figures.device_bytes.expected, catalog)) {
    if (LeastRent(*gpu, market) > 0) cards.push_back(gpu);
  }
  const auto cheapest = [&](const Gpu& gpu) {
    return std::tuple(LeastRent(gpu, market) / RateOf(gpu, run.reading.workload), std::string_view(gpu.id));
  };
  return FirstCards(run, Change::kCheapestCard, std::move(cards), kMostCards, cheapest);
}

std::vector<ProposedChange> ProposeFastestCard(const AdvisedRun& run, const Catalog& catalog) {
  if (!run.fits()) return {};
  const auto fastest = [&](const Gpu& gpu) {
    return std::tuple(-RateOf(gpu, run.reading.workload), std::string_view(gpu.id));
  };
  const double bytes = run.figures.device_bytes.expected;
  return FirstCards(run, Change::kFastestCard, CardsFor(run, bytes, catalog), 1, fastest);
}

}  // namespace tunefit
