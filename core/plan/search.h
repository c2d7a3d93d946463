#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/memory/overheads.h"
#include "core/plan/front.h"
#include "core/plan/shape_traces.h"
#include "core/plan/space.h"
#include "core/time/efficiencies.h"
#include "core/time/outside_steps.h"
#include "core/time/run.h"

// Finds what to buy or rent. It holds no formula of memory, time or cost: it asks the rooms that have them, for as few
// candidates as it can.

namespace tunefit {

/// What the visitor wants; what is not said is no bound.
struct Wishes {
  bool rents = true, buys = true;
  std::optional<double> most_seconds, most_cost;
};

/// What estimates start from.
struct Knowledge {
  const Overheads* overheads = nullptr;
  const Efficiencies* efficiencies = nullptr;
  const OutsideRates* outside = nullptr;
};

/// The caller's side of a plan: how a choice is said in a request, and what the market has.
class PlanSubject {
 public:
  PlanSubject() = default;
  PlanSubject(const PlanSubject&) = delete;
  PlanSubject& operator=(const PlanSubject&) = delete;
  virtual ~PlanSubject() = default;

  /// Nothing where no library runs that, or it is not modelled.
  virtual std::optional<Workload> WorkloadOf(const PlanChoice& choice) = 0;
  /// Every way to come by so many GPUs. The same answer every time, until the plan ends.
  virtual const std::vector<Supply>& SuppliesOf(std::int64_t gpus) = 0;
};

class Search {
 public:
  /// `subject` and what `knowledge` points to must outlive the search. Without `prunes` every candidate is computed,
  /// and the front is exact: what tests hold the search against.
  Search(PlanSubject& subject, Space space, const Wishes& wishes, const Dataset& dataset, const Knowledge& knowledge,
         bool prunes = true);

  /// Looks at the next shape that may hold something better. False once there is none.
  bool Advance();

  /// Candidates of the space that were computed or ruled out so far, and of those the computed ones.
  std::int64_t seen() const { return seen_; }
  std::int64_t computed() const { return computed_; }
  const Front& front() const { return front_; }
  const Space& space() const { return space_; }

 private:
  /// PLAN-1  What no layout of a method, stack and way of checkpointing is faster than.
  struct Bound {
    TunedBy method = TunedBy::kFull;
    std::int64_t stack = 0;
    Checkpointing checkpointing = Checkpointing::kNone;
    std::optional<ShapeTraces> traces;  ///< nothing where no library runs it on one GPU
    std::vector<JobCounts> counts;      ///< at each micro-batch
    std::vector<double> seconds;        ///< of each GPU, by its place; under 0 until it is asked for
  };
  /// A candidate whose memory is not known yet.
  struct Open {
    const Supply* supply;
    std::size_t batch;
    Worth worth;
  };

  Bound& BoundOf(const Shape& shape);
  double LeastSeconds(Bound& bound, const Supply& supply);
  bool IsWorthIt(const Worth& worth) const;
  std::vector<const Supply*> LiveSupplies(const Shape& shape, const std::vector<Supply>& supplies);
  void TryShape(const Shape& shape, const std::vector<const Supply*>& supplies);
  std::vector<Open> TimeOf(const Shape& shape, ShapeTraces& traces, const std::vector<const Supply*>& supplies);
  void AddTimed(const Shape& shape, TracedShape& traced, const std::vector<const Supply*>& supplies,
                std::vector<Open>& open);
  void AddFitting(const Shape& shape, ShapeTraces& traces, const std::vector<Open>& open);
  Candidate CandidateOf(const Shape& shape, TracedShape& traced, const MicroBatch& batch, const Supply& supply,
                        const DeviceUse& use) const;

  PlanSubject& subject_;
  const Space space_;
  const Wishes wishes_;
  const Dataset dataset_;
  const Knowledge knowledge_;
  const bool prunes_;
  std::vector<Shape> shapes_;
  std::size_t next_ = 0;
  std::vector<Bound> bounds_;
  Front front_;
  std::int64_t seen_ = 0, computed_ = 0;
};

}  // namespace tunefit
