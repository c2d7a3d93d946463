#include <array>

#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Count, rules::Name, rules::Number, rules::Object, rules::Positive, rules::Rows, rules::Text,
    rules::Texts;

constexpr FieldRule kTheme[] = {
    Text("accent", 0, TextForm::kColour).Needed(),
    Text("on_accent", 0, TextForm::kColour).Needed(),
    Text("accent_soft", 0, TextForm::kColour).Needed(),
};
constexpr FieldRule kColours[] = {Object("light", kTheme).Needed(), Object("dark", kTheme).Needed()};
constexpr FieldRule kContact[] = {
    Text("name", 80),
    Text("email", 120, TextForm::kEmail),
    Text("phone", 40, TextForm::kPhone),
    Text("url", 200, TextForm::kUrl),
};
/// What the vendor asks, whatever is sold.
constexpr std::array kAsked = {kLowestPrice, kHighestPrice, kCurrency, kPriceMonth, Text("note", 200)};
constexpr auto kGpuPrice = rules::Together(std::array{Name("gpu", Table::kGpus).Needed()}, kAsked);
constexpr auto kServerPrice = rules::Together(
    std::array{
        Name("server", Table::kServers).Needed(),
        Name("gpu", Table::kGpus),
        Count("gpus", 1, 1024),
    },
    kAsked);
constexpr FieldRule kPrices[] = {
    Rows("gpus", kGpuPrice).Needed(),
    Rows("servers", kServerPrice).Needed(),
    Number("electricity_EUR_per_kWh", 0, 10),
};
constexpr FieldRule kLegal[] = {Text("nl", 1200), Text("en", 1200)};

constexpr FieldRule kVendor[] = {
    Text("name", 60).Needed(),
    Text("url", 200, TextForm::kUrl),
    Text("logo", 120, TextForm::kPicture),
    Object("colours", kColours),
    Object("contact", kContact).Items(1),
    Texts(Choice("languages", "nl en")).Items(1).Needed(),
    kCurrency,
    Texts(Name("servers", Table::kServers)),
    Texts({.key = "providers", .form = TextForm::kFilled, .names = Table::kProviders, .high = 60}),
    Object("prices", kPrices).Needed(),
    Object("legal", kLegal).Items(1),
};

}  // namespace

void CheckVendor(const ObjectReader& bundle, const KnownNames& names, const PriceContext& context) {
  static constexpr FieldRule kRule = Object("vendor", kVendor);
  if (!CheckField(bundle, kRule, names) || bundle.Find("vendor") == nullptr) return;
  const ObjectReader vendor(bundle, "vendor");
  const ObjectReader prices(vendor, "prices");
  for (const std::string_view list : {"gpus", "servers"}) {
    ForEachRow(prices, list, [&](const ObjectReader& row) { CheckPrice(row, context); });
  }
  // Whoever reads the page reads these.
  if (vendor.Find("legal") != nullptr) {
    const ObjectReader legal(vendor, "legal");
    for (const std::string& language : TextsOf(vendor, "languages")) legal.Require(language);
  }
  // One thing has one price of the vendor's.
  RefuseSecondRows(prices, "gpus", "gpu");
  RefuseSecondRows(prices, "servers", "server gpu gpus");
}

}  // namespace tunefit
