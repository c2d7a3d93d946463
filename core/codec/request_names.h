#pragma once

#include <span>
#include <string_view>

#include "core/codec/request.h"

// Names of the catalog in a request, and what to say of those that it does not have.

namespace tunefit {

/// The catalog's name that was meant, for the message: one that begins with what was written, else one that is near,
/// else one that holds it. Of several the shortest, and of those the last ("h100": "h100-sxm"). Empty when there is
/// none.
std::string_view MeantName(std::string_view written, std::span<const std::string_view> known);

/// Adds `code` {value, nearest} at the field: the catalog has no such `kind`. `nearest` may be empty.
void UnknownName(RequestReading& reading, std::string_view code, std::string_view field, std::string_view kind,
                 std::string_view name, std::string_view nearest);

}  // namespace tunefit
