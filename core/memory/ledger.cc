#include "core/memory/ledger.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>

namespace tunefit {
namespace {

/// Storages that differ in nothing a reader would see.
struct Class {
  const Storage* storage;
  std::int64_t count;
};

bool Same(const Storage& a, const Storage& b) {
  return a.elements == b.elements && a.dtype == b.dtype && a.in_layer == b.in_layer &&
         (a.module == b.module || std::strcmp(a.module, b.module) == 0) &&
         (a.role == b.role || std::strcmp(a.role, b.role) == 0);
}

/// Classes of each term; terms are few and classes of one term fewer than a hundred, so a scan is the fast way.
class ClassList {
 public:
  void Add(const Storage& storage, std::int64_t count) {
    if (count == 0) return;
    std::vector<Class>& classes = terms_[static_cast<std::size_t>(storage.term)];
    for (Class& known : classes) {
      if (Same(*known.storage, storage)) {
        known.count += count;
        return;
      }
    }
    classes.push_back({&storage, count});
  }

  /// What one repetition of a section leaves to the next (a layer's output, its gradient) is freed there under the name
  /// that the first repetition was given: the count of that one falls below zero, and the count of its equal from
  /// within the section is as much too high. Both are put right here; the bytes stay the same.
  void SettleCarried() {
    for (std::vector<Class>& classes : terms_) {
      for (Class& owed : classes) {
        if (owed.count < 0) Settle(owed);
      }
    }
  }

  const std::vector<Class>& of(int term) const { return terms_[static_cast<std::size_t>(term)]; }

 private:
  void Settle(Class& owed) {
    for (std::vector<Class>& classes : terms_) {
      for (Class& owner : classes) {
        const bool equal =
            owner.storage->elements == owed.storage->elements && owner.storage->dtype == owed.storage->dtype;
        if (!equal || owner.count <= 0) continue;
        const std::int64_t moved = std::min(owner.count, -owed.count);
        owner.count -= moved;
        owed.count += moved;
        if (owed.count == 0) return;
      }
    }
  }

  std::array<std::vector<Class>, kTermCount> terms_;
};

std::string ShapeInWords(Size size) {
  const std::string width = std::to_string(static_cast<std::int64_t>(size.coefficient));
  switch (size.axis) {
    case Axis::kOnce:
      return width;
    case Axis::kLength:
      return "length x " + width;
    case Axis::kTokens:
    case Axis::kTokensIfBatched:
    case Axis::kShifted:
    case Axis::kDataTokens:
      return "tokens x " + width;
    case Axis::kKeptLength:
      return "completion length x " + width;
    case Axis::kKept:
    case Axis::kKeptIfBatched:
      return "completion tokens x " + width;
    case Axis::kScores:
      return "batch x " + width + " x length x length";
    case Axis::kPairs:
      return width + " x length x length";
    case Axis::kChunk:
      return "chunk x " + width;
    case Axis::kSequences:
      return "batch x " + width;
    case Axis::kIfBatched:
    case Axis::kCount:
      break;
  }
  return width;
}

std::string NameOf(const Storage& storage, const char* layer_path) {
  std::string name = storage.in_layer ? std::string(layer_path) + "." : std::string();
  name += storage.module;
  name += ": ";
  name += storage.role;
  return name;
}

void AddResidents(ClassList& list, const Step& step, const std::vector<Resident>& residents) {
  for (const Resident& resident : residents) {
    list.Add(step.storages[static_cast<std::size_t>(resident.storage)], resident.count);
  }
}

/// Activations of the other micro-batches of a pipeline stage.
void AddWaiting(const Step& step, std::vector<std::int64_t>& alive) {
  ForEachWaiting(step, [&](const Section& section, std::int64_t waiting) {
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      alive[static_cast<std::size_t>(event.storage)] += event.change * section.repeats * waiting;
    }
  });
}

/// A total order: items that agree in all of this are one.
bool IsLarger(const LedgerItem& a, const LedgerItem& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return std::tie(a.name, a.shape, a.dtype) < std::tie(b.name, b.shape, b.dtype);
}

}  // namespace

std::vector<TermBytes> ListAliveAtPeak(const Step& step, const Axes& axes, Moment peak_moment, const PeakPoint& peak,
                                       const char* layer_path) {
  ClassList list;
  AddResidents(list, step, step.weights);
  AddResidents(list, step, step.weight_copies);
  AddResidents(list, step, step.optimizer_states);
  AddResidents(list, step, step.gradient_buffers);
  std::vector<Storage> gradients;  // of earlier micro-batches: as the weights, under another term
  if (step.gradients_alive) {
    gradients.reserve(step.trained.size());
    for (const Resident& weight : step.trained) {
      Storage& storage = gradients.emplace_back(step.storages[static_cast<std::size_t>(weight.storage)]);
      storage.term = Term::kGradients;
      storage.role = "gradient";
      storage.elements.coefficient *= step.gradient_share;
      list.Add(storage, weight.count);
    }
  }
  if (!step.gradients_alive) AddResidents(list, step, step.carried_gradients);
  PeakPoint point = peak;
  if (peak_moment == Moment::kOptimizer) {
    point.section = static_cast<std::int32_t>(step.sections.size());  // after the last event
    AddResidents(list, step, step.optimizer_transient);
  }
  std::vector<std::int64_t> alive = CountAlive(step, point);
  if (peak_moment != Moment::kOptimizer) AddWaiting(step, alive);
  for (std::size_t i = 0; i < alive.size(); ++i) list.Add(step.storages[i], alive[i]);
  list.SettleCarried();

  std::vector<TermBytes> terms;
  for (int t = 0; t < kTermCount; ++t) {
    TermBytes term{static_cast<Term>(t), 0, {}};
    for (const Class& known : list.of(t)) {
      const double bytes = static_cast<double>(known.count) * StorageBytes(*known.storage, axes);
      if (bytes == 0) continue;
      term.bytes += bytes;
      term.items.push_back({NameOf(*known.storage, layer_path), known.storage->dtype,
                            ShapeInWords(known.storage->elements), known.count, bytes});
    }
    if (term.items.empty()) continue;
    std::sort(term.items.begin(), term.items.end(), IsLarger);
    terms.push_back(std::move(term));
  }
  std::sort(terms.begin(), terms.end(), [](const TermBytes& a, const TermBytes& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.term < b.term;
  });
  return terms;
}

}  // namespace tunefit
