#pragma once

#include <string>

#include "core/codec/answer.h"
#include "core/codec/catalog.h"
#include "core/codec/request.h"

namespace tunefit {

/// The report of a request with an error among its issues: status, issues, and nothing else that is not null.
std::string WriteInvalidReport(const Issues& issues);

/// The report of an answered request, as wasm/tunefit.d.ts describes it. The same request gives the same bytes on every
/// platform, in every locale, whatever the order of its keys: the keys stand in a fixed order, bytes are whole numbers.
std::string WriteReport(const RequestReading& reading, const Answer& answer, const Catalog& catalog);

/// `{"status", "issues"}`, the answer of Init.
std::string WriteStatus(const Issues& issues);

}  // namespace tunefit
