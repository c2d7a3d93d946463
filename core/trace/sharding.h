#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/model/workload.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// What a library that shards parameters does around the modules it wraps: torch's module and gradient hooks. A unit is
/// a wrapped module; its parameters are gathered and freed together. Unit 0 is the root, which owns what no layer does.
/// Each model that a task wraps has units of its own.
///
/// On every rank a parameter is a shard (resident) and, while its unit is gathered, the whole tensor, whose storage
/// comes and goes by these hooks and not by references: the libraries resize it under autograd's hands.
class ShardedUnits {
 public:
  ShardedUnits(Tracer& tracer, const Workload& workload);
  virtual ~ShardedUnits() = default;
  ShardedUnits(const ShardedUnits&) = delete;
  ShardedUnits& operator=(const ShardedUnits&) = delete;

  /// Layers are units; else every parameter is the root's.
  bool wraps_layers() const { return wraps_layers_; }
  /// The parameters declared from here on belong to a new unit, the layer of that number; the unit's. Units are opened
  /// in the order of the forward pass.
  std::int32_t Open(std::int64_t layer);
  /// They belong to the root again.
  void Close() { open_ = 0; }

  /// Makes the resident `shard`, which holds a whole parameter of that shape, one rank's share of it, and adds the
  /// whole tensor that the modules compute with: its storage and dtype. `count` of them are alike in the model.
  struct Declared {
    StorageId shard = kNoStorage;
    StorageId whole = kNoStorage;
    Dtype dtype = Dtype::kFp32;
  };
  Declared Declare(const WeightShape& shape, StorageId shard, bool trainable, std::int64_t count);
  /// The same of a parameter that no unit ever gathers: it stays a share.
  void DeclareApart(const WeightShape& shape, StorageId shard, bool trainable, std::int64_t count);
  /// The node at which autograd leaves the gradient of the parameter declared last.
  void SetLeaf(std::int32_t node) { At(open_).parameters.back().leaf = node; }

  /// One rank's shares of all parameters.
  const std::vector<StorageId>& shards() const { return shards_; }

  /// The last step's gradients are still there when this one begins.
  void CarryGradients();
  /// Of a model that only runs without gradients: what stays gathered after a pass has been so since its first one.
  void KeepGathered();
  /// Backward will come to this unit: its output asks for a gradient.
  void ExpectBackward(std::int32_t unit) { At(unit).in_backward = true; }
  /// A forward pass of which nothing but gathering and freeing layer after layer is wanted; the root is left gathered.
  void RunThrough();
  void LeaveRoot() {
    AfterForward(0);
    EndForward();
  }

  /// What TRL does around `generate`, which calls the model within the wrapper (unwrap_model_for_generation,
  /// trl/models/utils.py; summon_full_params, trl/distributed.py): nothing where its layers' hooks serve there, too.
  virtual void BeginGeneration() {}
  virtual void EndGeneration() {}
  /// The first of the layers that stay whole after a forward pass that backward follows, though those before them do
  /// not; none where layers are alike.
  virtual std::optional<std::int64_t> FirstLayerKept() const { return std::nullopt; }
  /// A unit's input and its gradient outlive the unit's backward pass, to the end of the whole one.
  virtual bool HoldsInputs() const { return false; }
  virtual void BeforeForward(std::int32_t unit) = 0;
  virtual void AfterForward(std::int32_t unit) = 0;
  virtual void EndForward() = 0;
  virtual void BeforeBackward(std::int32_t unit) = 0;
  virtual void AfterBackward(std::int32_t unit) = 0;
  virtual void EndBackward() = 0;

 protected:
  struct Parameter {
    StorageId shard = kNoStorage;
    StorageId whole = kNoStorage;
    std::int64_t count = 1;     ///< alike, in all layers that the unit stands for
    std::int32_t together = 1;  ///< of them, those that one unit gathers
    double whole_elements = 0;  ///< padded to a multiple of the ranks
    double shard_elements = 0;
    Dtype shard_dtype = Dtype::kFp32;
    Dtype whole_dtype = Dtype::kFp32;
    std::int32_t leaf = -1;  ///< -1: frozen
    bool persists = false;   ///< the whole is there throughout
    bool is_whole = false;   ///< the whole exists
  };
  struct Unit {
    std::int64_t layer = -1;
    std::vector<Parameter> parameters;
    StorageId gathered = kNoStorage;  ///< the buffer of an all-gather under way
    bool whole = false;               ///< the parameters exist as a whole
    bool in_backward = false;         ///< its output asks for a gradient
    bool backward_done = false;
    bool copied = false;  ///< a second share of its parameters is there
  };

  /// Makes the resident a share, in the dtype that the library keeps it in; its elements.
  double Divide(const WeightShape& shape, StorageId shard, bool trainable);
  Unit& At(std::int32_t unit) { return units_[static_cast<std::size_t>(unit)]; }
  const Unit& At(std::int32_t unit) const { return units_[static_cast<std::size_t>(unit)]; }
  /// A unit's parameters are still whole when its forward pass is over.
  virtual bool StaysWhole(std::int32_t unit, bool with_gradients) const = 0;
  /// Gradients are asked for in the pass at hand.
  bool WithGradients() const { return tracer_.gradients(); }
  /// The stream that whole parameters are allocated on.
  virtual Stream StreamOfWhole() const = 0;
  /// Elements of one rank's share of a parameter that so many ranks hold, padding included.
  virtual double ShardElements(const WeightShape& shape, double ranks) const = 0;
  /// A parameter of so many elements is never let go of once it was gathered.
  virtual bool Persists(double /*elements*/) const { return false; }
  std::int32_t units() const { return static_cast<std::int32_t>(units_.size()); }
  /// The unit that ran before this one in the forward pass; -1 for the first. The root is the last to end.
  std::int32_t Previous(std::int32_t unit) const;
  StorageId Allocate(double elements, Dtype dtype, Term term, Stream stream, const char* role);
  void Release(StorageId& storage);  ///< and forgets it
  /// Shards that live on the host travel to the card first; nothing where they are there.
  StorageId BringFromHost(const Unit& unit);
  void AllocateWhole(Parameter& parameter);
  void AllocateWhole(Unit& unit);
  /// The end of what is whole of a parameter, of so many equal ones; nothing where it persists.
  void FreeWhole(Parameter& parameter, std::int64_t count);
  void FreeWhole(Unit& unit);
  /// The end of a unit that backward never came to, with all the layers that it stands for.
  void FreeUnreached(Unit& unit);
  /// All of a model's parameters at once, whatever unit they are of, or none.
  void GatherAll();
  void FreeAll();
  /// The gradients that autograd has left at a unit's parameters, padded, and one rank's share of them.
  struct Gradients {
    double elements = 0;
    double shard_elements = 0;
    Dtype dtype = Dtype::kFp32;
    Dtype shard_dtype = Dtype::kFp32;  ///< of the shards they belong to
  };
  Gradients CountGradients(const Unit& unit) const;
  void SendGradients(const Gradients& gradients, Dtype dtype);
  void DropGradients(const Unit& unit);
  /// FSDP frees the last step's gradients when the forward pass begins: zero_grad() only lets go of views of them.
  void EndCarriedGradients();
  /// One rank's reduced gradients of a unit: they stay, or are added to those of an earlier micro-batch.
  void KeepReduced(StorageId reduced);
  /// Lives until the whole backward pass has ended, and so do its equals in the layers that it stands for.
  void HoldToEnd(StorageId& storage);
  /// Makes `elements` more that the step leaves behind, in the dtype and part of the model of the whole parameter.
  void AddCopy(const Parameter& parameter, double elements, const char* role);

  const Parallel parallel_;
  const Dtype compute_;
  const Dtype reduce_;
  const bool reshards_;

 private:
  void ChangeAll(const Unit& unit, std::int32_t sign);

  const bool offloads_;           ///< shards and their gradients
  const bool upcasts_trainable_;  ///< accelerate: trained parameters become fp32 under mixed precision
  const bool wraps_layers_;
  double apart_bytes_ = 0;  ///< of parameters that no unit gathers, whole
  StorageId apart_ = kNoStorage;
  bool carries_ = false;  ///< gradients of the last step, until the next pass begins
  Tracer& tracer_;
  std::vector<Unit> units_;
  std::vector<StorageId> shards_;
  std::int32_t open_ = 0;
};

/// The hooks of the workload's strategy; null where parameters are not sharded.
std::unique_ptr<ShardedUnits> MakeShardedUnits(Tracer& tracer, const Workload& workload);

}  // namespace tunefit
