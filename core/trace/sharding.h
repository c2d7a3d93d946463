#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/workload.h"
#include "core/trace/tracer.h"

namespace tunefit {

/// What a library that shards parameters does around the modules it wraps: torch's module and gradient hooks. A unit is
/// a wrapped module; its parameters are gathered and freed together. Unit 0 is the root, which owns what no layer does.
///
/// On every rank a parameter is a shard (resident) and, while its unit is gathered, the whole tensor, whose storage
/// comes and goes by these hooks and not by references: the libraries resize it under autograd's hands.
class ShardedUnits {
 public:
  ShardedUnits(Tracer& tracer, const Workload& workload);
  virtual ~ShardedUnits() = default;
  ShardedUnits(const ShardedUnits&) = delete;
  ShardedUnits& operator=(const ShardedUnits&) = delete;

  /// The parameters declared from here on belong to a new unit, the layer of that number; the unit's. Units are opened
  /// in the order of the forward pass.
  std::int32_t Open(std::int64_t layer);
  /// They belong to the root again.
  void Close() { open_ = 0; }

  /// Makes the resident `shard`, which holds a whole parameter of that shape, one rank's share of it, and adds the
  /// whole tensor that the modules compute with: its storage and dtype.
  struct Declared {
    StorageId shard = kNoStorage;
    StorageId whole = kNoStorage;
    Dtype dtype = Dtype::kFp32;
  };
  Declared Declare(const WeightShape& shape, StorageId shard, std::int64_t count, bool trainable);
  /// The same of a parameter that no unit ever gathers: it stays a share.
  void DeclareApart(const WeightShape& shape, StorageId shard, bool trainable);
  /// The node at which autograd leaves the gradient of the parameter declared last.
  void SetLeaf(std::int32_t node) { At(open_).parameters.back().leaf = node; }

  /// One rank's shares of all parameters.
  const std::vector<StorageId>& shards() const { return shards_; }

  /// The last step's gradients are still there when this one begins.
  void CarryGradients();

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
    StorageId whole = kNoStorage;
    double whole_elements = 0;  ///< padded to a multiple of the ranks
    double count = 1;           ///< of them, alike in the model
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
    bool backward_done = false;
    bool copied = false;  ///< a second share of its parameters is there
  };

  /// Makes the resident a share, in the dtype that the library keeps it in; its elements.
  double Divide(const WeightShape& shape, StorageId shard, bool trainable);
  Unit& At(std::int32_t unit) { return units_[static_cast<std::size_t>(unit)]; }
  const Unit& At(std::int32_t unit) const { return units_[static_cast<std::size_t>(unit)]; }
  /// The stream that whole parameters are allocated on.
  virtual Stream StreamOfWhole() const = 0;
  /// Elements of one rank's share of a parameter, padding included.
  virtual double ShardElements(const WeightShape& shape) const = 0;
  /// A parameter of so many elements is never let go of once it was gathered.
  virtual bool Persists(double /*elements*/) const { return false; }
  std::int32_t units() const { return static_cast<std::int32_t>(units_.size()); }
  /// The unit that ran before this one in the forward pass; -1 for the first. The root is the last to end.
  std::int32_t Previous(std::int32_t unit) const;
  StorageId Allocate(double elements, Dtype dtype, Term term, Stream stream, const char* role);
  void Release(StorageId& storage);  ///< and forgets it
  /// Shards that live on the host travel to the card first; nothing where they are there.
  StorageId BringFromHost(const Unit& unit);
  StorageId BringFromHost(double bytes);
  void AllocateWhole(Parameter& parameter);
  void AllocateWhole(Unit& unit);
  void FreeWhole(Unit& unit);
  /// The gradients that autograd has left at a unit's parameters, padded, and one rank's share of them.
  struct Gradients {
    double elements = 0;
    double shard_elements = 0;
    Dtype dtype = Dtype::kFp32;
    Dtype shard_dtype = Dtype::kFp32;  ///< of the shards they belong to
  };
  Gradients CountGradients(const Unit& unit) const;
  void DropGradients(const Unit& unit);
  /// FSDP frees the last step's gradients when the forward pass begins: zero_grad() only lets go of views of them.
  void EndCarriedGradients();
  /// One rank's reduced gradients of a unit: they stay, or are added to those of an earlier micro-batch.
  void KeepReduced(StorageId reduced);
  /// Lives until the whole backward pass has ended, and so do its equals in the layers that it stands for.
  void HoldToEnd(StorageId& storage);
  /// Makes `elements` more that the step leaves behind, in the dtype and part of the model of the whole parameter.
  void AddCopy(const Parameter& parameter, double elements, const char* role);

  const double ranks_;
  const Dtype compute_;
  const Dtype reduce_;
  const bool reshards_;

 private:
  const bool offloads_;           ///< shards and their gradients
  const bool upcasts_trainable_;  ///< accelerate: trained parameters become fp32 under mixed precision
  Tracer& tracer_;
  std::vector<Unit> units_;
  std::vector<StorageId> shards_;
  std::int32_t open_ = 0;
};

/// The hooks of the workload's strategy; null where parameters are not sharded.
std::unique_ptr<ShardedUnits> MakeShardedUnits(Tracer& tracer, const Workload& workload);

}  // namespace tunefit
