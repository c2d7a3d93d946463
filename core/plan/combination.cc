#include "core/plan/combination.h"

#include <algorithm>
#include <tuple>

namespace tunefit {
namespace {

/// What frees less beside others is not worth a line.
constexpr double kFreesMore = 0.005;
/// Nobody waits so much longer without looking at what costs a little quality.
constexpr double kSlow = 1.5;

/// Looks for a combination over changes that were tried alone.
class Combiner {
 public:
  Combiner(const ChangeFigures& before, const std::vector<ChangeOutcome>& outcomes, ChangeQuality most_harm,
           const TryTogether& try_together)
      : before_(before), outcomes_(outcomes), most_harm_(most_harm), try_together_(try_together), now_{{}, before} {}

  /// Whether the run fits with what was taken.
  bool Take() {
    std::vector<std::size_t> left = Candidates();
    // What frees nothing while something else decides the peak may do so after that is gone.
    for (bool took_any = true; took_any && !left.empty();) {
      took_any = false;
      std::vector<std::size_t> refused;
      for (const std::size_t place : left) {
        if (TakeOne(place)) {
          took_any = true;
        } else {
          refused.push_back(place);
        }
        if (fits()) return true;
      }
      left = refused;
    }
    return false;
  }

  /// Leaves out what the run fits without.
  void Prune() {
    std::vector<std::size_t> order = now_.places;
    const auto harm = [this](std::size_t place) {
      const ChangeOutcome& outcome = outcomes_[place];
      return std::tuple(outcome.quality, TimeShare(before_, outcome.after));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return harm(a) > harm(b); });
    for (const std::size_t place : order) {
      std::vector<std::size_t> fewer;
      for (const std::size_t kept : now_.places) {
        if (kept != place) fewer.push_back(kept);
      }
      if (fewer.empty()) return;
      const std::optional<ChangeFigures> after = try_together_(fewer);
      if (after && after->verdict == Verdict::kFits) now_ = {fewer, *after};
    }
  }

  const Combination& now() const { return now_; }

 private:
  bool fits() const { return now_.after.verdict == Verdict::kFits; }
  ChangeKind KindOf(std::size_t place) const { return TraitsOf(outcomes_[place].change).kind; }

  /// By quality, then what frees most alone. Hardware is another answer to the same question.
  std::vector<std::size_t> Candidates() const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      if (KindOf(i) != ChangeKind::kHardware && outcomes_[i].quality <= most_harm_) places.push_back(i);
    }
    const auto rank = [this](std::size_t place) {
      const ChangeOutcome& outcome = outcomes_[place];
      const bool slow = TimeShare(before_, outcome.after) >= kSlow;
      const ChangeQuality harm = std::max(outcome.quality, slow ? ChangeQuality::kSlight : ChangeQuality::kNone);
      return std::tuple(harm, outcome.after.device_bytes.expected);
    };
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    return places;
  }

  /// In place of one of its kind, where there is one already.
  bool TakeOne(std::size_t place) {
    std::vector<std::size_t> together;
    for (const std::size_t taken : now_.places) {
      if (KindOf(taken) != KindOf(place)) together.push_back(taken);
    }
    together.push_back(place);
    const std::optional<ChangeFigures> after =
        together.size() == 1 ? std::optional(outcomes_[place].after) : try_together_(together);
    const double most = (1 - kFreesMore) * now_.after.device_bytes.expected;
    if (!after || after->device_bytes.expected > most) return false;
    now_ = {together, *after};
    return true;
  }

  const ChangeFigures& before_;
  const std::vector<ChangeOutcome>& outcomes_;
  const ChangeQuality most_harm_;
  const TryTogether& try_together_;
  Combination now_;
};

}  // namespace

Combination Combine(const ChangeFigures& before, const std::vector<ChangeOutcome>& outcomes, ChangeQuality most_harm,
                    const TryTogether& try_together) {
  Combiner combiner(before, outcomes, most_harm, try_together);
  if (combiner.Take()) combiner.Prune();
  return combiner.now();
}

}  // namespace tunefit
