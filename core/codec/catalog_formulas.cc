#include "core/codec/catalog_rows.h"
#include "core/codec/words.h"
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
      bundle.Fault("missing_field", "formulas", Join({"has no row for a line of reports, ", of}), {{"value", of}});
    }
  };
  for (int term = 0; term < kTermCount; ++term) need(TermName(static_cast<Term>(term)));
  for (const std::string_view overhead : kOverheads) need(overhead);
}

}  // namespace

void ReadFormulas(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kFormula[] = {rules::Text("id", 0, TextForm::kFormulaId).Needed(),
                                           rules::Text("of", 40).Needed(), rules::SourceIds()};
  static constexpr FieldRule kFormulas = rules::Rows("formulas", kFormula);
  if (!CheckField(bundle, kFormulas, names) || bundle.Find("formulas") == nullptr) return;
  ForEachRow(bundle, "formulas", [&](const ObjectReader& row) {
    catalog.formulas.push_back(
        {.id = row.Find("id")->text, .of = row.Find("of")->text, .source_ids = TextsOf(row, "sources")});
  });
  CheckComplete(bundle, catalog);
}

}  // namespace tunefit
