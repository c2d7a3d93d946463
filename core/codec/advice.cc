#include "core/codec/advice.h"

#include <algorithm>
#include <utility>

#include "core/codec/advice_changes.h"
#include "core/codec/answer.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"
#include "core/plan/combination.h"

namespace tunefit {
namespace {

/// Kept for other cards, and more of them, after settings have been combined.
constexpr int kHardwareTries = 10;

std::optional<ChangeCost> CostOf(const CostReport& report) {
  const RentedLine* line = report.reference_line();
  if (line != nullptr) return ChangeCost{line->cost.expected, true};
  if (report.bought) return ChangeCost{report.bought->of_run.total().expected, false};
  return std::nullopt;
}

ChangeFigures FiguresOf(const RequestReading& reading, const Answer& answer) {
  ChangeFigures figures;
  figures.device_bytes = answer.memory.device;
  figures.verdict = JudgeFit(answer.memory.device, reading.gpu->usable_bytes);
  figures.host_bytes = answer.memory.host.total();
  if (answer.time) {
    figures.step_seconds = answer.time->step_seconds.expected;
    figures.seconds_per_token = answer.time->step_seconds.expected / answer.time->tokens_per_step;
    if (answer.time->total_seconds) figures.hours = answer.time->total_seconds->expected * (1 / kSecondsPerHour);
  }
  if (answer.cost) figures.cost = CostOf(*answer.cost);
  return figures;
}

bool HasIssue(const Issues& issues, const std::string& code) {
  return std::any_of(issues.begin(), issues.end(), [&code](const Issue& issue) { return issue.code == code; });
}

/// `{batch.per_device}` becomes the patch's value of that field.
std::string Filled(std::string text, const RequestPatch& patch) {
  for (const PatchEdit& edit : patch.edits()) {
    const std::string name = Join({"{", edit.path, "}"});
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      text.replace(at, name.size(), PatchText(patch, edit.path));
    }
  }
  return text;
}

/// Tries changes of one request.
class Adviser {
 public:
  Adviser(const RequestReading& reading, const Answer& answer, const Catalog& catalog, const Market* market)
      : reading_(reading),
        catalog_(catalog),
        market_(market),
        written_(ReadRequestFields(ObjectReader(reading.tree, "", NullRule::kRefused, ignored_))),
        run_{written_, reading, LimitsOf(reading, answer, catalog), FiguresOf(reading, answer)} {}

  AdviceReport Advise(Issues& issues);

 private:
  static Limits LimitsOf(const RequestReading& reading, const Answer& answer, const Catalog& catalog) {
    const SearchBounds bounds{words::kPerDevice.high, words::kSequenceLength.high, words::kTokensHigh};
    return answer.limits ? *answer.limits : FindLimits(reading.workload, *reading.gpu, catalog.overheads, bounds);
  }

  std::optional<ChangeFigures> Try(const RequestPatch& patch, int most_tries = kMostTries);
  void TrySettings();
  void FindCombination();
  void TryOnOtherHardware();
  bool TryFirstThatFits(const std::vector<ProposedChange>& hardware, const std::vector<ProposedChange>& settings);
  void TryCheapest(const std::vector<ProposedChange>& proposed);
  void TryHardware();
  void Keep(const ProposedChange& proposed, const ChangeFigures& after);
  std::vector<ProposedChange> PartsAt(const std::vector<std::size_t>& places) const;
  Advice AdviceOf(const std::vector<ProposedChange>& parts, const ChangeFigures& after) const;
  const StackSwitch* SwitchOf(Change change) const;
  bool IsKnown(const RequestPatch& patch) const;

  const RequestReading& reading_;
  const Catalog& catalog_;
  const Market* market_;
  Issues ignored_;  ///< of reading the fields again; there are none
  const RequestFields written_;
  const AdvisedRun run_;
  int tries_ = 0;
  std::vector<ProposedChange> tried_;    ///< of the outcomes
  std::vector<ChangeOutcome> outcomes_;  ///< of single changes
  Combination combination_;
  std::vector<Advice> combined_;
  bool settings_make_it_fit_ = false;  ///< alone or together
};

/// The changed request's figures; nothing where it is refused, where there is a new warning about it, or no more are to
/// be tried.
std::optional<ChangeFigures> Adviser::Try(const RequestPatch& patch, int most_tries) {
  if (tries_ >= most_tries) return std::nullopt;
  ++tries_;
  RequestFields fields = written_;
  ApplyPatch(patch, fields);
  fields.include.reset();
  fields.detail = "summary";
  RequestReading changed = CompleteFields(std::move(fields), catalog_, market_);
  if (HasError(changed.issues) || changed.gpu == nullptr) return std::nullopt;
  const Answer answer = AnswerTo(changed, catalog_, market_);
  for (const Issue& issue : changed.issues) {
    if (issue.severity == Severity::kWarning && !HasIssue(reading_.issues, issue.code)) return std::nullopt;
  }
  // What is moved off the card must have a place in the machine that is named.
  const double most = changed.server == nullptr ? 0 : changed.server->memory_bytes;
  if (most > 0 && answer.memory.host.total() > most) return std::nullopt;
  return FiguresOf(changed, answer);
}

/// A card that was found by one question is not told again as the answer to another.
bool Adviser::IsKnown(const RequestPatch& patch) const {
  const std::string card = PatchText(patch, "hardware.gpu");
  return !card.empty() && std::any_of(tried_.begin(), tried_.end(), [&card](const ProposedChange& tried) {
    return PatchText(tried.patch, "hardware.gpu") == card;
  });
}

void Adviser::Keep(const ProposedChange& proposed, const ChangeFigures& after) {
  if (IsKnown(proposed.patch)) return;
  tried_.push_back(proposed);
  outcomes_.push_back({proposed.change, proposed.quality, after});
  // The request's own prices are of its own hardware.
  const bool hardware = TraitsOf(proposed.change).effort == ChangeEffort::kHardware;
  if (hardware && HasOwnPrice(reading_.completed.prices)) outcomes_.back().after.cost.reset();
}

void Adviser::TrySettings() {
  for (const ProposedChange& proposed : ProposeSettings(run_)) {
    if (!MayHaveSetting(market_, *reading_.completed.stack, proposed.change)) continue;
    const std::optional<ChangeFigures> after = Try(proposed.patch);
    if (after) Keep(proposed, *after);
  }
}

RequestPatch Together(const std::vector<ProposedChange>& parts) {
  RequestPatch patch;
  for (const ProposedChange& part : parts) patch.Add(part.patch);
  return patch;
}

std::vector<ProposedChange> Adviser::PartsAt(const std::vector<std::size_t>& places) const {
  std::vector<ProposedChange> parts;
  parts.reserve(places.size());
  for (const std::size_t place : places) parts.push_back(tried_[place]);
  return parts;
}

/// Several changes where none makes the run fit alone, or none does with so little harm.
void Adviser::FindCombination() {
  if (run_.fits()) return;
  std::optional<ChangeQuality> alone;
  for (const ChangeOutcome& outcome : outcomes_) {
    if (outcome.after.verdict == Verdict::kFits) alone = std::min(alone.value_or(outcome.quality), outcome.quality);
  }
  settings_make_it_fit_ = alone.has_value();
  if (alone == ChangeQuality::kNone) return;
  const ChangeQuality most =
      alone ? static_cast<ChangeQuality>(static_cast<int>(*alone) - 1) : ChangeQuality::kCutsRows;
  combination_ = Combine(run_.figures, outcomes_, most, [this](const std::vector<std::size_t>& places) {
    return Try(Together(PartsAt(places)), kMostTries - kHardwareTries);
  });
  if (combination_.after.verdict != Verdict::kFits) return;
  settings_make_it_fit_ = true;
  combined_.push_back(AdviceOf(PartsAt(combination_.places), combination_.after));
}

/// Keeps the first that fits, beside the settings where there are any.
bool Adviser::TryFirstThatFits(const std::vector<ProposedChange>& hardware,
                               const std::vector<ProposedChange>& settings) {
  for (const ProposedChange& each : hardware) {
    std::vector<ProposedChange> parts = settings;
    parts.push_back(each);
    std::optional<ChangeFigures> after = Try(Together(parts));
    if (!after || after->verdict != Verdict::kFits) continue;
    if (parts.size() == 1) {
      Keep(each, *after);
    } else {
      if (HasOwnPrice(reading_.completed.prices)) after->cost.reset();
      combined_.push_back(AdviceOf(parts, *after));
    }
    return true;
  }
  return false;
}

/// Where nothing makes the run fit on its card: with those of the settings that harm nothing, on more cards or on
/// another one. What the settings divided or moved off the card, these divide or hold themselves.
void Adviser::TryOnOtherHardware() {
  std::vector<ProposedChange> settings;
  Batch batch = reading_.workload.batch;
  for (const ProposedChange& part : PartsAt(combination_.places)) {
    if (part.quality != ChangeQuality::kNone || TraitsOf(part.change).kind == ChangeKind::kSharding) continue;
    settings.push_back(part);
    if (part.change != Change::kSmallerMicroBatch) continue;
    batch.gradient_accumulation *= batch.per_device;
    batch.per_device = 1;
  }
  if (settings.empty()) return;
  const double bytes = combination_.after.device_bytes.expected;
  TryFirstThatFits(ProposeMoreGpus(run_, batch, market_), settings);
  TryFirstThatFits(ProposeSmallestCards(run_, bytes, catalog_, market_), settings);
}

void Adviser::TryCheapest(const std::vector<ProposedChange>& proposed) {
  const ProposedChange* cheapest = nullptr;
  ChangeFigures least;
  for (const ProposedChange& each : proposed) {
    const std::optional<ChangeFigures> after = Try(each.patch);
    if (!after || after->verdict != Verdict::kFits || CostShare(run_.figures, *after) >= 1) continue;
    if (cheapest != nullptr && after->cost->amount >= least.cost->amount) continue;
    cheapest = &each;
    least = *after;
  }
  if (cheapest != nullptr) Keep(*cheapest, least);
}

void Adviser::TryHardware() {
  if (!run_.fits() && !settings_make_it_fit_) TryOnOtherHardware();
  const double bytes = run_.figures.device_bytes.expected;
  TryFirstThatFits(ProposeMoreGpus(run_, reading_.workload.batch, market_), {});
  TryFirstThatFits(ProposeSmallestCards(run_, bytes, catalog_, market_), {});
  if (market_ != nullptr) TryCheapest(ProposeCheapestCards(run_, catalog_, *market_));
  TryFirstThatFits(ProposeFastestCard(run_, catalog_), {});
}

/// Null where the catalog does not say how, or there is no setting.
const StackSwitch* Adviser::SwitchOf(Change change) const {
  if (market_ == nullptr) return nullptr;
  const StackSwitch* row = market_->FindSwitch(*reading_.completed.stack, ChangeName(change));
  return row == nullptr || row->setting.empty() ? nullptr : row;
}

Advice Adviser::AdviceOf(const std::vector<ProposedChange>& parts, const ChangeFigures& after) const {
  Advice advice;
  advice.patch = Together(parts);
  advice.after = after;
  for (const ProposedChange& part : parts) {
    advice.changes.push_back(part.change);
    advice.quality = std::max(advice.quality, part.quality);
    advice.effort = std::max(advice.effort, TraitsOf(part.change).effort);
    const StackSwitch* row = SwitchOf(part.change);
    if (row == nullptr) continue;
    advice.how += (advice.how.empty() ? "" : "\n") + Filled(row->setting, advice.patch);
    advice.source_ids.insert(advice.source_ids.end(), row->source_ids.begin(), row->source_ids.end());
  }
  return advice;
}

AdviceReport Adviser::Advise(Issues& issues) {
  TrySettings();
  FindCombination();
  TryHardware();
  AdviceReport report;
  report.before = run_.figures;
  report.entries = std::move(combined_);
  for (const std::size_t place : InOrder(run_.figures, outcomes_)) {
    report.entries.push_back(AdviceOf({tried_[place]}, outcomes_[place].after));
  }
  if (!run_.fits() && !settings_make_it_fit_) {
    AddIssue(issues, "no_change_fits", "hardware.gpu",
             Join({"No change of the settings that was tried makes the run fit on the ", reading_.gpu->name, "."}),
             {{"value", reading_.gpu->name}}, Severity::kNote);
  }
  return report;
}

}  // namespace

bool MayHaveSetting(const Market* market, std::string_view stack, Change change) {
  const StackSwitch* row = market == nullptr ? nullptr : market->FindSwitch(stack, ChangeName(change));
  return row == nullptr || !row->setting.empty();
}

AdviceReport AdviseOn(RequestReading& reading, const Answer& answer, const Catalog& catalog, const Market* market) {
  if (reading.gpu == nullptr || reading.tree.kind != JsonKind::kObject) return {};
  return Adviser(reading, answer, catalog, market).Advise(reading.issues);
}

}  // namespace tunefit
