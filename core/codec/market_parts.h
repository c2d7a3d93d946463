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
/// How stacks are told the changes of advice.
void ReadSwitches(const ObjectReader& bundle, const KnownNames& names, Market& market);
/// What prices are held against.
struct PriceContext {
  const Catalog& catalog;
  const Market& market;   ///< its servers, as far as they are all right
  std::string_view date;  ///< of the bundle; empty where it is wrong
};
void CheckPrices(const ObjectReader& bundle, const KnownNames& names, const PriceContext& context);
void CheckVendor(const ObjectReader& bundle, const KnownNames& names, const PriceContext& context);

/// The prices of a bundle without faults: those of the providers and servers that the vendor shows, and its own first.
void KeepPrices(const ObjectReader& bundle, Prices& kept);

/// What holds for every price, whoever asks it: `implausible` where `low` is over `high`, `expected` is not between
/// them, or the date is later than the bundle's; `gpu_not_in_server` and `too_many_gpus_in_server` where the row names
/// a machine. Of a row whose fields are all right.
void CheckPrice(const ObjectReader& row, const PriceContext& context);

}  // namespace tunefit
