#pragma once

#include <string>
#include <vector>

#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "core/codec/request.h"
#include "core/codec/request_patch.h"
#include "core/plan/change.h"

// What to change of a run that does not fit, is slow or wastes something: every change is a request of its own that was
// estimated.

namespace tunefit {

struct Answer;

/// A change, or several at once.
struct Advice {
  std::vector<Change> changes;
  ChangeQuality quality = ChangeQuality::kNone;
  ChangeEffort effort = ChangeEffort::kSetting;
  RequestPatch patch;  ///< of the request as it was written
  ChangeFigures after;
  std::string how;  ///< the settings in the stack, one a line; empty where there are none, or the catalog does not say
  std::vector<std::string> source_ids;  ///< of `how`
};

struct AdviceReport {
  ChangeFigures before;
  std::vector<Advice> entries;  ///< the most useful first
};

/// Estimates at most this many changed requests.
inline constexpr int kMostTries = 40;

/// ADV-0  Advice on a request that was read from a text, was answered and names a GPU; of others there is none. Adds
/// the note `no_change_fits` where a run does not fit and no change of its settings makes it fit on its card. `market`
/// may be null: nothing is known then of prices, nor of which changes a stack has settings for.
AdviceReport AdviseOn(RequestReading& reading, const Answer& answer, const Catalog& catalog, const Market* market);

}  // namespace tunefit
