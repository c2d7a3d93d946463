#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/trace/moment.h"

namespace tunefit {
namespace {

/// The overheads that `EstimateMemory` may list (core/memory/overheads.h).
constexpr std::string_view kOverheads[] = {"library_workspace", "live_spread",        "allocator_slack",
                                           "cuda_context",      "collective_buffers", "paged_optimizer_states"};

/// Whatever a report may list has a formula.
void CheckComplete(const ObjectReader& bundle, const Catalog& catalog) {
  const auto need = [&](std::string_view of) {
    if (catalog.FindFormula(of) == nullptr) {
      bundle.Fault("missing_field", "formulas", "has no row for this line of a report", {{"value", std::string(of)}});
    }
  };
  for (int term = 0; term < kTermCount; ++term) need(TermName(static_cast<Term>(term)));
  for (const std::string_view overhead : kOverheads) need(overhead);
}

}  // namespace

void ReadFormulas(const ObjectReader& bundle, Catalog& catalog) {
  static constexpr std::string_view kKnown[] = {"id", "of", "sources"};
  ForEachRow(bundle, "formulas", [&](const ObjectReader& row) {
    row.RefuseUnknown(kKnown);
    CatalogFormula formula;
    formula.id = ReadText(row, "id", 16);
    formula.of = ReadText(row, "of", 40);
    row.Require("sources");
    if (const auto ids = row.Texts("sources")) {
      for (const std::string_view id : *ids) {
        if (catalog.FindSource(id) == nullptr) {
          row.Fault("unknown_source", "sources", "names a source that the catalog lacks", {{"value", std::string(id)}});
        }
        formula.source_ids.emplace_back(id);
      }
      if (ids->empty()) row.Fault("unsourced", "sources", "names no source", {});
    }
    RefuseSecond(row, catalog.formulas, formula.id,
                 [](const CatalogFormula& earlier) -> const std::string& { return earlier.id; });
    catalog.formulas.push_back(std::move(formula));
  });
  if (bundle.List("formulas") != nullptr) CheckComplete(bundle, catalog);
}

}  // namespace tunefit
