#pragma once

#include <vector>

#include "core/codec/market.h"
#include "core/codec/request.h"
#include "core/codec/request_patch.h"
#include "core/memory/estimate.h"
#include "core/plan/change.h"

// Which changes come into question for a request. None has been tried.

namespace tunefit {

struct ProposedChange {
  Change change;
  ChangeQuality quality;
  RequestPatch patch;
};

/// A run before any change.
struct AdvisedRun {
  const RequestFields& written;   ///< the request without any default
  const RequestReading& reading;  ///< completed; with a GPU
  Limits limits;                  ///< of its card
  ChangeFigures figures;

  bool fits() const { return figures.verdict == Verdict::kFits; }
};

/// False where the catalog's second part, which may be null, says that the stack has no setting for the change.
bool MayHaveSetting(const Market* market, std::string_view stack, Change change);

/// Changes of settings, in the order of Change: those that save memory, and of a run that fits those that save time.
std::vector<ProposedChange> ProposeSettings(const AdvisedRun& run);

/// The request says what its own hardware costs.
bool HasOwnPrice(const Pricing& prices);

/// More of its GPUs for a run that does not fit, the fewest first, which share the rows of a step as far as they can.
/// `market` may be null.
std::vector<ProposedChange> ProposeMoreGpus(const AdvisedRun& run, const Batch& batch, const Market* market);

/// Cards of the same vendor for a run that does not fit and takes so many bytes: the smallest first, of those alike the
/// cheapest to rent. `market` may be null.
std::vector<ProposedChange> ProposeSmallestCards(const AdvisedRun& run, double bytes, const Catalog& catalog,
                                                 const Market* market);
/// Those that promise most work for the money by what they rent for and what their makers print, the best first.
std::vector<ProposedChange> ProposeCheapestCards(const AdvisedRun& run, const Catalog& catalog, const Market& market);
/// For a run that fits, the one that its maker prints the most operations of.
std::vector<ProposedChange> ProposeFastestCard(const AdvisedRun& run, const Catalog& catalog);

}  // namespace tunefit
