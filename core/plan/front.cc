#include "core/plan/front.h"

#include <algorithm>

namespace tunefit {

Worth WorthOf(const Candidate& candidate) {
  return {candidate.supply.by, candidate.choice.method, candidate.verdict == Verdict::kFits, candidate.seconds.expected,
          candidate.cost.expected};
}

bool Covers(const Worth& a, const Worth& b, double share) {
  return a.by == b.by && a.method >= b.method && a.fits >= b.fits && a.seconds <= (1 + share) * b.seconds &&
         a.cost <= (1 + share) * b.cost;
}

bool Front::Covers(const Worth& worth) const {
  return std::any_of(candidates_.begin(), candidates_.end(),
                     [&](const Candidate& there) { return tunefit::Covers(WorthOf(there), worth, kAlike); });
}

void Front::Add(const Candidate& candidate) {
  const Worth worth = WorthOf(candidate);
  if (Covers(worth)) return;
  const auto is_worse = [&](const Candidate& there) { return tunefit::Covers(worth, WorthOf(there), 0); };
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(), is_worse), candidates_.end());
  candidates_.push_back(candidate);
}

}  // namespace tunefit
