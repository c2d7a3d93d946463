#pragma once

#include <cstdint>
#include <vector>

#include "core/memory/estimate.h"
#include "core/model/hardware.h"
#include "core/plan/choice.h"

// What a plan offers: runs none of which is worse than another in everything.

namespace tunefit {

enum class Acquisition : std::uint8_t { kRent, kBuy };

/// So many GPUs of one kind, and what they cost.
struct Supply {
  const Gpu* gpu = nullptr;
  std::int64_t gpu_place = 0;  ///< of the GPU among all that the caller knows
  Acquisition by = Acquisition::kRent;
  std::int64_t gpus = 1;
  std::int64_t gpus_per_machine = 1;
  std::int64_t server = -1;  ///< the machine's place in the caller's list; -1 where none is named
  Wiring wiring;
  Range price;                 ///< to rent of an hour of all, to buy of all at once; in the currency of the plan
  bool price_is_whole = true;  ///< processors and memory of the machines are in it
  double host_bytes = 0;       ///< memory of a machine, beside its GPUs'
};

/// A run that a plan may offer.
struct Candidate {
  PlanChoice choice;
  Supply supply;
  Range seconds;  ///< of the run
  Range cost;     ///< to rent of the run, to buy of what is bought
  Range device;   ///< bytes on the busiest GPU
  Verdict verdict = Verdict::kFits;
};

/// What two candidates are held against each other by.
struct Worth {
  Acquisition by = Acquisition::kRent;
  TunedBy method = TunedBy::kFull;
  bool fits = true;            ///< for certain: a verdict `fits` and not `tight`
  bool price_is_whole = true;  ///< and not of the GPUs alone
  double seconds = 0;
  double cost = 0;
};

Worth WorthOf(const Candidate& candidate);

/// How far two times or costs may lie apart and nobody would choose by them.
struct Tolerance {
  double share_of_seconds = 0, seconds = 0, share_of_cost = 0, money_to_rent = 0, money_to_buy = 0;
};
/// A fifth of the time, which is what its range is wide to each side, or five minutes; a tenth of the money, small
/// change, or the price of a cable.
inline constexpr Tolerance kAlike{0.2, 300, 0.1, 0.25, 50};

/// `a` is at least as good as `b` in everything, or worse by no more than is tolerated. Other methods are no rivals:
/// whoever asks wants to see what each of them takes.
bool Covers(const Worth& a, const Worth& b, const Tolerance& tolerance);

/// The candidates that no other one covers, in the order in which they were found.
class Front {
 public:
  explicit Front(const Tolerance& alike = kAlike) : alike_(alike) {}

  /// One that is there is at least as good, or nearly.
  bool Covers(const Worth& worth) const;
  /// Adds what is not covered. What it is better than in everything goes, and what may not fit, where this does and is
  /// nearly as good.
  void Add(const Candidate& candidate);

  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  Tolerance alike_;
  std::vector<Candidate> candidates_;
};

}  // namespace tunefit
