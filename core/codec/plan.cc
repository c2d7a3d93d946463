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
  AddLine(written_.completed, reading_, prunes);
  AddGrowth(prunes);
}

void Plan::AddLine(RequestFields asked, RequestReading& reading, bool prunes) {
  PlanLine& line = *lines_.emplace_back(std::make_unique<PlanLine>());
  line.question = QuestionOf(std::move(asked), reading);
  line.subject = std::make_unique<RequestSubject>(line.question.asked, line.question.space.stacks, catalog_, market_);
  const Knowledge knowledge{&catalog_.overheads, &catalog_.efficiencies, &catalog_.outside_steps};
  line.search = std::make_unique<Search>(*line.subject, line.question.space, line.question.wishes,
                                         line.question.dataset, knowledge, prunes);
}

/// What the same hardware carries of other models: all else stays as it is asked.
void Plan::AddGrowth(bool prunes) {
  const RequestFields& asked = written_.completed;
  if (!asked.plan.growth) return;
  for (const Word model : *asked.plan.growth) {
    RequestFields grown = asked;
    grown.model = model;
    grown.model_config = nullptr;
    RequestReading reading = CompleteFields(WithGpus(grown), catalog_, &market_);
    if (!HasError(reading.issues)) AddLine(std::move(grown), reading, prunes);
  }
}

bool Plan::Advance() {
  while (next_ < lines_.size()) {
    if (lines_[next_]->search->Advance()) return true;
    ++next_;
  }
  return WriteNextReport();
}

/// Names of the catalog that are asked for under `plan`.
void Plan::CheckNames() {
  const PlanFields& plan = written_.completed.plan;
  const auto check = [&](const Field<std::vector<Word>>& names, const char* list, const char* code, const char* kind,
                         const auto& rows, auto id_of, auto is_known) {
    if (!names) return;
    std::vector<std::string_view> known;
    for (const auto& row : rows) known.push_back(id_of(row));
    for (std::size_t i = 0; i < names->size(); ++i) {
      const Word name = (*names)[i];
      if (is_known(name)) continue;
      UnknownName(reading_, code, Join({list, std::to_string(i)}), kind, name, MeantName(name, known));
    }
  };
  check(
      plan.gpus, "plan.gpus.", "unknown_gpu", "GPU with the id", catalog_.gpus,
      [](const CatalogGpu& row) -> std::string_view { return row.gpu.id; },
      [&](Word name) { return catalog_.FindGpu(name) != nullptr; });
  check(
      plan.growth, "plan.growth.", "unknown_model", "model named", catalog_.models,
      [](const CatalogModel& row) -> std::string_view { return row.id; },
      [&](Word name) { return catalog_.FindModel(name) != nullptr; });
}

}  // namespace tunefit
