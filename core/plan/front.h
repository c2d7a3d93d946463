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
  Range price;  ///< to rent of an hour of all, to buy of all at once; in the currency of the plan
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
  bool fits = true;  ///< for certain: a verdict `fits` and not `tight`
  double seconds = 0;
  double cost = 0;
};

Worth WorthOf(const Candidate& candidate);

/// Times and costs closer than this are alike: a twentieth, where the ranges of time are four times as wide.
inline constexpr double kAlike = 0.05;

/// `a` is at least as good as `b` in everything, or worse by no more than that share of it.
bool Covers(const Worth& a, const Worth& b, double share);

/// The candidates that no other one covers, in the order in which they were found.
class Front {
 public:
  /// One that is there is at least as good, or nearly.
  bool Covers(const Worth& worth) const;
  /// Adds what is not covered; what it is better than in everything goes.
  void Add(const Candidate& candidate);

  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  std::vector<Candidate> candidates_;
};

}  // namespace tunefit
