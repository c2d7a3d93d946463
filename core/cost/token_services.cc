#include "core/cost/token_services.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>

namespace tunefit {
namespace {

constexpr double kTokensOfAPrice = 1e6;

bool Trains(const TokenService& service, const TunedModel& model) {
  const bool method = service.method == model.method || service.method == TuningMethod::kNotSaid;
  return method && model.parameters > 0 && model.parameters <= service.parameters_max;
}

/// The same provider has a price for smaller models that holds this one too, or a newer price for the same.
bool IsOutdone(const TokenService& service, std::span<const TokenService> services, const TunedModel& model) {
  return std::any_of(services.begin(), services.end(), [&](const TokenService& other) {
    if (other.provider != service.provider || other.method != service.method || !Trains(other, model)) return false;
    if (other.parameters_max != service.parameters_max) return other.parameters_max < service.parameters_max;
    return other.provenance.date > service.provenance.date;
  });
}

}  // namespace

Range BilledTokenCount(const RunTime& time, BilledTokens billed) {
  if (billed == BilledTokens::kOwn) return Exactly(time.trained_tokens);
  if (billed == BilledTokens::kPadded) return Exactly(time.padded_tokens);
  return {time.trained_tokens, time.padded_tokens, time.padded_tokens};
}

Range TokenCost(const Range& tokens, const Range& price_per_million) {
  return Times(tokens, price_per_million) * (1 / kTokensOfAPrice);
}

std::vector<TokenServiceLine> TokenServiceLines(const CostedRun& run, const Prices& prices, Currency currency) {
  const double rate = prices.defaults.eur_per_usd.value.expected;
  std::vector<TokenServiceLine> lines;
  for (const TokenService& service : prices.services) {
    if (!Trains(service, run.model) || IsOutdone(service, prices.services, run.model)) continue;
    TokenServiceLine line;
    line.service = &service;
    line.tokens = BilledTokenCount(run.time, service.billed);
    const double low = AmountIn(currency, {service.low, service.currency}, rate);
    const double high = AmountIn(currency, {service.high, service.currency}, rate);
    line.cost = TokenCost(line.tokens, {low, (low + high) / 2, high});
    if (service.billed == BilledTokens::kNotSaid && run.time.padded_tokens > run.time.trained_tokens) {
      line.notes.Add(CostNote::kTokensNotSaid);
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end(), [](const TokenServiceLine& a, const TokenServiceLine& b) {
    const auto key = [](const TokenServiceLine& line) {
      return std::tie(line.cost.expected, line.service->provider, line.service->models);
    };
    return key(a) < key(b);
  });
  return lines;
}

}  // namespace tunefit
