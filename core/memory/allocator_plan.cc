#include "core/memory/allocator_plan.h"

#include <algorithm>

#include "core/memory/replay.h"

namespace tunefit {
namespace {

/// Layers between those run whole come in at most about so many blocks of a kind, fewer where there are many kinds.
constexpr double kMostBundles = 32, kLeastBundles = 8;
constexpr double kLastingEvents = 1500;

std::int64_t BundlesOf(const BlockRun& lasting) {
  const auto kinds = static_cast<double>(std::max<std::size_t>(1, lasting.blocks.size()));
  return static_cast<std::int64_t>(std::clamp(kLastingEvents / kinds, kLeastBundles, kMostBundles));
}

/// What a layer may leave to the next one: its output and that one's gradient, parameters gathered ahead of time,
/// buffers under way. All else of a fixed size (gradients) stays.
bool PassesOn(const Storage& storage) {
  return storage.elements.axis != Axis::kOnce || storage.term == Term::kGathered ||
         storage.term == Term::kCommunication;
}

}  // namespace

AllocatorPlan::AllocatorPlan(const Step& of, const Axes& axes) : step(of), bytes(of.storages.size()) {
  std::transform(step.storages.begin(), step.storages.end(), bytes.begin(),
                 [&axes](const Storage& storage) { return StorageBytes(storage, axes); });
  ShareLists();
  PlanSections();
}

/// Where one traced layer stands for many, a storage that a layer makes and the next one frees is made under one name
/// and freed under another: names of one size whose counts do not come out even share a list of blocks.
void AllocatorPlan::ShareLists() {
  std::vector<std::int64_t> left(bytes.size(), 0);
  std::vector<bool> seen(bytes.size(), false);
  std::vector<StorageId> made;
  for (const Section& section : step.sections) {
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      const auto storage = static_cast<std::size_t>(event.storage);
      left[storage] += event.change * section.repeats;
      if (!seen[storage]) made.push_back(event.storage);
      seen[storage] = true;
    }
  }
  lists.resize(bytes.size());
  shares.assign(bytes.size(), false);
  for (std::size_t i = 0; i < lists.size(); ++i) lists[i] = static_cast<std::int32_t>(i);
  std::vector<StorageId> uneven;
  for (const StorageId storage : made) {
    const auto i = static_cast<std::size_t>(storage);
    if (IsSmall(storage)) continue;
    if (left[i] != 0 && PassesOn(step.storages[i])) {
      const auto first = std::find_if(uneven.begin(), uneven.end(), [this, i](StorageId other) {
        return bytes[static_cast<std::size_t>(other)] == bytes[i];
      });
      if (first != uneven.end()) {
        lists[i] = *first;
        shares[i] = shares[static_cast<std::size_t>(*first)] = true;
        continue;
      }
      uneven.push_back(storage);
    }
    emptied.push_back(storage);
  }
}

/// All of a section's events, or with `change` (of each storage over the section) those that last.
BlockRun AllocatorPlan::RunOfBlocks(const Section& section, const std::vector<std::int32_t>* change) const {
  BlockRun run;
  if (change == nullptr) run.blocks.reserve(static_cast<std::size_t>(section.end_event - section.first_event));
  for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
    const Event event = step.events[static_cast<std::size_t>(e)];
    const auto i = static_cast<std::size_t>(event.storage);
    if (change != nullptr && (*change)[i] == 0) continue;
    if (IsSmall(event.storage)) {
      run.small_change += bytes[i] * event.change;
      run.small_peak = std::max(run.small_peak, run.small_change);
    } else {
      run.blocks.push_back(
          {static_cast<std::int64_t>(bytes[i]), lists[i], event.change, step.storages[i].stream, shares[i]});
    }
  }
  return run;
}

/// How many layers of a long run are run whole, and the operations that a step then takes.
void AllocatorPlan::PlanSections() {
  double all = 0;
  double folded = 0;
  std::vector<std::int32_t> change(bytes.size(), 0);
  sections.reserve(step.sections.size());
  for (const Section& section : step.sections) {
    SectionPlan plan{section.repeats, section.moment == Moment::kBackward, false, RunOfBlocks(section, nullptr), {}, 1};
    const auto repeats = static_cast<double>(section.repeats);
    const auto whole = static_cast<double>(plan.whole.blocks.size());
    all += whole * repeats;
    if (section.repeats > 2) {
      std::fill(change.begin(), change.end(), 0);
      for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
        const Event event = step.events[static_cast<std::size_t>(e)];
        change[static_cast<std::size_t>(event.storage)] += event.change;
      }
      plan.folds = std::any_of(change.begin(), change.end(), [](std::int32_t left) { return left != 0; });
      plan.lasting = RunOfBlocks(section, &change);
      plan.most_bundles = BundlesOf(plan.lasting);
    }
    folded += plan.folds ? static_cast<double>(plan.lasting.blocks.size()) *
                               std::min(repeats, static_cast<double>(plan.most_bundles))
                         : whole;
    sections.push_back(std::move(plan));
  }
  whole_share = std::min(1.0, kSimulatedEvents / std::max(1.0, all));
  operations = std::min(all, folded + kSimulatedEvents);
}

}  // namespace tunefit
