#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/plan/change.h"

namespace tunefit {

/// Several changes at once.
struct Combination {
  std::vector<std::size_t> places;  ///< among the outcomes, in the order in which they were taken
  ChangeFigures after;
};

/// Tries the changes at these places together. Nothing where they do not go together, or no more are to be tried.
using TryTogether = std::function<std::optional<ChangeFigures>(const std::vector<std::size_t>&)>;

/// ADV-3  Changes of settings, of those that harm quality at most so much, that are to make a run fit together: of
/// those that harm least the one that frees most, then the next, as long as they free more together, and one of a kind.
/// What makes the run half as slow again counts as slight harm. From what fits, each that it fits without is left out
/// again, the most harmful and slowest first. The verdict says whether the run fits then.
Combination Combine(const ChangeFigures& before, const std::vector<ChangeOutcome>& outcomes, ChangeQuality most_harm,
                    const TryTogether& try_together);

}  // namespace tunefit
