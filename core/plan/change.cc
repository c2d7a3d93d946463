#include "core/plan/change.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tunefit {
namespace {

/// What is less is noise beside the ranges of an estimate.
constexpr double kWorthTelling = 0.02;

using Kind = ChangeKind;
using Quality = ChangeQuality;
using Effort = ChangeEffort;

/// In the order of Change.
constexpr ChangeTraits kTraits[] = {
    {"gradient_checkpointing", Kind::kCheckpoints, Quality::kNone, Effort::kSetting},
    {"offload_checkpoints", Kind::kCheckpoints, Quality::kNone, Effort::kSetting},
    {"no_gradient_checkpointing", Kind::kCheckpoints, Quality::kNone, Effort::kSetting},
    {"fused_linear_loss", Kind::kLoss, Quality::kNone, Effort::kInstall},
    {"chunked_loss", Kind::kLoss, Quality::kNone, Effort::kSetting},
    {"fused_kernels", Kind::kKernels, Quality::kNone, Effort::kInstall},
    {"fused_attention", Kind::kAttention, Quality::kNone, Effort::kSetting},
    {"flash_attention", Kind::kAttention, Quality::kNone, Effort::kInstall},
    // More examples a step, and in packed rows they may look at each other.
    {"packing", Kind::kRows, Quality::kSlight, Effort::kSetting},
    {"padding_free", Kind::kRows, Quality::kNone, Effort::kSetting},
    {"fused_optimizer", Kind::kOptimizer, Quality::kNone, Effort::kSetting},
    {"paged_optimizer", Kind::kOptimizer, Quality::kNone, Effort::kInstall},
    {"optimizer_8bit", Kind::kOptimizer, Quality::kSlight, Effort::kInstall},
    {"paged_optimizer_8bit", Kind::kOptimizer, Quality::kSlight, Effort::kInstall},
    // Gradients are gone before their common norm is known, so they cannot be clipped by it.
    {"optimizer_in_backward", Kind::kBackward, Quality::kSlight, Effort::kSetting},
    {"bf16_weights", Kind::kWeights, Quality::kSlight, Effort::kSetting},
    {"smaller_micro_batch", Kind::kBatch, Quality::kNone, Effort::kSetting},
    {"larger_micro_batch", Kind::kBatch, Quality::kNone, Effort::kSetting},
    {"zero1", Kind::kSharding, Quality::kNone, Effort::kSetting},
    {"zero2", Kind::kSharding, Quality::kNone, Effort::kInstall},
    {"zero3", Kind::kSharding, Quality::kNone, Effort::kInstall},
    {"fsdp", Kind::kSharding, Quality::kNone, Effort::kSetting},
    {"fsdp2", Kind::kSharding, Quality::kNone, Effort::kSetting},
    {"offload_optimizer", Kind::kSharding, Quality::kNone, Effort::kInstall},
    {"offload_parameters", Kind::kSharding, Quality::kNone, Effort::kInstall},
    {"fewer_lora_targets", Kind::kMethod, Quality::kSlight, Effort::kSetting},
    {"lora", Kind::kMethod, Quality::kChangesMethod, Effort::kInstall},
    {"qlora", Kind::kMethod, Quality::kSlight, Effort::kInstall},
    {"shorter_sequence", Kind::kLength, Quality::kCutsRows, Effort::kSetting},
    {"more_gpus", Kind::kHardware, Quality::kNone, Effort::kHardware},
    {"smallest_card", Kind::kHardware, Quality::kNone, Effort::kHardware},
    {"cheapest_card", Kind::kHardware, Quality::kNone, Effort::kHardware},
    {"fastest_card", Kind::kHardware, Quality::kNone, Effort::kHardware},
};
static_assert(std::size(kTraits) == kChangeCount);

/// After over before; 1 where that says nothing.
double ShareOf(double before, double after) { return before > 0 ? after / before : 1; }

/// Of the memory before.
double FreedShare(const ChangeFigures& before, const ChangeFigures& after) {
  return 1 - ShareOf(before.device_bytes.expected, after.device_bytes.expected);
}

}  // namespace

const ChangeTraits& TraitsOf(Change change) { return kTraits[static_cast<std::size_t>(change)]; }

std::string_view ChangeName(Change change) { return TraitsOf(change).name; }

std::string_view ChangeQualityName(ChangeQuality quality) {
  constexpr std::string_view kNames[] = {"none", "slight", "changes_method", "cuts_rows"};
  return kNames[static_cast<std::size_t>(quality)];
}

std::string_view ChangeEffortName(ChangeEffort effort) {
  constexpr std::string_view kNames[] = {"setting", "install", "hardware"};
  return kNames[static_cast<std::size_t>(effort)];
}

double TimeShare(const ChangeFigures& before, const ChangeFigures& after) {
  if (before.hours && after.hours) return ShareOf(*before.hours, *after.hours);
  if (before.seconds_per_token && after.seconds_per_token) {
    return ShareOf(*before.seconds_per_token, *after.seconds_per_token);
  }
  return 1;
}

double CostShare(const ChangeFigures& before, const ChangeFigures& after) {
  if (!before.cost || !after.cost || before.cost->rented != after.cost->rented) return 1;
  return ShareOf(before.cost->amount, after.cost->amount);
}

bool IsWorthTelling(const ChangeFigures& before, const ChangeOutcome& outcome) {
  const ChangeFigures& after = outcome.after;
  if (after.verdict > before.verdict) return false;
  const double freed = FreedShare(before, after);
  const double time = TimeShare(before, after);
  const double cost = CostShare(before, after);
  const bool frees = freed >= kWorthTelling;
  const bool saves = time <= 1 - kWorthTelling || cost <= 1 - kWorthTelling;
  if (before.verdict != Verdict::kFits) return after.verdict == Verdict::kFits || frees || (saves && freed >= 0);
  const bool harmless = outcome.quality == ChangeQuality::kNone && time < 1 + kWorthTelling && cost < 1 + kWorthTelling;
  return saves || (frees && harmless);
}

std::vector<std::size_t> InOrder(const ChangeFigures& before, const std::vector<ChangeOutcome>& outcomes) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (IsWorthTelling(before, outcomes[i])) places.push_back(i);
  }
  const bool fits_already = before.verdict == Verdict::kFits;
  const auto rank = [&](std::size_t place) {
    const ChangeOutcome& outcome = outcomes[place];
    const ChangeFigures& after = outcome.after;
    const bool fits = after.verdict == Verdict::kFits;
    const bool hardware = TraitsOf(outcome.change).effort == ChangeEffort::kHardware;
    // What does not make the run fit is worth what it frees.
    const double freed = fits || fits_already ? 0 : FreedShare(before, after);
    return std::tuple(after.verdict, -freed, outcome.quality, hardware, TimeShare(before, after));
  };
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  return places;
}

}  // namespace tunefit
