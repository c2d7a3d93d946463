#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/memory/estimate.h"

// Changes of a run that does not fit, is slow or wastes something: what each is, what it asks for, and which of those
// that were tried are worth telling, in which order. Nothing here tries them.

namespace tunefit {

/// In the order in which a run is looked at.
enum class Change : std::uint8_t {
  kGradientCheckpointing,
  kOffloadCheckpoints,
  kNoGradientCheckpointing,
  kFusedLinearLoss,
  kChunkedLoss,
  kFusedKernels,
  kFusedAttention,
  kFlashAttention,
  kPacking,
  kPaddingFree,
  kFusedOptimizer,
  kPagedOptimizer,
  kOptimizer8Bit,
  kPagedOptimizer8Bit,
  kOptimizerInBackward,
  kBf16Weights,
  kSmallerMicroBatch,
  kLargerMicroBatch,
  kZero1,
  kZero2,
  kZero3,
  kFsdp,
  kFsdp2,
  kOffloadOptimizer,
  kOffloadParameters,
  kFewerLoraTargets,
  kLora,
  kQlora,
  kShorterSequence,
  kMoreGpus,
  kSmallestCard,
  kCheapestCard,
  kFastestCard,
};
inline constexpr int kChangeCount = 33;

/// What becomes of the model that is trained: nothing; what runs that were compared hardly show; it is trained by
/// another method; it is trained on less of its rows.
enum class ChangeQuality : std::uint8_t { kNone, kSlight, kChangesMethod, kCutsRows };

/// What it takes: a setting; a package besides; other hardware.
enum class ChangeEffort : std::uint8_t { kSetting, kInstall, kHardware };

/// Changes of one kind stand in each other's place.
enum class ChangeKind : std::uint8_t {
  kCheckpoints,
  kLoss,
  kKernels,
  kAttention,
  kRows,
  kOptimizer,
  kBackward,
  kWeights,
  kBatch,
  kSharding,
  kMethod,
  kLength,
  kHardware,
};

struct ChangeTraits {
  std::string_view name;
  ChangeKind kind;
  ChangeQuality quality;  ///< at the least
  ChangeEffort effort;
};
const ChangeTraits& TraitsOf(Change change);

/// As the report and the catalog write it: "gradient_checkpointing".
std::string_view ChangeName(Change change);
std::string_view ChangeQualityName(ChangeQuality quality);
std::string_view ChangeEffortName(ChangeEffort effort);

/// What a run costs: of what can be rented what a report holds buying against, else of own machines.
struct ChangeCost {
  double amount = 0;  ///< in the answer's currency
  bool rented = false;
};

/// What a run takes before or after a change, as far as it is known. Expected values but for the range.
struct ChangeFigures {
  Verdict verdict = Verdict::kDoesNotFit;
  Range device_bytes;
  double host_bytes = 0;
  std::optional<double> step_seconds;
  std::optional<double> seconds_per_token;  ///< of all GPUs, padding included
  std::optional<double> hours;
  std::optional<ChangeCost> cost;
};

/// A change that was tried.
struct ChangeOutcome {
  Change change = Change::kGradientCheckpointing;
  ChangeQuality quality = ChangeQuality::kNone;
  ChangeFigures after;
};

/// Of the time before; under 1 where the change makes the run faster. By hours where both are known, else by tokens.
/// 1 where neither is.
double TimeShare(const ChangeFigures& before, const ChangeFigures& after);

/// Of the cost before; 1 where one of them is unknown, or they are not of the same sort.
double CostShare(const ChangeFigures& before, const ChangeFigures& after);

/// ADV-1  A change helps a run that does not surely fit when it makes it fit, frees 2 % of its memory, or makes it 2 %
/// faster or cheaper and takes no more memory; a run that fits when it makes it 2 % faster or cheaper, or frees so much
/// and costs neither time nor quality. None does after which the verdict is worse.
bool IsWorthTelling(const ChangeFigures& before, const ChangeOutcome& outcome);

/// ADV-2  The places of those worth telling, in order: first after which the run fits, the least harm to quality first,
/// settings before hardware, then the fastest; then the others, for a run that does not fit by what they free, else by
/// quality and time. Alike ones keep their order.
std::vector<std::size_t> InOrder(const ChangeFigures& before, const std::vector<ChangeOutcome>& outcomes);

}  // namespace tunefit
