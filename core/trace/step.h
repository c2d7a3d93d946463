#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/model/dtype.h"
#include "core/model/parallel.h"
#include "core/trace/moment.h"
#include "core/trace/size.h"
#include "core/trace/work.h"

namespace tunefit {

using StorageId = std::int32_t;
constexpr StorageId kNoStorage = -1;

/// The CUDA stream a storage is allocated on: torch's allocator never gives a block of one to another.
enum class Stream : std::uint8_t {
  kCompute,
  kGather,  ///< FSDP's all-gathers
  kReduce,  ///< FSDP's reductions
};
constexpr int kStreamCount = 3;

/// A block of device memory, counted once however many tensors look at it.
struct Storage {
  Size elements;
  Dtype dtype = Dtype::kFp32;
  Term term = Term::kWorkspace;
  const char* module = "";  ///< the part of the model at work: "self_attn.q_proj"
  const char* role = "";    ///< what it is there: "weight", "mm", "probabilities"
  bool in_layer = false;    ///< its module's path starts with the layer's
  Stream stream = Stream::kCompute;
  bool of_expert = false;  ///< a weight of routed experts, which have groups of ranks of their own
};

/// A storage comes to life (+1) or ends (-1; more at once where one traced storage stands for those of many layers).
/// The tracer resolves who still refers to it, so a replay only adds and subtracts.
struct Event {
  StorageId storage;
  std::int32_t change;
};

/// A stretch of events that belongs together and stands for `repeats` equal stretches: a layer's forward or backward.
/// Live bytes before the k-th repetition are affine in k, so one traced stretch says all of them.
struct Section {
  std::int32_t first_event = 0;
  std::int32_t end_event = 0;
  Moment moment = Moment::kForward;
  std::int64_t layer = -1;  ///< of the first repetition in time; -1 outside the layers
  std::int64_t layers = 1;  ///< layers in one repetition (the period of the run)
  std::int64_t repeats = 1;
  std::int64_t piece = 0;  ///< of the pipeline stage
};

/// Whether a weight runs in no step, and what sharding libraries do with it then.
enum class Idle : std::uint8_t {
  kNot,
  kInRoot,  ///< gathered and freed with all that no wrapped layer owns
  kApart,   ///< in a layer that never runs: it stays a share
};

/// A storage that lives through the whole step, `count` of them alike.
struct Resident {
  StorageId storage;
  std::int64_t count;
  WeightShape shape = {};  ///< of a weight
};

/// What a step keeps off the card: in the host's memory, or on its disks.
struct OffCard {
  std::vector<Resident> states;      ///< of the optimizer
  std::vector<Resident> gradients;   ///< this rank's
  std::vector<Resident> parameters;  ///< its shards
  std::vector<Resident> buffers;     ///< through which they travel
};

/// One training step, traced: what lives throughout, and what comes and goes in which order. Sizes are symbolic in
/// batch and length; `Replay` reads them for given ones.
struct Step {
  std::vector<Storage> storages;
  std::vector<Resident> weights;              ///< weights, quantization tables, adapters, buffers
  std::vector<Resident> optimizer_states;     ///< from the first optimizer step on
  std::vector<Resident> trained;              ///< the weights that get gradients, among `weights`
  std::vector<Resident> idle;                 ///< those that train but run in no step, so that none gets a gradient
  std::vector<Resident> gradient_buffers;     ///< gradients and a library's buffers that live throughout
  std::vector<Resident> weight_copies;        ///< of weights in FP8, from the first step on
  std::vector<Resident> paged_states;         ///< optimizer states in managed memory, outside torch's allocator
  std::vector<Resident> optimizer_transient;  ///< alive within optimizer.step() only
  std::vector<Resident> host_checkpoints;     ///< layer inputs that wait in host memory until backward
  OffCard host, nvme;
  std::vector<Event> events;
  std::vector<Section> sections;  ///< in time order: forward, loss, backward
  WorkList work;                  ///< of each section
  ChunkRule chunk;                ///< of the loss, for Axes
  /// Gradients of the step before that are still there when this one begins; an event may end them.
  std::vector<Resident> carried_gradients;
  std::int64_t trained_parameters = 0;  ///< exact, of the whole model, however many ranks share them
  std::int64_t adapter_parameters = 0;  ///< those among them that adapters add
  /// Gradients of earlier micro-batches are alive during the traced one (accumulation above one).
  bool gradients_alive = false;
  /// Micro-batches of a pipeline stage whose activations are alive at once, the traced one among them, by its pieces.
  std::vector<std::int64_t> in_flight = {1};
  double gradient_share = 1;  ///< of each gradient, that a rank keeps once it is reduced
};

/// Calls `visit(section, waiting)` for the sections of the forward pass, which so many micro-batches in flight have
/// gone through beside the traced one.
template <typename Visit>
void ForEachWaiting(const Step& step, Visit visit) {
  for (const Section& section : step.sections) {
    if (section.moment == Moment::kBackward) break;
    const std::int64_t waiting = step.in_flight[static_cast<std::size_t>(section.piece)] - 1;
    if (waiting > 0) visit(section, waiting);
  }
}

/// Ranks that hold copies of a weight, which a strategy may divide among them.
inline double ShardsOf(const Parallel& parallel, const Storage& storage) {
  return static_cast<double>(storage.of_expert ? parallel.ExpertShards() : parallel.Shards());
}

/// A storage that belongs to the same part of the model as `like`, with a size and a purpose of its own.
inline Storage Beside(Storage like, double elements, Dtype dtype, Term term, const char* role) {
  like.elements = {elements, Axis::kOnce};
  like.dtype = dtype;
  like.term = term;
  like.role = role;
  return like;
}

/// Makes `count` storages like that live through the step, on one of the step's own lists.
inline void AddResident(Step& step, std::vector<Resident>& list, const Storage& storage, std::int64_t count) {
  list.push_back({static_cast<StorageId>(step.storages.size()), count});
  step.storages.push_back(storage);
}

/// With a gradient or without: a library's buffers have room for all that trains.
template <typename Visit>
void ForEachTrained(const Step& step, Visit visit) {
  for (const Resident& weight : step.trained) visit(weight);
  for (const Resident& weight : step.idle) visit(weight);
}

/// Of one rank, which may hold shares.
inline double CountElements(const Step& step, const std::vector<Resident>& residents) {
  double elements = 0;
  for (const Resident& resident : residents) {
    elements += static_cast<double>(resident.count) *
                step.storages[static_cast<std::size_t>(resident.storage)].elements.coefficient;
  }
  return elements;
}

/// The same of all that trains, with a gradient or without.
inline double CountTrainedElements(const Step& step) {
  return CountElements(step, step.trained) + CountElements(step, step.idle);
}

}  // namespace tunefit
