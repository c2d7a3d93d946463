#include "core/plan/front.h"

#include <algorithm>

namespace tunefit {

Worth WorthOf(const Candidate& candidate) {
  const Supply& supply = candidate.supply;
  return {supply.by,
          candidate.choice.method,
          candidate.verdict == Verdict::kFits,
          supply.price_is_whole,
          candidate.seconds.expected,
          candidate.cost.expected};
}

bool Covers(const Worth& a, const Worth& b, const Tolerance& tolerance) {
  const double money = a.by == Acquisition::kRent ? tolerance.money_to_rent : tolerance.money_to_buy;
  return a.by == b.by && a.method == b.method && a.fits >= b.fits && a.price_is_whole >= b.price_is_whole &&
         a.seconds <= (1 + tolerance.share_of_seconds) * b.seconds + tolerance.seconds &&
         a.cost <= (1 + tolerance.share_of_cost) * b.cost + money;
}

bool Front::Covers(const Worth& worth) const {
  return std::any_of(candidates_.begin(), candidates_.end(),
                     [&](const Candidate& there) { return tunefit::Covers(WorthOf(there), worth, alike_); });
}

void Front::Add(const Candidate& candidate) {
  const Worth worth = WorthOf(candidate);
  if (Covers(worth)) return;
  const auto goes = [&](const Candidate& there) {
    const Worth other = WorthOf(there);
    return tunefit::Covers(worth, other, worth.fits && !other.fits ? alike_ : Tolerance());
  };
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), goes), candidates_.end());
  candidates_.push_back(candidate);
}

}  // namespace tunefit
