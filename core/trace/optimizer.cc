#include "core/trace/optimizer.h"

#include <cstring>
#include <vector>

namespace tunefit {
namespace {

/// bitsandbytes keeps 32-bit states for tensors below this many elements (optim min_8bit_size), and pages only states
/// from this many on (optimizer.py, get_state_buffer).
constexpr double kSmallest8bitElements = 4096;
constexpr double kSmallestPagedElements = 1e5;
/// Elements that share one scale in 8-bit states (bitsandbytes optimizer blocksize).
constexpr double kStateBlock = 256;

void Add(Step& step, std::vector<Resident>& list, const Resident& weight, double elements, Dtype dtype, Term term,
         const char* role) {
  Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
  storage.elements = {elements, Axis::kOnce};
  storage.dtype = dtype;
  storage.term = term;
  storage.role = role;
  list.push_back({static_cast<StorageId>(step.storages.size()), weight.count});
  step.storages.push_back(storage);
}

/// AdamW as PyTorch writes it: two moments in the weight's dtype, a step counter on the device where it is fused.
void AddTorchAdamw(Step& step, const Resident& weight, const Storage& storage, bool fused) {
  const double elements = storage.elements.coefficient;
  Add(step, step.optimizer_states, weight, elements, storage.dtype, Term::kOptimizerStates, "exp_avg");
  Add(step, step.optimizer_states, weight, elements, storage.dtype, Term::kOptimizerStates, "exp_avg_sq");
  if (fused) {
    Add(step, step.optimizer_states, weight, 1, Dtype::kFp32, Term::kOptimizerStates, "step");
  } else {
    // torch.optim.adam, _multi_tensor_adam: the square roots of all exp_avg_sq at once.
    Add(step, step.optimizer_transient, weight, elements, storage.dtype, Term::kOptimizerTransient, "denominator");
  }
}

/// bitsandbytes' AdamW: fp32 moments, or 8-bit ones with a scale a block; transformers' Trainer keeps embeddings at 32.
void AddBitsandbytesAdamw(Step& step, const Resident& weight, const Storage& storage, Optimizer optimizer) {
  const double elements = storage.elements.coefficient;
  const bool paged = optimizer == Optimizer::kPagedAdamw8bit || optimizer == Optimizer::kPagedAdamw32bit;
  std::vector<Resident>& list = paged && elements >= kSmallestPagedElements ? step.paged_states : step.optimizer_states;
  const bool is_embedding = std::strcmp(storage.module, "embed_tokens") == 0 || std::strcmp(storage.module, "wpe") == 0;
  const bool full = optimizer == Optimizer::kPagedAdamw32bit || elements < kSmallest8bitElements || is_embedding;
  for (const char* role : {"exp_avg", "exp_avg_sq"}) {
    Add(step, list, weight, elements, full ? Dtype::kFp32 : Dtype::kUint8, Term::kOptimizerStates, role);
    if (full) continue;
    const double blocks = static_cast<double>(static_cast<std::int64_t>((elements + kStateBlock - 1) / kStateBlock));
    Add(step, step.optimizer_states, weight, blocks, Dtype::kFp32, Term::kOptimizerStates, "absmax");
  }
}

}  // namespace

void AddOptimizer(Step& step, const Workload& workload) {
  for (const Resident& weight : step.trained) {
    const Storage storage = step.storages[static_cast<std::size_t>(weight.storage)];
    switch (workload.optimizer) {
      case Optimizer::kAdamwForeach:
      case Optimizer::kAdamwFused:
        AddTorchAdamw(step, weight, storage, workload.optimizer == Optimizer::kAdamwFused);
        break;
      case Optimizer::kAdamw8bit:
      case Optimizer::kPagedAdamw32bit:
      case Optimizer::kPagedAdamw8bit:
        AddBitsandbytesAdamw(step, weight, storage, workload.optimizer);
        break;
    }
  }
}

}  // namespace tunefit
