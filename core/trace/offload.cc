#include "core/trace/offload.h"

#include <algorithm>
#include <utility>

#include "core/trace/optimizer.h"

namespace tunefit {
namespace {

/// DeepSpeed's stage 3 swaps states and the gradients that their update reads; its other stages know memory only.
bool OnNvme(const Workload& workload) {
  return workload.parallel.optimizer_device == OffloadDevice::kNvme && workload.parallel.strategy == Strategy::kZero3;
}

void Append(std::vector<Resident>& to, std::vector<Resident>& from) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

/// DeepSpeed's OffloadParam and OffloadOptimizer as they are unless told otherwise (zero/offload_config.py); elements.
constexpr double kParameterBuffers = 5;
constexpr double kParameterBufferElements = 1e8;
constexpr double kParametersInHost = 1e9;
constexpr double kStateBuffers = 4;

/// The most of its share that a rank updates at once.
double LargestSubGroup(const Step& step, const Parallel& parallel) {
  return std::min(CountTrainedElements(step), static_cast<double>(parallel.zero.sub_group_size));
}

void AddBuffer(Step& step, double elements, Dtype dtype, const char* role) {
  Storage storage;
  storage.module = "offload";
  AddResident(step, step.host.buffers, Beside(storage, elements, dtype, Term::kCommunication, role), 1);
}

/// This rank's gradients as the update on the host reads them: DeepSpeed's in fp32, FSDP's in their parameter's dtype.
/// Stage 3 collects them in the dtype of backward before (grad_partitions_flat_buffer).
void AddHostGradients(Step& step, const Workload& workload) {
  const bool fsdp = workload.parallel.strategy == Strategy::kFsdp || workload.parallel.strategy == Strategy::kFsdp2;
  const bool are_shards = ShardsParameters(workload.parallel.strategy);
  std::vector<Resident>& of_update = OnNvme(workload) ? step.nvme.gradients : step.host.gradients;
  const auto add = [&](const Resident& weight) {
    const Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    const double elements = storage.elements.coefficient / (are_shards ? 1 : ShardsOf(workload.parallel, storage));
    const auto put = [&](std::vector<Resident>& list, Dtype dtype) {
      AddResident(step, list, Beside(storage, elements, dtype, Term::kGradients, "gradient off the card"),
                  weight.count);
    };
    put(of_update, fsdp ? storage.dtype : Dtype::kFp32);
    if (workload.parallel.strategy == Strategy::kZero3) put(step.host.gradients, workload.precision.compute);
  };
  if (fsdp) {
    for (const Resident& weight : step.trained) add(weight);
  } else {
    ForEachTrained(step, add);
  }
}

/// DeepSpeed's stages 1 and 2 bring updated weights back by way of a copy in their dtype
/// (param_buffer_of_bit16_for_cpu_offload_groups), gradients by way of one as large as the largest of them
/// (temp_grad_buffer_for_cpu_offload), and add up those of micro-batches in their own dtype (accumulated_grads_in_cpu).
void AddStage2Buffers(Step& step, const Workload& workload) {
  const Resident* largest = LargestTrained(step);
  if (!HasReductionBuckets(workload) || largest == nullptr) return;
  const Dtype dtype = workload.precision.weights;
  const double share = CountTrainedElements(step) / static_cast<double>(workload.parallel.Shards());
  AddBuffer(step, share, dtype, "updated weights");
  if (workload.batch.gradient_accumulation > 1) AddBuffer(step, share, dtype, "accumulated gradients");
  AddBuffer(step, step.storages[static_cast<std::size_t>(largest->storage)].elements.coefficient, dtype,
            "one gradient");
}

void MoveShards(Step& step, const Workload& workload, const std::vector<StorageId>& shards) {
  std::vector<bool> moves(step.storages.size(), false);
  for (const StorageId shard : shards) moves[static_cast<std::size_t>(shard)] = true;
  const auto stays = [&moves](const Resident& weight) { return !moves[static_cast<std::size_t>(weight.storage)]; };
  const auto first = std::stable_partition(step.weights.begin(), step.weights.end(), stays);
  const bool nvme = workload.parallel.parameter_device == OffloadDevice::kNvme;
  (nvme ? step.nvme : step.host).parameters.assign(first, step.weights.end());
  step.weights.erase(first, step.weights.end());
  if (!nvme) return;
  // stage3.py, _create_param_groups_fp16_flat_cpu_memory: max_in_cpu of what trains is in memory all the same.
  const Dtype dtype = workload.precision.weights;
  AddBuffer(step, std::min(CountTrainedElements(step), kParametersInHost), dtype, "parameters kept in memory");
  AddBuffer(step, kParameterBuffers * kParameterBufferElements, dtype, "parameters on their way");
  if (CountTrainedElements(step) > kParametersInHost) {
    AddBuffer(step, LargestSubGroup(step, workload.parallel), dtype, "updated parameters");
  }
}

}  // namespace

void MoveOffCard(Step& step, const Workload& workload, const std::vector<StorageId>& shards) {
  if (!workload.parallel.offloads_optimizer()) return;
  OffCard& place = OnNvme(workload) ? step.nvme : step.host;
  Append(place.states, step.optimizer_states);
  Append(place.states, step.paged_states);
  step.optimizer_transient.clear();
  if (OnNvme(workload)) {
    AddBuffer(step, kStateBuffers * LargestSubGroup(step, workload.parallel), Dtype::kFp32, "states on their way");
  }
  AddStage2Buffers(step, workload);
  if (OffloadsGradients(workload)) {
    const auto first = std::stable_partition(
        step.gradient_buffers.begin(), step.gradient_buffers.end(), [&step](const Resident& buffer) {
          return step.storages[static_cast<std::size_t>(buffer.storage)].term != Term::kGradients;
        });
    step.gradient_buffers.erase(first, step.gradient_buffers.end());
    AddHostGradients(step, workload);
  }
  if (workload.parallel.offloads_parameters()) MoveShards(step, workload, shards);
}

}  // namespace tunefit
