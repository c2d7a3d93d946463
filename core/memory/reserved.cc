#include "core/memory/reserved.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/memory/allocator.h"
#include "core/memory/replay.h"

namespace tunefit {
namespace {

constexpr double kSmallBlock = 1 << 20;
constexpr double kSmallSegment = 2 << 20;
/// Beyond these nothing is simulated: no machine holds such a model, and the answer must not take long.
constexpr double kMostBytes = 1e14;
constexpr double kMostOperations = 40000;
/// Layers between those replayed in full come in at most about so many blocks of a kind, fewer where there are many
/// kinds.
constexpr double kMostBundles = 32, kLeastBundles = 8;
constexpr double kLastingEvents = 1500;
constexpr double kOwnSegmentFrom = 10 << 20;
constexpr double kSharedSegment = 20 << 20;
/// Below this share of the weights, states are too small for their place to matter: one step shows it all.
constexpr double kStatesThatMatter = 0.02;

class Simulation {
 public:
  Simulation(const Step& step, const Axes& axes, const AllocatorUse& use)
      : step_(step), allocator_(use.expandable_segments, use.full_card), bytes_(step.storages.size()) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = StorageBytes(step.storages[i], axes);
    newest_.assign(bytes_.size(), CachingAllocator::kNone);
    FindTwins();
    PlanSections();
  }

  /// Blocks that come first and stay: they fill their segments one after another.
  void Place(const std::vector<Resident>& residents) {
    for (const Resident& resident : residents) {
      const double bytes = bytes_[static_cast<std::size_t>(resident.storage)];
      const auto count = static_cast<double>(resident.count);
      if (IsSmall(resident.storage)) {
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
  /// Blocks allocated and freed in one step.
  double operations() const { return operations_; }

  void Allocate(const std::vector<Resident>& residents) {
    for (const Resident& resident : residents) {
      const auto count = static_cast<std::int32_t>(resident.count);
      Add(resident.storage, count, 1);
      if (IsSmall(resident.storage)) small_residents_ += bytes_[static_cast<std::size_t>(resident.storage)] * count;
    }
  }
  void Free(const std::vector<Resident>& residents) {
    for (const Resident& resident : residents) {
      const auto count = static_cast<std::int32_t>(resident.count);
      Remove(resident.storage, count, 1, false);
      if (IsSmall(resident.storage)) small_residents_ -= bytes_[static_cast<std::size_t>(resident.storage)] * count;
    }
  }
  void AllocateWorkspace(double bytes) {
    if (bytes > kSmallBlock) allocator_.Allocate(static_cast<std::int64_t>(RoundToGranule(bytes)));
  }

  void RunSections(double workspace_bytes) {
    bool in_backward = false;
    AllocateWorkspace(workspace_bytes);
    for (std::size_t i = 0; i < step_.sections.size(); ++i) {
      const Section& section = step_.sections[i];
      const bool backward = section.moment == Moment::kBackward;
      if (backward && !in_backward) AllocateWorkspace(workspace_bytes);
      in_backward = in_backward || backward;
      RunSection(section, lasting_[i], backward);
    }
  }

  /// Gradients, and whatever else the events left alive.
  void FreeWhatEventsMade() {
    for (const std::int32_t storage : made_by_events_) {
      const auto place = static_cast<std::size_t>(twin_[static_cast<std::size_t>(storage)]);
      while (newest_[place] != CachingAllocator::kNone) Pop(place);
    }
    small_ = small_residents_;
  }

  double reserved_bytes() const {
    const double small_segments =
        static_cast<double>(static_cast<std::int64_t>((small_peak_ + kSmallSegment - 1) / kSmallSegment));
    return placed_ + static_cast<double>(allocator_.peak_reserved_bytes()) + small_segments * kSmallSegment;
  }

 private:
  bool IsSmall(StorageId storage) const { return bytes_[static_cast<std::size_t>(storage)] <= kSmallBlock; }
  const Event& At(std::int32_t event) const { return step_.events[static_cast<std::size_t>(event)]; }

  /// What a layer may leave to the next one: its output and that one's gradient, parameters gathered ahead of time,
  /// buffers under way. All else of a fixed size (gradients) stays.
  static bool PassesOn(const Storage& storage) {
    return storage.elements.axis != Axis::kOnce || storage.term == Term::kGathered ||
           storage.term == Term::kCommunication;
  }

  /// Where one traced layer stands for many, a storage that a layer makes and the next one frees is made under one name
  /// and freed under another: names of one size whose counts do not come out even share a list of blocks.
  void FindTwins() {
    std::vector<std::int64_t> left(bytes_.size(), 0);
    std::vector<bool> seen(bytes_.size(), false);
    for (const Section& section : step_.sections) {
      for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
        const auto storage = static_cast<std::size_t>(At(e).storage);
        left[storage] += At(e).change * section.repeats;
        if (!seen[storage]) made_by_events_.push_back(At(e).storage);
        seen[storage] = true;
      }
    }
    twin_.resize(bytes_.size());
    shared_.assign(bytes_.size(), false);
    for (std::size_t i = 0; i < twin_.size(); ++i) twin_[i] = static_cast<std::int32_t>(i);
    std::vector<std::int32_t> uneven;
    for (const std::int32_t storage : made_by_events_) {
      const auto i = static_cast<std::size_t>(storage);
      if (left[i] == 0 || IsSmall(storage) || !PassesOn(step_.storages[i])) continue;
      const auto first = std::find_if(uneven.begin(), uneven.end(), [this, i](std::int32_t other) {
        return bytes_[static_cast<std::size_t>(other)] == bytes_[i];
      });
      if (first == uneven.end()) {
        uneven.push_back(storage);
        continue;
      }
      twin_[i] = *first;
      shared_[i] = shared_[static_cast<std::size_t>(*first)] = true;
    }
  }

  /// How many layers of a long run are replayed in full, and the operations that a step then takes.
  void PlanSections() {
    double events = 0;
    double lasting = 0;
    for (const Section& section : step_.sections) {
      const auto repeats = static_cast<double>(section.repeats);
      double large = 0;
      for (std::int32_t e = section.first_event; e < section.end_event; ++e) large += IsSmall(At(e).storage) ? 0 : 1;
      lasting_.push_back(section.repeats > 2 ? Lasting(section) : std::vector<Event>{});
      events += large * repeats;
      lasting += lasting_.back().empty()
                     ? large
                     : static_cast<double>(lasting_.back().size()) * std::min(repeats, Bundles(lasting_.back()));
    }
    full_share_ = std::min(1.0, kSimulatedEvents / std::max(1.0, events));
    operations_ = std::min(events, lasting + kSimulatedEvents);
  }

  static double Bundles(const std::vector<Event>& lasting) {
    return std::clamp(kLastingEvents / static_cast<double>(lasting.size()), kLeastBundles, kMostBundles);
  }

  /// A run of layers: some in full, evenly spread, the first and the last among them; between those only what lasts,
  /// that of a few layers as one block where the model has very many.
  void RunSection(const Section& section, const std::vector<Event>& lasting, bool backward) {
    const std::int64_t repeats = section.repeats;
    const auto full = static_cast<std::int64_t>(std::ceil(full_share_ * static_cast<double>(repeats)));
    if (lasting.empty() || full >= repeats) {
      for (std::int64_t k = 0; k < repeats; ++k) RunFull(section, backward);
      return;
    }
    const std::int64_t gaps = std::max<std::int64_t>(1, full - 1);
    const std::int64_t between = repeats - gaps - 1;
    const auto bundle = static_cast<std::int64_t>(std::ceil(static_cast<double>(between) / Bundles(lasting)));
    for (std::int64_t gap = 0; gap < gaps; ++gap) {
      RunFull(section, backward);
      // Backward meets the gaps, and the bundles within them, in the reverse order.
      const std::int64_t place = backward ? gaps - 1 - gap : gap;
      std::int64_t left = between * (place + 1) / gaps - between * place / gaps;
      while (left > 0) {
        const std::int64_t rest = left % bundle;
        const std::int64_t size = backward && rest != 0 ? rest : std::min(bundle, left);
        for (const Event& event : lasting) Run(event, backward, size);
        left -= size;
      }
    }
    RunFull(section, backward);
  }

  /// The section's events of storages that it makes and leaves, or frees and did not make.
  std::vector<Event> Lasting(const Section& section) {
    change_.assign(bytes_.size(), 0);
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      change_[static_cast<std::size_t>(At(e).storage)] += At(e).change;
    }
    std::vector<Event> lasting;
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      if (change_[static_cast<std::size_t>(At(e).storage)] != 0) lasting.push_back(At(e));
    }
    return lasting;
  }

  void RunFull(const Section& section, bool backward) {
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) Run(At(e), backward, 1);
  }

  /// `layers`: as one block.
  void Run(const Event& event, bool backward, std::int64_t layers) {
    if (event.change > 0) {
      Add(event.storage, event.change, static_cast<double>(layers));
    } else {
      Remove(event.storage, -event.change, static_cast<double>(layers), !backward);
    }
  }

  void Add(StorageId storage, std::int32_t count, double layers) {
    const auto i = static_cast<std::size_t>(storage);
    if (IsSmall(storage)) {
      small_ += bytes_[i] * count * layers;
      small_peak_ = std::max(small_peak_, small_);
      return;
    }
    const auto place = static_cast<std::size_t>(twin_[i]);
    for (; count > 0; --count) {
      const CachingAllocator::Block block =
          allocator_.Allocate(static_cast<std::int64_t>(bytes_[i] * layers), step_.storages[i].stream);
      if (older_.size() <= static_cast<std::size_t>(block)) older_.resize(static_cast<std::size_t>(block) + 1);
      older_[static_cast<std::size_t>(block)] = newest_[place];
      newest_[place] = block;
    }
  }

  /// The newest of its blocks; in the forward pass, which runs from layer to layer, the oldest of a shared list.
  void Remove(StorageId storage, std::int32_t count, double layers, bool oldest) {
    const auto i = static_cast<std::size_t>(storage);
    if (IsSmall(storage)) {
      small_ -= bytes_[i] * count * layers;
      return;
    }
    const auto place = static_cast<std::size_t>(twin_[i]);
    for (; count > 0 && newest_[place] != CachingAllocator::kNone; --count) {
      if (oldest && shared_[i]) {
        PopOldest(place);
      } else {
        Pop(place);
      }
    }
  }

  void Pop(std::size_t place) {
    const CachingAllocator::Block block = newest_[place];
    newest_[place] = older_[static_cast<std::size_t>(block)];
    allocator_.Free(block);
  }

  void PopOldest(std::size_t place) {
    CachingAllocator::Block* link = &newest_[place];
    while (older_[static_cast<std::size_t>(*link)] != CachingAllocator::kNone) {
      link = &older_[static_cast<std::size_t>(*link)];
    }
    const CachingAllocator::Block block = *link;
    *link = CachingAllocator::kNone;
    allocator_.Free(block);
  }

  const Step& step_;
  CachingAllocator allocator_;
  std::vector<double> bytes_;
  std::vector<std::int32_t> made_by_events_;
  std::vector<std::int32_t> twin_;  ///< the storage whose list of blocks is used
  std::vector<bool> shared_;
  std::vector<CachingAllocator::Block> newest_;  ///< of each storage
  std::vector<CachingAllocator::Block> older_;   ///< of each block: the one made before it under the same name
  std::vector<std::int32_t> change_;
  std::vector<std::vector<Event>> lasting_;  ///< of each section; empty where it is always run in full
  double full_share_ = 1;
  double operations_ = 0;
  double placed_ = 0;
  double small_ = 0, small_peak_ = 0, small_residents_ = 0;
};

double LargestStorage(const Step& step, const Axes& axes) {
  double largest = 0;
  for (const Storage& storage : step.storages) largest = std::max(largest, StorageBytes(storage, axes));
  return largest;
}

}  // namespace

double ReservedBytes(const Step& step, const Axes& axes, const AllocatorUse& use) {
  // A model that no machine holds has an answer in live bytes only.
  if (SumResidents(step, step.weights, axes) > kMostBytes || LargestStorage(step, axes) > kMostBytes) return 0;
  Simulation simulation(step, axes, use);
  double states_made = 0;
  for (const Resident& state : step.optimizer_states) states_made += static_cast<double>(state.count);
  if (simulation.operations() + states_made > kMostOperations) return 0;
  simulation.Place(step.weights);
  simulation.Place(step.gradient_buffers);
  const double states = SumResidents(step, step.optimizer_states, axes);
  const bool again = states > kStatesThatMatter * SumResidents(step, step.weights, axes);
  for (int i = 0; i < (again ? 2 : 1); ++i) {
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
