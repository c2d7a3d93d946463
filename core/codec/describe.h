#pragma once

#include <string>

#include "core/codec/catalog.h"
#include "core/codec/market.h"

namespace tunefit {

/// What a page needs to build its choices, as wasm/tunefit.d.ts describes it: version, catalog date, models, GPUs,
/// stacks, servers, the choices that the core models, the limits of numbers, and the codes that issues may carry.
std::string WriteDescription(const Catalog& catalog, const Market& market);

}  // namespace tunefit
