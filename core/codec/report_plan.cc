#include <algorithm>
#include <functional>

#include "core/codec/answer.h"
#include "core/codec/plan.h"
#include "core/codec/report.h"
#include "core/codec/report_parts.h"
#include "core/codec/request_words.h"
#include "core/plan/next_break.h"

// What a plan found, as wasm/plan.d.ts describes it.

namespace tunefit {
namespace {

std::string_view MethodName(TunedBy method) {
  switch (method) {
    case TunedBy::kFull:
      return "full";
    case TunedBy::kLora:
      return "lora";
    case TunedBy::kQlora:
      return "qlora";
  }
  return "";
}

std::string_view AcquisitionName(Acquisition by) { return by == Acquisition::kRent ? "rent" : "buy"; }

std::string_view VerdictWord(Verdict verdict) { return verdict == Verdict::kFits ? "fits" : "tight"; }

/// In the order in which they are offered: rented before bought, the cheapest first.
std::vector<const Candidate*> InOrder(const Front& front) {
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : front.candidates()) candidates.push_back(&candidate);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate* a, const Candidate* b) {
    if (a->supply.by != b->supply.by) return a->supply.by < b->supply.by;
    if (a->cost.expected != b->cost.expected) return a->cost.expected < b->cost.expected;
    if (a->seconds.expected != b->seconds.expected) return a->seconds.expected < b->seconds.expected;
    return a->supply.gpu->id < b->supply.gpu->id;
  });
  return candidates;
}

/// Why candidates are offered, beside being better than all others in something.
class Reasons {
 public:
  explicit Reasons(const std::vector<const Candidate*>& candidates) : candidates_(candidates) {}

  std::vector<std::string_view> Of(const Candidate& candidate) const {
    std::vector<std::string_view> why;
    const auto same_way = [&](const Candidate& other) { return other.supply.by == candidate.supply.by; };
    const auto same_method = [&](const Candidate& other) {
      return same_way(other) && other.choice.method == candidate.choice.method;
    };
    const auto cost = [](const Candidate& one) { return one.cost.expected; };
    const auto seconds = [](const Candidate& one) { return one.seconds.expected; };
    const auto product = [](const Candidate& one) { return one.cost.expected * one.seconds.expected; };
    const auto gpus = [](const Candidate& one) { return static_cast<double>(one.supply.gpus); };
    if (IsLeast(candidate, same_way, cost)) why.emplace_back("cheapest");
    if (IsLeast(candidate, same_way, seconds)) why.emplace_back("fastest");
    if (IsLeast(candidate, same_method, cost)) why.emplace_back("cheapest_of_method");
    if (IsLeast(candidate, same_method, product)) why.emplace_back("balanced");
    if (IsLeast(candidate, same_method, gpus)) why.emplace_back("fewest_gpus");
    return why;
  }

 private:
  /// The first of those that it is compared with that has the least of it.
  template <typename Compared, typename Amount>
  bool IsLeast(const Candidate& candidate, Compared compared, Amount amount) const {
    const Candidate* least = nullptr;
    for (const Candidate* other : candidates_) {
      if (compared(*other) && (least == nullptr || amount(*other) < amount(*least))) least = other;
    }
    return least == &candidate;
  }

  const std::vector<const Candidate*>& candidates_;
};

void WriteGpuFacts(JsonWriter& writer, const CatalogGpu& row) {
  writer.Key("gpu");
  writer.BeginObject();
  writer.Text("id", row.gpu.id);
  writer.Text("name", row.gpu.name);
  writer.TextOrNull("segment", row.gpu.segment);
  writer.TextOrNull("form", row.form);
  writer.TextOrNull("ecc", row.ecc);
  writer.TextOrNull("compute_capability", row.gpu.compute_capability);
  const CudaFloor* floor = CudaFloorOf(row.gpu);
  writer.TextOrNull("cuda_toolkit", floor != nullptr ? floor->toolkit : "");
  writer.TextOrNull("cuda_driver", floor != nullptr ? floor->driver : "");
  writer.TextOrNull("release", row.release);
  writer.Number("board_power_watts", row.gpu.board_power_watts);
  WriteBytes(writer, "usable_bytes", row.gpu.usable_bytes);
  writer.EndObject();
}

void WriteServerFacts(JsonWriter& writer, const Supply& supply, const Market& market) {
  if (supply.server < 0) return writer.Null("server");
  const CatalogServer& server = market.servers[static_cast<std::size_t>(supply.server)];
  writer.Key("server");
  writer.BeginObject();
  writer.Text("id", server.id);
  writer.Text("name", server.name);
  writer.Count("gpus_max", server.gpus_max);
  writer.Count("gpus_free", server.gpus_max - supply.gpus_per_machine);
  writer.TextOrNull("form", server.form);
  writer.TextOrNull("cooling", server.cooling);
  writer.CountOrNull("height_units", server.height_units);
  writer.CountOrNull("power_watts", static_cast<std::int64_t>(server.power_watts));
  writer.EndObject();
}

}  // namespace

void Plan::WriteProposal(JsonWriter& writer, const PlanLine& line, const Candidate& candidate,
                         const std::vector<std::string_view>& why, bool reports) const {
  const Supply& supply = candidate.supply;
  writer.BeginObject();
  writer.Text("acquire", AcquisitionName(supply.by));
  writer.Text("method", MethodName(candidate.choice.method));
  writer.Key("why");
  writer.BeginList();
  for (const std::string_view each : why) writer.Text(each);
  writer.EndList();
  writer.Text("verdict", VerdictWord(candidate.verdict));
  WriteRange(writer, "total_seconds", candidate.seconds);
  WriteRange(writer, "cost", candidate.cost);
  writer.Flag("price_is_whole", supply.price_is_whole);
  writer.Text("currency", CurrencyName(line.question.asked.prices.currency.value_or(market_.prices.currency)));
  WriteRange(writer, "device_bytes", candidate.device);
  writer.Count("gpus", supply.gpus);
  writer.Count("machines", (supply.gpus + supply.gpus_per_machine - 1) / supply.gpus_per_machine);
  WriteGpuFacts(writer, catalog_.gpus[static_cast<std::size_t>(supply.gpu_place)]);
  WriteServerFacts(writer, supply, market_);
  RequestReading reading = CompleteFields(line.subject->FieldsOf(candidate.choice, supply), catalog_, &market_);
  WriteCompletedRequest(writer, reading);
  if (reports) {
    const SearchBounds bounds{words::kPerDevice.high, words::kSequenceLength.high, words::kTokensHigh};
    const NextBreak next = NextBreakOf(reading.workload, *supply.gpu, catalog_.overheads, bounds);
    writer.Key("next_break");
    writer.BeginObject();
    writer.CountOrNull("sequence_length", next.sequence_length);
    writer.CountOrNull("per_device", next.per_device);
    writer.EndObject();
    reading.full_detail = false;
    const Answer answer = AnswerTo(reading, catalog_, &market_);
    writer.Key("report");
    writer.Raw(WriteReport(reading, answer, catalog_));
  }
  writer.EndObject();
}

/// False where all are written.
bool Plan::WriteNextReport() {
  const PlanLine& own = *lines_.front();
  const std::vector<const Candidate*> candidates = InOrder(own.search->front());
  if (reported_.size() >= candidates.size()) return false;
  const Candidate& candidate = *candidates[reported_.size()];
  JsonWriter writer(16000);
  WriteProposal(writer, own, candidate, Reasons(candidates).Of(candidate), true);
  reported_.push_back(writer.Take());
  return reported_.size() < candidates.size();
}

/// Of each model and method what costs least, for the model's own hardware is as it was asked.
void Plan::WriteGrowth(JsonWriter& writer) const {
  if (lines_.size() < 2) return;
  writer.Key("growth");
  writer.BeginList();
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const PlanLine& line = *lines_[i];
    const CatalogModel& model = *catalog_.FindModel(*line.question.asked.model);
    writer.BeginObject();
    writer.Text("model", model.id);
    writer.Text("name", model.name);
    writer.Count("parameters", model.parameters);
    writer.Key("best");
    writer.BeginList();
    const std::vector<const Candidate*> candidates = InOrder(line.search->front());
    const Reasons reasons(candidates);
    for (const Candidate* candidate : candidates) {
      const std::vector<std::string_view> why = reasons.Of(*candidate);
      const bool is_cheapest = std::find(why.begin(), why.end(), "cheapest_of_method") != why.end();
      if (is_cheapest) WriteProposal(writer, line, *candidate, why, false);
    }
    writer.EndList();
    writer.EndObject();
  }
  writer.EndList();
}

std::string Plan::Write(bool done) {
  const PlanLine& own = *lines_.front();
  std::int64_t seen = 0;
  std::int64_t computed = 0;
  for (const std::unique_ptr<PlanLine>& line : lines_) {
    seen += line->search->seen();
    computed += line->search->computed();
  }
  JsonWriter writer(64000);
  writer.BeginObject();
  writer.Text("status", "ok");
  writer.Flag("done", done);
  writer.Count("seen", seen);
  writer.Count("computed", computed);
  WriteIssues(writer, reading_.issues);
  WriteAssumptions(writer, reading_.assumptions);
  writer.Key("best");
  writer.BeginList();
  const std::vector<const Candidate*> candidates = InOrder(own.search->front());
  const Reasons reasons(candidates);
  for (const std::string& proposal : reported_) writer.Raw(proposal);
  for (std::size_t i = reported_.size(); i < candidates.size(); ++i) {
    WriteProposal(writer, own, *candidates[i], reasons.Of(*candidates[i]), false);
  }
  writer.EndList();
  WriteGrowth(writer);
  writer.EndObject();
  return writer.Take();
}

}  // namespace tunefit
