#include "core/trace/optimizer.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/trace/optimizer_rule.h"

namespace tunefit {
namespace {

/// bitsandbytes and torchao keep the moments of tensors below this many elements unpacked (optim min_8bit_size).
constexpr double kSmallestPackedElements = 4096;
/// bitsandbytes pages only states from this many elements on (optimizer.py, get_state_buffer).
constexpr double kSmallestPagedElements = 1e5;
/// Elements that share one scale in packed states; transformers' Trainer sets torchao's block of 128 to it as well.
constexpr double kStateBlock = 256;

double Blocks(double elements) {
  return static_cast<double>(static_cast<std::int64_t>((elements + kStateBlock - 1) / kStateBlock));
}

/// One trained parameter, as the optimizer sees it: the master copy where there is one.
struct Trained {
  const Resident& resident;
  Storage storage;
  Dtype dtype;

  double elements() const { return storage.elements.coefficient; }
  bool IsMatrix() const { return !IsStack() && resident.shape.columns > 1 && resident.shape.rows > 1; }
  bool IsStack() const { return resident.shape.last > 0; }
};

/// Adds the states of one optimizer to a step.
class States {
 public:
  States(Step& step, const Workload& workload) : step_(step), workload_(workload) {}

  void Add(const Trained& weight, const OptimizerRule& rule);

 private:
  void Put(std::vector<Resident>& list, const Trained& weight, double elements, Dtype dtype, Term term,
           const char* role);
  void PutState(const Trained& weight, double elements, Dtype dtype, const char* role) {
    Put(step_.optimizer_states, weight, elements, dtype, Term::kOptimizerStates, role);
  }
  Dtype MomentDtype(const Trained& weight, const OptimizerRule& rule) const;
  void AddMoment(const Trained& weight, const OptimizerRule& rule, double elements, const char* role);
  void AddPacked(const Trained& weight, const OptimizerRule& rule, double elements, const char* role);
  void AddFactored(const Trained& weight);
  void AddMaster(const Trained& weight, const OptimizerRule& rule);
  void AddLowRank(const Trained& weight, const OptimizerRule& rule);

  Step& step_;
  const Workload& workload_;
};

void States::Put(std::vector<Resident>& list, const Trained& weight, double elements, Dtype dtype, Term term,
                 const char* role) {
  AddResident(step_, list, Beside(weight.storage, elements, dtype, term, role), weight.resident.count);
}

Dtype States::MomentDtype(const Trained& weight, const OptimizerRule& rule) const {
  if (workload_.precision.optimizer_states) return *workload_.precision.optimizer_states;
  return rule.store == MomentStore::kParameterDtype ? weight.dtype : Dtype::kFp32;
}

/// transformers' Trainer keeps the moments of embeddings at 32 bits under bitsandbytes.
bool IsEmbedding(const Storage& storage) {
  if (std::strncmp(storage.role, "lora_", 5) == 0) return false;  // no module of its own
  return std::strcmp(storage.module, "embed_tokens") == 0 || std::strcmp(storage.module, "wpe") == 0 ||
         std::strcmp(storage.module, "prompt_encoder.embedding") == 0;
}

void States::AddPacked(const Trained& weight, const OptimizerRule& rule, double elements, const char* role) {
  const bool torchao = rule.store != MomentStore::kBitsandbytes8bit;
  const bool four_bit = rule.store == MomentStore::kTorchao4bit;
  std::vector<Resident>& list =
      rule.paged && weight.elements() >= kSmallestPagedElements ? step_.paged_states : step_.optimizer_states;
  Put(list, weight, four_bit ? elements / 2 : elements, Dtype::kUint8, Term::kOptimizerStates, role);
  PutState(weight, Blocks(elements), Dtype::kFp32, "absmax");
  if (torchao) PutState(weight, four_bit ? 16 : 256, Dtype::kFp32, "qmap");
}

void States::AddMoment(const Trained& weight, const OptimizerRule& rule, double elements, const char* role) {
  const bool packs = rule.store == MomentStore::kBitsandbytes8bit || rule.store == MomentStore::kTorchao8bit ||
                     rule.store == MomentStore::kTorchao4bit;
  const bool torchao = packs && rule.store != MomentStore::kBitsandbytes8bit;
  const bool odd = torchao && Blocks(elements) * kStateBlock != elements;
  const bool embedding = !torchao && IsEmbedding(weight.storage);
  if (packs && elements >= kSmallestPackedElements && !odd && !embedding) {
    AddPacked(weight, rule, elements, role);
    return;
  }
  std::vector<Resident>& list =
      rule.paged && weight.elements() >= kSmallestPagedElements ? step_.paged_states : step_.optimizer_states;
  const Dtype dtype = torchao ? weight.dtype : MomentDtype(weight, rule);
  Put(list, weight, elements, dtype, Term::kOptimizerStates, role);
}

/// The second moment of a matrix as a row and a column of means, in fp32 whatever the gradient.
void States::AddFactored(const Trained& weight) {
  const WeightShape& shape = weight.resident.shape;
  if (weight.IsStack()) {
    PutState(weight, weight.elements() / shape.last, Dtype::kFp32, "exp_avg_sq_row");
    PutState(weight, shape.rows * shape.last, Dtype::kFp32, "exp_avg_sq_col");
  } else if (weight.IsMatrix()) {
    PutState(weight, shape.rows, Dtype::kFp32, "exp_avg_sq_row");
    PutState(weight, shape.columns, Dtype::kFp32, "exp_avg_sq_col");
  } else {
    PutState(weight, weight.elements(), Dtype::kFp32, "exp_avg_sq");
  }
}

/// galore_torch galore_projector.py: of an m x n gradient the longer side stays, the shorter becomes the rank.
void States::AddLowRank(const Trained& weight, const OptimizerRule& rule) {
  const double longer = std::max(weight.resident.shape.rows, weight.resident.shape.columns);
  const double shorter = std::min(weight.resident.shape.rows, weight.resident.shape.columns);
  const double rank = std::min(shorter, static_cast<double>(workload_.optimizer_rank));
  const bool factored = rule.fp32_copies_of_one > 0;  // Adafactor works on fp32 gradients
  PutState(weight, rank * shorter, factored ? Dtype::kFp32 : weight.dtype, "projection");
  if (factored) {
    PutState(weight, longer, Dtype::kFp32, "exp_avg_sq_row");
    PutState(weight, rank, Dtype::kFp32, "exp_avg_sq_col");
    return;
  }
  AddMoment(weight, rule, rank * longer, "exp_avg");
  AddMoment(weight, rule, rank * longer, "exp_avg_sq");
}

/// DeepSpeed's stages flatten a partition's gradients before they cast them (stage_1_and_2.py, step; stage3.py,
/// _prepare_fp32_grad_for_sub_group): both exist for a moment, before the update makes copies of its own.
void States::AddMaster(const Trained& weight, const OptimizerRule& rule) {
  PutState(weight, weight.elements(), weight.dtype, "master weight");
  if (workload_.habits.master_gradients == MasterGradients::kFp32Buffer) {
    // Megatron's buffer is whole on every rank: the distributed optimizer divides the states alone.
    const double whole =
        weight.elements() *
        (ShardsStatesOnly(workload_.parallel.strategy) ? ShardsOf(workload_.parallel, weight.storage) : 1);
    Put(step_.gradient_buffers, weight, whole, Dtype::kFp32, Term::kGradients, "fp32 gradient");
  } else {
    Put(step_.optimizer_transient, weight, weight.elements(), Dtype::kFp32, Term::kOptimizerTransient, "fp32 gradient");
    const Strategy strategy = workload_.parallel.strategy;
    if (rule.copies_of_all > 0 || !(ShardsStatesOnly(strategy) || strategy == Strategy::kZero3)) return;
    Put(step_.optimizer_transient, weight, weight.elements(), weight.storage.dtype, Term::kOptimizerTransient,
        "flat gradient");
  }
}

void States::Add(const Trained& weight, const OptimizerRule& rule) {
  if (weight.dtype != weight.storage.dtype) AddMaster(weight, rule);
  switch (rule.shape) {
    case MomentShape::kFactored:
      AddFactored(weight);
      break;
    case MomentShape::kLowRank:
      AddLowRank(weight, rule);
      break;
    case MomentShape::kWhole: {
      constexpr const char* kRoles[] = {"exp_avg_sq", "exp_avg", "slow_exp_avg"};
      for (int i = static_cast<int>(rule.moments) - 1; i >= 0; --i) {
        AddMoment(weight, rule, weight.elements(), kRoles[i]);
      }
      break;
    }
  }
  if (rule.row_moments > 0) PutState(weight, weight.IsMatrix() ? weight.resident.shape.rows : 1, weight.dtype, "vmean");
  if (rule.compensates && BytesPerElement(weight.dtype) < 4) {
    PutState(weight, weight.elements(), weight.dtype, "compensation");
  }
  if (rule.step_on_device) PutState(weight, 1, Dtype::kFp32, "step");
  if (rule.copies_of_all > 0) {
    Put(step_.optimizer_transient, weight, rule.copies_of_all * weight.elements(), weight.dtype,
        Term::kOptimizerTransient, "denominator");
  }
}

/// Bytes that updating one parameter takes for a moment.
double UpdateBytes(const Trained& weight, const OptimizerRule& rule) {
  const double n = weight.elements();
  const double bytes = BytesPerElement(weight.dtype);
  const bool low = bytes < 4;
  double most = n * (rule.copies_of_one * bytes + 4 * rule.fp32_copies_of_one + (low ? 4 * rule.upcasts_of_one : 0));
  if (!weight.IsMatrix()) return most;
  const double shorter = std::min(weight.resident.shape.rows, weight.resident.shape.columns);
  // torch.linalg.svd in fp32: the gradient upcast, cuSOLVER's working copy, and both factors.
  if (rule.decomposes) most = std::max(most, 4 * ((low ? n : 0) + 2 * n + shorter * shorter));
  // _zeropower_via_newtonschulz: the iterate in bf16 and its successor, the Gram matrix and its update.
  if (rule.orthogonalizes) most += 2 * n + (bytes == 2 ? 0 : 2 * n) + 4 * shorter * shorter;
  return most;
}

Trained SeenByOptimizer(const Step& step, const Workload& workload, const Resident& resident) {
  Storage storage = step.storages[static_cast<std::size_t>(resident.storage)];
  const bool has_master = workload.precision.master_weights && BytesPerElement(storage.dtype) < 4;
  if (ShardsStatesOnly(workload.parallel.strategy)) {
    storage.elements.coefficient /= ShardsOf(workload.parallel, storage);
  }
  return {resident, storage, has_master ? Dtype::kFp32 : storage.dtype};
}

/// Bytes of what the step makes for every parameter at once.
double AllAtOnce(const Step& step) {
  double bytes = 0;
  for (const Resident& resident : step.optimizer_transient) {
    const Storage& storage = step.storages[static_cast<std::size_t>(resident.storage)];
    bytes += static_cast<double>(resident.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
  }
  return bytes;
}

/// DeepSpeed's stage 3 updates its share a sub-group after the other, sub_group_size elements each (stage3.py, step).
double ShareOfSubGroup(const Step& step, const Parallel& parallel) {
  if (parallel.strategy != Strategy::kZero3) return 1;
  const double elements = CountTrainedElements(step);
  return std::min(1.0, static_cast<double>(parallel.zero.sub_group_size) / std::max(1.0, elements));
}

/// The most that is alive within an update, in place of what all parameters at once would take.
void UpdateInParts(Step& step, StorageId like, double bytes, const char* role) {
  const Storage storage = step.storages[static_cast<std::size_t>(like)];
  step.optimizer_transient.clear();
  AddResident(step, step.optimizer_transient, Beside(storage, bytes, Dtype::kUint8, Term::kOptimizerTransient, role),
              1);
}

Dtype TrainedDtype(const Workload& workload) {
  return AddsToFrozenModel(workload.method.kind) ? workload.method.adapter_dtype : workload.precision.weights;
}

/// Megatron-LM adds gradients to an fp32 buffer on the card as backward makes them.
bool HasMasterGradients(const Workload& workload) {
  return workload.precision.master_weights && BytesPerElement(TrainedDtype(workload)) < 4 &&
         workload.habits.master_gradients == MasterGradients::kFp32Buffer;
}

OptimizerRule RuleOf(const Workload& workload, const Trained& weight) {
  return RuleFor(workload.optimizer, weight.IsMatrix() && weight.storage.in_layer);
}

}  // namespace

double UpdateBytes(const Step& step, const Workload& workload, const Resident& resident) {
  const Trained weight = SeenByOptimizer(step, workload, resident);
  const OptimizerRule rule = RuleOf(workload, weight);
  const double of_all = rule.copies_of_all * weight.elements() * BytesPerElement(weight.dtype);
  return std::max(of_all, UpdateBytes(weight, rule));
}

bool MakesStatesAtOnce(const Workload& workload) {
  return workload.precision.master_weights || ShardsStatesOnly(workload.parallel.strategy) ||
         workload.parallel.strategy == Strategy::kZero3;
}

void AddOptimizer(Step& step, const Workload& workload) {
  States states(step, workload);
  if (MakesStatesAtOnce(workload)) {
    for (const Resident& resident : step.idle) {
      const Trained weight = SeenByOptimizer(step, workload, resident);
      states.Add(weight, RuleOf(workload, weight));
    }
  }
  double largest = 0;
  const Resident* of_largest = nullptr;
  for (const Resident& resident : step.trained) {
    const Trained weight = SeenByOptimizer(step, workload, resident);
    const OptimizerRule rule = RuleOf(workload, weight);
    states.Add(weight, rule);
    const double bytes = UpdateBytes(weight, rule);
    if (bytes <= largest) continue;
    largest = bytes;
    of_largest = &resident;
  }
  if (GradientsAfterBackward(workload) == GradientFate::kIsApplied) {
    step.optimizer_transient.clear();
    return;
  }
  const double all = AllAtOnce(step) * ShareOfSubGroup(step, workload.parallel);
  if (of_largest != nullptr && largest > all) {
    // One parameter after the other: the largest one's temporaries are the most that are alive.
    UpdateInParts(step, of_largest->storage, largest, "update of one parameter");
  } else if (all < AllAtOnce(step)) {
    UpdateInParts(step, step.optimizer_transient.front().storage, all, "update of a sub-group");
  }
}

namespace {

void AddLasting(Step& step, const Resident& like, double elements, Dtype dtype, Term term, const char* role) {
  const Storage& storage = step.storages[static_cast<std::size_t>(like.storage)];
  AddResident(step, step.gradient_buffers, Beside(storage, elements, dtype, term, role), like.count);
}

/// DeepSpeed stage 3: its part of the gradients, in the dtype they are computed in, and the bucket they are copied into
/// to be reduced (stage3.py, _setup_for_real_optimizer).
void AddStage3Buffers(Step& step, const Workload& workload) {
  ForEachTrained(step, [&](const Resident& weight) {
    const Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    AddLasting(step, weight, storage.elements.coefficient, workload.precision.compute, Term::kGradients,
               "gradient partition");
  });
  const ZeroSettings& zero = workload.parallel.zero;
  if (step.trained.empty() || !zero.contiguous_gradients) return;
  const Resident once{step.trained.front().storage, 1};
  AddLasting(step, once, static_cast<double>(zero.reduce_bucket_size), workload.precision.compute, Term::kCommunication,
             "reduction bucket");
}

/// stage_1_and_2.py, temp_grad_buffer_for_gpu_offload: as large as the largest trained parameter.
void AddOffloadedGradient(Step& step, const Workload& workload) {
  const Resident* largest = LargestTrained(step);
  if (largest == nullptr) return;
  const double elements = step.storages[static_cast<std::size_t>(largest->storage)].elements.coefficient;
  AddLasting(step, {largest->storage, 1}, elements, workload.precision.weights, Term::kCommunication,
             "gradient from the host");
}

void AddDdpBuckets(Step& step, bool are_gradients) {
  ForEachTrained(step, [&step, are_gradients](const Resident& weight) {
    const Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    AddLasting(step, weight, storage.elements.coefficient, storage.dtype,
               are_gradients ? Term::kGradients : Term::kCommunication,
               are_gradients ? "gradient in a DDP bucket" : "DDP bucket");
  });
}

bool HasDdpBuckets(const Parallel& parallel) { return parallel.strategy == Strategy::kDdp && parallel.DataRanks() > 1; }

}  // namespace

const Resident* LargestTrained(const Step& step) {
  const Resident* largest = nullptr;
  double most = 0;
  ForEachTrained(step, [&](const Resident& weight) {
    const double elements = step.storages[static_cast<std::size_t>(weight.storage)].elements.coefficient;
    if (elements <= most) return;
    most = elements;
    largest = &weight;
  });
  return largest;
}

bool HasReductionBuckets(const Workload& workload) {
  return ShardsStatesOnly(workload.parallel.strategy) &&
         workload.habits.master_gradients == MasterGradients::kCastInStep;
}

void AddGradientBuffers(Step& step, const Workload& workload) {
  if (workload.parallel.strategy == Strategy::kZero3) AddStage3Buffers(step, workload);
  if (HasReductionBuckets(workload) && OffloadsGradients(workload)) AddOffloadedGradient(step, workload);
  // Megatron-LM's own reduces its fp32 buffer in place.
  if (HasDdpBuckets(workload.parallel) && !HasMasterGradients(workload)) {
    AddDdpBuckets(step, workload.parallel.gradient_as_bucket_view);
  }
}

bool OffloadsGradients(const Workload& workload) {
  return workload.parallel.offloads_optimizer() && !HasMasterGradients(workload);
}

GradientFate GradientsAfterBackward(const Workload& workload) {
  const bool own_way = workload.optimizer == Optimizer::kLomo || workload.optimizer == Optimizer::kAdalomo;
  if (workload.optimizer_in_backward || own_way) return GradientFate::kIsApplied;
  if (HasMasterGradients(workload)) return GradientFate::kIsAdded;
  if (HasDdpBuckets(workload.parallel) && workload.parallel.gradient_as_bucket_view) return GradientFate::kIsCopied;
  const Strategy strategy = workload.parallel.strategy;
  const bool leaves = ShardsStatesOnly(strategy) && OffloadsGradients(workload);
  const bool divided = leaves || (strategy == Strategy::kZero2 && workload.parallel.Shards() > 1);
  return divided ? GradientFate::kIsDivided : GradientFate::kStays;
}

}  // namespace tunefit
