#pragma once

#include "core/codec/request.h"
#include "core/plan/search.h"

namespace tunefit {

/// What a request leaves open, and what it wants. Takes what the request does not say from the core, each an
/// assumption of the reading: the sequences of an update, and the data.
struct PlanQuestion {
  RequestFields asked;  ///< as written, and the data
  Space space;
  Wishes wishes;
  Dataset dataset;
};

/// `asked` is the request as it was written, `reading` the same, completed and without errors.
PlanQuestion QuestionOf(RequestFields asked, RequestReading& reading);

}  // namespace tunefit
