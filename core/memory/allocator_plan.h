#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/step.h"

namespace tunefit {

/// Events of a step, about, that are run; of deeper models only some layers are run whole.
constexpr double kSimulatedEvents = 2000;

/// Blocks of one size come to life (positive) or end.
struct BlockEvent {
  std::int64_t bytes;
  std::int32_t list;    ///< the list that its blocks are kept in: `AllocatorPlan::lists` says of which storages
  std::int32_t change;  ///< how many
  Stream stream;
  bool shared;  ///< several storages share the list
};

/// A stretch of a step as the allocator meets it: blocks above 1 MiB in their order, the small ones as a sum.
struct BlockRun {
  std::vector<BlockEvent> blocks;
  double small_change = 0;
  double small_peak = 0;  ///< above what there was at its start
};

/// A section of the step. Where it stands for many layers some of them are run whole, and between those only `lasting`:
/// what a layer makes and leaves, or ends and did not make.
struct SectionPlan {
  std::int64_t repeats = 1;
  bool backward = false;
  bool folds = false;  ///< `lasting` may stand for a layer
  BlockRun whole;
  BlockRun lasting;
  std::int64_t most_bundles = 1;  ///< that `lasting` is run in, each of several layers
};

/// What of a step the simulated allocator needs, for given axes, whatever allocator it is.
struct AllocatorPlan {
  AllocatorPlan(const Step& step, const Axes& axes);

  const Step& step;
  std::vector<double> bytes;        ///< of each storage
  std::vector<std::int32_t> lists;  ///< of each storage: where one layer's block ends under another's name, they share
  std::vector<bool> shares;         ///< of each storage
  std::vector<std::int32_t> emptied;  ///< lists that the step's events fill
  std::vector<SectionPlan> sections;
  double whole_share = 1;  ///< of a section's layers, that are run whole
  double operations = 0;   ///< blocks made and freed in a step

  bool IsSmall(StorageId storage) const { return bytes[static_cast<std::size_t>(storage)] <= kSmallBlockBytes; }

  /// Larger ones have segments of their own pool.
  static constexpr double kSmallBlockBytes = 1 << 20;

 private:
  void ShareLists();
  void PlanSections();
  BlockRun RunOfBlocks(const Section& section, const std::vector<std::int32_t>* change) const;
};

}  // namespace tunefit
