#include "core/codec/plan.h"

#include <algorithm>
#include <utility>

#include "core/codec/request_names.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

/// What the request's own numbers need at least, where it does not say how many GPUs.
RequestFields WithGpus(RequestFields fields) {
  const ParallelFields& parallel = fields.parallel;
  const std::int64_t ranks = parallel.tensor.value_or(1) * parallel.pipeline.value_or(1) * parallel.context.value_or(1);
  if (!parallel.gpus && ranks > 1) fields.parallel.gpus = ranks;
  return fields;
}

}  // namespace

Plan::Plan(std::string_view request, const Catalog& catalog, const Market& market, bool prunes)
    : catalog_(catalog), market_(market), written_(ReadWritten(request)) {
  reading_.issues = written_.issues;
  if (HasError(reading_.issues)) return;
  reading_ = CompleteFields(WithGpus(written_.completed), catalog, &market);
  CheckNames();
  if (HasError(reading_.issues)) return;
  reading_.assumptions.clear();
  question_ = QuestionOf(written_.completed, reading_);
  subject_ = std::make_unique<RequestSubject>(question_.asked, question_.space.stacks, catalog, market);
  const Knowledge knowledge{&catalog.overheads, &catalog.efficiencies, &catalog.outside_steps};
  search_ =
      std::make_unique<Search>(*subject_, question_.space, question_.wishes, question_.dataset, knowledge, prunes);
}

void Plan::CheckNames() {
  const Field<std::vector<Word>>& names = written_.completed.plan.gpus;
  if (!names) return;
  std::vector<std::string_view> known;
  for (const CatalogGpu& row : catalog_.gpus) known.push_back(row.gpu.id);
  for (std::size_t i = 0; i < names->size(); ++i) {
    const Word name = (*names)[i];
    if (catalog_.FindGpu(name) != nullptr) continue;
    UnknownName(reading_, "unknown_gpu", Join({"plan.gpus.", std::to_string(i)}), "GPU with the id", name,
                MeantName(name, known));
  }
}

}  // namespace tunefit
