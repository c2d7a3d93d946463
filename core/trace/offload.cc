#include "core/trace/offload.h"

#include <algorithm>
#include <utility>

#include "core/trace/optimizer.h"

namespace tunefit {
namespace {

void Append(std::vector<Resident>& to, std::vector<Resident>& from) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

/// This rank's gradients as the update on the host reads them: DeepSpeed's in fp32, FSDP's in their parameter's dtype.
/// Stage 3 collects them in the dtype of backward before (grad_partitions_flat_buffer).
void AddHostGradients(Step& step, const Workload& workload) {
  const bool fsdp = workload.parallel.strategy == Strategy::kFsdp || workload.parallel.strategy == Strategy::kFsdp2;
  const bool are_shards = ShardsParameters(workload.parallel.strategy);
  const auto add = [&](const Resident& weight) {
    const Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    const double elements = storage.elements.coefficient / (are_shards ? 1 : ShardsOf(workload.parallel, storage));
    const auto put = [&](Dtype dtype) {
      AddResident(step, step.host_gradients, Beside(storage, elements, dtype, Term::kGradients, "gradient on the host"),
                  weight.count);
    };
    put(fsdp ? storage.dtype : Dtype::kFp32);
    if (workload.parallel.strategy == Strategy::kZero3) put(workload.precision.compute);
  };
  if (fsdp) {
    for (const Resident& weight : step.trained) add(weight);
  } else {
    ForEachTrained(step, add);
  }
}

void MoveShards(Step& step, const std::vector<StorageId>& shards) {
  std::vector<bool> moves(step.storages.size(), false);
  for (const StorageId shard : shards) moves[static_cast<std::size_t>(shard)] = true;
  const auto stays = [&moves](const Resident& weight) { return !moves[static_cast<std::size_t>(weight.storage)]; };
  const auto first = std::stable_partition(step.weights.begin(), step.weights.end(), stays);
  step.host_parameters.assign(first, step.weights.end());
  step.weights.erase(first, step.weights.end());
}

}  // namespace

void MoveToHost(Step& step, const Workload& workload, const std::vector<StorageId>& shards) {
  if (!workload.parallel.offloads_optimizer) return;
  Append(step.host_states, step.optimizer_states);
  Append(step.host_states, step.paged_states);
  step.optimizer_transient.clear();
  if (OffloadsGradients(workload)) {
    const auto first = std::stable_partition(
        step.gradient_buffers.begin(), step.gradient_buffers.end(), [&step](const Resident& buffer) {
          return step.storages[static_cast<std::size_t>(buffer.storage)].term != Term::kGradients;
        });
    step.gradient_buffers.erase(first, step.gradient_buffers.end());
    AddHostGradients(step, workload);
  }
  if (workload.parallel.offloads_parameters) MoveShards(step, shards);
}

}  // namespace tunefit
