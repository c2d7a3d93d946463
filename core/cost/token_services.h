#pragma once

#include <vector>

#include "core/cost/run_time.h"

namespace tunefit {

/// The run, bought by the token.
struct TokenServiceLine {
  const TokenService* service = nullptr;
  Range tokens;  ///< billed
  Range cost;
  CostNotes notes;
};

/// COST-5  Tokens that a service bills: the rows' own, or padded ones, as it counts. Where nobody says how: padded ones
/// are expected, and the rows' own the lowest.
Range BilledTokenCount(const RunTime& time, BilledTokens billed);

/// COST-6  Billed tokens · price of a million / 10⁶, the price from the lowest to the highest that was read and its
/// middle.
Range TokenCost(const Range& tokens, const Range& price_per_million);

/// Every service that trains models of this size by this method, the cheapest first: of one provider's sizes the
/// smallest that holds the model. Services that sell models by name are none of these.
std::vector<TokenServiceLine> TokenServiceLines(const CostedRun& run, const Prices& prices, Currency currency);

}  // namespace tunefit
