#include <array>
#include <utility>

#include "core/codec/catalog_rows.h"

namespace tunefit {
namespace {

using rules::Count, rules::Number, rules::Object, rules::Positive, rules::Rows, rules::Text;

/// A constant is a share of what is printed, which tuned clocks can exceed, or seconds.
constexpr auto ConstantRules() {
  std::array<FieldRule, kConstantCount> rules{};
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i] = Positive(kConstantNames[i], 2).Needed();
  return rules;
}
constexpr auto kConstants = ConstantRules();

constexpr FieldRule kArchitecture[] = {
    ArchitectureName(),
    Positive("matmul_share", 1.2).Needed(),
    Positive("network_GBps", 10000).Needed(),
};
constexpr FieldRule kSpread[] = {Number("low", 0, 1).Needed(), Number("high", 0, 100).Needed()};

constexpr auto SpreadRules() {
  std::array<FieldRule, kBoundCount> rules{};
  for (std::size_t i = 0; i < rules.size(); ++i) rules[i] = Object(kBoundNames[i], kSpread).Needed();
  return rules;
}
constexpr auto kSpreads = SpreadRules();

constexpr FieldRule kRuns[] = {Text("source", 120).Needed(), Count("rows", 1, 100000).Needed()};

constexpr FieldRule kEfficiencies[] = {
    Object("constants", kConstants).Needed(),
    Rows("architectures", kArchitecture).Items(1).Needed(),
    Object("spreads", kSpreads).Needed(),
    Rows("runs", kRuns).Items(1).Needed(),
};

}  // namespace

void ReadEfficiencies(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kRule = Object("efficiencies", kEfficiencies);
  if (!CheckField(bundle, kRule, names) || bundle.Find("efficiencies") == nullptr) return;
  const ObjectReader object(bundle, "efficiencies");
  Efficiencies& read = catalog.efficiencies;
  const ObjectReader constants(object, "constants");
  for (std::size_t i = 0; i < kConstantCount; ++i) read.constants[i] = constants.Find(kConstantNames[i])->number;
  ForEachRow(object, "architectures", [&](const ObjectReader& row) {
    read.architectures.push_back(
        {row.Find("architecture")->text, row.Find("matmul_share")->number, row.Find("network_GBps")->number * kGiga});
  });
  RefuseSecondRows(object, "architectures", "architecture");
  RefuseSecondRows(object, "runs", "source");
  if (!read.architectures.front().name.empty()) {
    object.Fault("missing_field", "architectures", "must begin with one without a name, for any GPU", {});
  }
  const ObjectReader spreads(object, "spreads");
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    const ObjectReader spread(spreads, kBoundNames[i]);
    read.spreads[i] = {spread.Find("low")->number, spread.Find("high")->number};
  }
}

}  // namespace tunefit
