#pragma once

#include <string_view>

#include "core/codec/catalog.h"
#include "core/codec/json_reader.h"
#include "core/codec/market.h"
#include "core/codec/row_rules.h"

// The parts of the second bundle, each in a file of its own. Every function adds all faults to the reader's issues.

namespace tunefit {

/// Of a GPU or a machine, whoever sells it.
inline constexpr FieldRule kLowestPrice = rules::Positive("low", 1e9).Needed();
inline constexpr FieldRule kHighestPrice = rules::Positive("high", 1e9).Needed();
inline constexpr FieldRule kCurrency = rules::Choice("currency", "USD EUR").Needed();
inline constexpr FieldRule kPriceMonth = rules::Text("date", 0, TextForm::kMonth).Needed();

void ReadServers(const ObjectReader& bundle, const KnownNames& names, Market& market);
/// `date` is that of the bundle: no price is later.
void CheckPrices(const ObjectReader& bundle, const KnownNames& names, const Catalog& catalog, std::string_view date);
void CheckVendor(const ObjectReader& bundle, const KnownNames& names);

/// `implausible` where `low` is over `high`, or `expected` is not between them. Of a row whose fields are all right.
void CheckRange(const ObjectReader& row);

}  // namespace tunefit
