#include "core/memory/reserved.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/memory/allocator.h"
#include "core/memory/replay.h"

namespace tunefit {
namespace {

constexpr double kSmallSegment = 2 << 20;
/// Beyond these nothing is simulated: no machine holds such a model, and the answer must not take long.
constexpr double kMostBytes = 1e12;
constexpr double kMostOperations = 40000;
constexpr double kOwnSegmentFrom = 10 << 20;
constexpr double kSharedSegment = 20 << 20;
/// Below this share of the weights, states are too small for their place to matter: one step shows it all.
constexpr double kStatesThatMatter = 0.02;

/// One run of a plan through an allocator.
class Simulation {
 public:
  Simulation(const AllocatorPlan& plan, const AllocatorUse& use)
      : plan_(&plan),
        allocator_(use.expandable_segments, use.full_card),
        newest_(plan.bytes.size(), CachingAllocator::kNone) {}

  /// The same step for another length, from here on. Nothing that events made is alive.
  void Follow(const AllocatorPlan& plan) { plan_ = &plan; }

  /// Blocks that come first and stay: they fill their segments one after another.
  void Place(const std::vector<Resident>& residents) {
    for (const Resident& resident : residents) {
      const double bytes = BytesOf(resident);
      const auto count = static_cast<double>(resident.count);
      if (plan_->IsSmall(resident.storage)) {
        small_ += bytes * count;
        small_residents_ += bytes * count;
      } else if (bytes < kOwnSegmentFrom) {
        const double in_one = std::floor(kSharedSegment / bytes);
        placed_ += kSharedSegment * std::ceil(count / in_one);
      } else {
        placed_ += kSmallSegment * std::ceil(bytes / kSmallSegment) * count;
      }
    }
    small_peak_ = small_;
  }

  void Allocate(const std::vector<Resident>& residents) { Change(residents, 1); }
  void Free(const std::vector<Resident>& residents) { Change(residents, -1); }

  void AllocateWorkspace(double bytes) {
    if (bytes > AllocatorPlan::kSmallBlockBytes) {
      allocator_.Allocate(static_cast<std::int64_t>(RoundToGranule(bytes)));
    }
  }

  void RunSections(double workspace_bytes) {
    bool in_backward = false;
    AllocateWorkspace(workspace_bytes);
    for (const SectionPlan& section : plan_->sections) {
      if (section.backward && !in_backward) AllocateWorkspace(workspace_bytes);
      in_backward = in_backward || section.backward;
      RunSection(section);
    }
  }

  /// Gradients, and whatever else the events left alive.
  void FreeWhatEventsMade() {
    for (const std::int32_t list : plan_->emptied) {
      while (newest_[static_cast<std::size_t>(list)] != CachingAllocator::kNone) Pop(list);
    }
    small_ = small_residents_;
  }

  double reserved_bytes() const {
    const double small_segments =
        static_cast<double>(static_cast<std::int64_t>((small_peak_ + kSmallSegment - 1) / kSmallSegment));
    return placed_ + static_cast<double>(allocator_.peak_reserved_bytes()) + small_segments * kSmallSegment;
  }

 private:
  double BytesOf(const Resident& resident) const { return plan_->bytes[static_cast<std::size_t>(resident.storage)]; }

  void Change(const std::vector<Resident>& residents, std::int32_t sign) {
    for (const Resident& resident : residents) {
      const auto i = static_cast<std::size_t>(resident.storage);
      const double bytes = plan_->bytes[i];
      if (plan_->IsSmall(resident.storage)) {
        small_ += sign * bytes * static_cast<double>(resident.count);
        small_residents_ += sign * bytes * static_cast<double>(resident.count);
        small_peak_ = std::max(small_peak_, small_);
        continue;
      }
      const auto count = static_cast<std::int32_t>(resident.count);
      Run({static_cast<std::int64_t>(bytes), plan_->lists[i], sign * count, plan_->step.storages[i].stream, false},
          true, 1);
    }
  }

  /// A run of layers: some whole, evenly spread, the first and the last among them; between those only what lasts,
  /// that of a few layers as one block where the model has very many.
  void RunSection(const SectionPlan& section) {
    const std::int64_t repeats = section.repeats;
    const auto whole = static_cast<std::int64_t>(std::ceil(plan_->whole_share * static_cast<double>(repeats)));
    if (!section.folds || whole >= repeats) {
      for (std::int64_t k = 0; k < repeats; ++k) Run(section.whole, section.backward, 1);
      return;
    }
    const std::int64_t gaps = std::max<std::int64_t>(1, whole - 1);
    const std::int64_t between = repeats - gaps - 1;
    const std::int64_t bundle = (between + section.most_bundles - 1) / section.most_bundles;
    for (std::int64_t gap = 0; gap < gaps; ++gap) {
      Run(section.whole, section.backward, 1);
      // Backward meets the gaps, and the bundles within them, in the reverse order.
      const std::int64_t place = section.backward ? gaps - 1 - gap : gap;
      std::int64_t left = between * (place + 1) / gaps - between * place / gaps;
      while (left > 0) {
        const std::int64_t rest = left % bundle;
        const std::int64_t size = section.backward && rest != 0 ? rest : std::min(bundle, left);
        Run(section.lasting, section.backward, size);
        left -= size;
      }
    }
    Run(section.whole, section.backward, 1);
  }

  /// `layers`: as one block.
  void Run(const BlockRun& run, bool backward, std::int64_t layers) {
    small_peak_ = std::max(small_peak_, small_ + run.small_peak * static_cast<double>(layers));
    small_ += run.small_change * static_cast<double>(layers);
    for (const BlockEvent& event : run.blocks) Run(event, backward, layers);
  }

  /// What ends is the newest of its list; in the forward pass, which runs from layer to layer, the oldest of a shared
  /// one.
  void Run(const BlockEvent& event, bool backward, std::int64_t layers) {
    for (std::int32_t k = event.change; k > 0; --k) {
      Push(event.list, allocator_.Allocate(event.bytes * layers, event.stream));
    }
    const auto list = static_cast<std::size_t>(event.list);
    for (std::int32_t k = event.change; k < 0 && newest_[list] != CachingAllocator::kNone; ++k) {
      if (event.shared && !backward) {
        PopOldest(event.list);
      } else {
        Pop(event.list);
      }
    }
  }

  void Push(std::int32_t list, CachingAllocator::Block block) {
    if (older_.size() <= static_cast<std::size_t>(block)) older_.resize(static_cast<std::size_t>(block) + 1);
    older_[static_cast<std::size_t>(block)] = newest_[static_cast<std::size_t>(list)];
    newest_[static_cast<std::size_t>(list)] = block;
  }

  void Pop(std::int32_t list) {
    const CachingAllocator::Block block = newest_[static_cast<std::size_t>(list)];
    newest_[static_cast<std::size_t>(list)] = older_[static_cast<std::size_t>(block)];
    allocator_.Free(block);
  }

  void PopOldest(std::int32_t list) {
    CachingAllocator::Block* link = &newest_[static_cast<std::size_t>(list)];
    while (older_[static_cast<std::size_t>(*link)] != CachingAllocator::kNone) {
      link = &older_[static_cast<std::size_t>(*link)];
    }
    const CachingAllocator::Block block = *link;
    *link = CachingAllocator::kNone;
    allocator_.Free(block);
  }

  const AllocatorPlan* plan_;
  CachingAllocator allocator_;
  std::vector<CachingAllocator::Block> newest_;  ///< of each list
  std::vector<CachingAllocator::Block> older_;   ///< of each block: the one made before it in the same list
  double placed_ = 0;
  double small_ = 0, small_peak_ = 0, small_residents_ = 0;
};

double Sum(const AllocatorPlan& plan, const std::vector<Resident>& residents) {
  double sum = 0;
  for (const Resident& resident : residents) {
    sum += plan.bytes[static_cast<std::size_t>(resident.storage)] * static_cast<double>(resident.count);
  }
  return sum;
}

bool IsBeyondSimulation(const AllocatorPlan& plan, double weights) {
  const double largest = plan.bytes.empty() ? 0 : *std::max_element(plan.bytes.begin(), plan.bytes.end());
  double states = 0;
  for (const Resident& state : plan.step.optimizer_states) states += static_cast<double>(state.count);
  return weights > kMostBytes || largest > kMostBytes || plan.operations + states > kMostOperations;
}

}  // namespace

double ReservedBytes(std::span<const AllocatorPlan> steps, const AllocatorUse& use) {
  const AllocatorPlan& last = steps.back();
  const Step& step = last.step;
  const double weights = Sum(last, step.weights);
  // A model that no machine holds has an answer in live bytes only.
  if (IsBeyondSimulation(last, weights)) return 0;
  Simulation simulation(last, use);
  simulation.Place(step.weights);
  simulation.Place(step.weight_copies);
  simulation.Place(step.gradient_buffers);
  const bool again = Sum(last, step.optimizer_states) > kStatesThatMatter * weights;
  const std::size_t runs = std::max<std::size_t>(steps.size(), again ? 2 : 1);
  for (std::size_t i = 0; i < runs; ++i) {
    simulation.Follow(steps[std::min(i, steps.size() - 1)]);
    if (step.gradients_alive) simulation.Allocate(step.trained);
    simulation.RunSections(i == 0 ? use.workspace_bytes : 0);
    if (i == 0) simulation.Allocate(step.optimizer_states);
    simulation.Allocate(step.optimizer_transient);
    simulation.Free(step.optimizer_transient);
    simulation.FreeWhatEventsMade();
    if (step.gradients_alive) simulation.Free(step.trained);
  }
  return simulation.reserved_bytes();
}

}  // namespace tunefit
