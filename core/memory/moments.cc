#include "core/memory/moments.h"

#include <algorithm>
#include <cstring>

#include "core/memory/replay.h"

namespace tunefit {
namespace {

const Storage& StorageOf(const Step& step, const Resident& resident) {
  return step.storages[static_cast<std::size_t>(resident.storage)];
}

/// bitsandbytes and HQQ pack on the card while a model is read; the other kinds are stored packed.
bool IsPackedOnLoading(QuantizationKind kind) {
  return kind == QuantizationKind::kNf4 || kind == QuantizationKind::kFp4 || kind == QuantizationKind::kInt8 ||
         kind == QuantizationKind::kHqq;
}

bool IsPacked(const Storage& storage) { return storage.term == Term::kWeights && BytesPerElement(storage.dtype) <= 1; }

/// Weights that were upcast after loading: floats wider than the weights' dtype.
bool IsUpcast(const Storage& storage, Dtype loaded) {
  return storage.term == Term::kWeights && IsFloat(storage.dtype) &&
         BytesPerElement(storage.dtype) > BytesPerElement(loaded);
}

double BytesAs(Storage storage, Dtype dtype, const Axes& axes) {
  storage.dtype = dtype;
  return StorageBytes(storage, axes);
}

/// Every rank has its own share of the optimizer's states.
bool DividesStates(Strategy strategy) {
  return ShardsParameters(strategy) || strategy == Strategy::kZero1 || strategy == Strategy::kZero2;
}

/// Bytes of residents as a file holds them, without the allocator's rounding: of all ranks, but each of equal ones
/// once.
double FileBytes(const Step& step, const Parallel& parallel, bool divided, const std::vector<Resident>& residents) {
  double bytes = 0;
  for (const Resident& resident : residents) {
    const Storage& storage = StorageOf(step, resident);
    const double ranks = static_cast<double>(parallel.gpus) / (divided ? 1 : ShardsOf(parallel, storage));
    bytes +=
        ranks * static_cast<double>(resident.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
  }
  return bytes;
}

/// What PEFT makes of an adapted matrix while it merges, bytes for each of its elements (peft/tuners/lora/layer.py,
/// get_delta_weight and merge; bnb.py, merge).
double MergeBytesPerElement(const Workload& workload, bool packed) {
  const double adapter = BytesPerElement(workload.method.adapter_dtype);
  if (!packed) return 2 * adapter;  // B A, and that scaled; the base is added to in place
  switch (workload.quantization.kind) {
    case QuantizationKind::kNf4:
    case QuantizationKind::kFp4: {
      const Dtype sum = Promote(workload.precision.compute, workload.method.adapter_dtype);
      const double again = BytesPerElement(Dtype::kNf4);
      // dequantized, the update, their sum, the sum back from the host, and packed again
      return BytesPerElement(workload.precision.compute) + adapter + 2 * BytesPerElement(sum) + again;
    }
    case QuantizationKind::kInt8:
      // dequantized in fp32, the update, their sum, that in fp16 back from the host, and packed again
      return 4 + adapter + 4 + 2 + 1;
    default:
      return 0;
  }
}

bool IsRole(const Storage& storage, const char* role) { return std::strcmp(storage.role, role) == 0; }

/// PEFT merges LoRA into plain matrices and bitsandbytes'.
bool Merges(QuantizationKind kind) {
  return kind == QuantizationKind::kNone || kind == QuantizationKind::kNf4 || kind == QuantizationKind::kFp4 ||
         kind == QuantizationKind::kInt8;
}

/// What is made of the adapted matrix that takes most: its adapter's two matrices stand side by side, after it.
double LargestMerge(const Step& step, const Workload& workload) {
  if (!Merges(workload.quantization.kind)) return 0;
  double largest = 0;
  bool packed = false;
  for (std::size_t i = 0; i + 1 < step.weights.size(); ++i) {
    const Storage& down = StorageOf(step, step.weights[i]);
    const Storage& up = StorageOf(step, step.weights[i + 1]);
    if (IsRole(down, "weight")) packed = IsPacked(down);
    const bool matrices = IsRole(down, "lora_A.weight") && IsRole(up, "lora_B.weight");
    const bool tables = IsRole(down, "lora_embedding_A") && IsRole(up, "lora_embedding_B");
    if (!matrices && !tables) continue;
    const double elements = step.weights[i].shape.columns * step.weights[i + 1].shape.rows;
    largest = std::max(largest, MergeBytesPerElement(workload, packed) * elements);
  }
  return largest;
}

/// The same of an IA3 vector's: the product of the two and that in the weight's dtype again (peft/tuners/ia3/layer.py,
/// merge; over bitsandbytes' matrices it refuses).
double RescaleBytesPerElement(const Workload& workload) {
  if (workload.quantization.kind != QuantizationKind::kNone) return 0;
  const Dtype weight = workload.precision.weights;
  const Dtype product = Promote(weight, workload.method.adapter_dtype);
  return BytesPerElement(product) + (product != weight ? BytesPerElement(weight) : 0);
}

/// Elements of the largest matrix with a vector: it is declared before that, its bias between the two.
double LargestRescaledMatrix(const Step& step) {
  double largest = 0;
  double matrix = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = StorageOf(step, weight);
    if (IsRole(storage, "weight")) matrix = storage.elements.coefficient;
    if (IsRole(storage, "ia3_l")) largest = std::max(largest, matrix);
  }
  return largest;
}

/// Bytes that PEFT needs beside the models for the matrix that takes most; 0 where it merges nothing.
double MergeBytes(const Step& step, const Workload& workload) {
  switch (workload.method.kind) {
    case MethodKind::kLora:
      return LargestMerge(step, workload);
    case MethodKind::kIa3:
      return RescaleBytesPerElement(workload) * LargestRescaledMatrix(step);
    default:
      return 0;
  }
}

}  // namespace

Axes AxesOf(const Step& step, const Workload& workload, const Batch& batch) {
  const auto sequences = static_cast<double>(SequencesOf(workload.task, batch));
  const auto part = [&workload](std::int64_t tokens) {
    return static_cast<double>(workload.parallel.PartOfSequence(tokens));
  };
  const std::int64_t length = LayerTokens(workload, batch.sequence_length);
  return Axes::Of(sequences, part(length), step.chunk, part(KeptTokens(workload, length)), part(batch.sequence_length));
}

double LoadPeak(const Step& step, const Workload& workload, const Axes& axes) {
  const Dtype loaded_dtype = workload.precision.weights;
  double loaded = 0;    // as read, before upcasts and adapters
  double prepared = 0;  // after upcasts
  double matrix = 0;    // the largest that is packed
  double original = 0;  // the largest that is upcast
  double checkpoint = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = StorageOf(step, weight);
    const auto count = static_cast<double>(weight.count);
    const double bytes = StorageBytes(storage, axes);
    if (storage.term == Term::kWeights) checkpoint += count * bytes;
    if (storage.term == Term::kAdapters) continue;
    prepared += count * bytes;
    const bool upcast = IsUpcast(storage, loaded_dtype);
    const double read = upcast ? BytesAs(storage, loaded_dtype, axes) : bytes;
    loaded += count * read;
    if (upcast) original = std::max(original, read);
    if (IsPacked(storage)) matrix = std::max(matrix, BytesAs(storage, loaded_dtype, axes));
  }
  const double whole = SumResidents(step, step.weights, axes);
  if (IsPackedOnLoading(workload.quantization.kind)) return std::max({whole, loaded + matrix, prepared + original});
  return workload.habits.load_holds_checkpoint ? whole + checkpoint : whole;
}

double MergePeak(const Step& step, const Workload& workload, const Axes& axes) {
  const double merged = MergeBytes(step, workload);
  if (merged == 0) return 0;
  if (ShardsParameters(workload.parallel.strategy)) return 0;  // merged elsewhere, from the whole
  double models = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = StorageOf(step, weight);
    if (storage.term >= Term::kReferenceModel) continue;
    models += static_cast<double>(weight.count) * StorageBytes(storage, axes);
  }
  return models + merged;
}

namespace {

/// How often PEFT writes a table beside the adapter on it (utils/save_and_load.py, save_embedding_layers): of one that
/// is head and table, under either name.
std::int64_t CopiesSaved(const Storage& storage, const Workload& workload) {
  const Method& method = workload.method;
  if (!IsRole(storage, "weight") || storage.term != Term::kWeights) return 0;
  if (std::strcmp(storage.module, "lm_head") == 0) return method.adapts_head ? 1 : 0;
  if (std::strcmp(storage.module, "embed_tokens") != 0) return 0;
  const bool tied = workload.architecture.tied_head;
  return (method.adapts_embedding ? 1 : 0) + (tied && method.adapts_head ? 1 : 0);
}

}  // namespace

double CheckpointDiskBytes(const Step& step, const Workload& workload) {
  const bool adapter = AddsToFrozenModel(workload.method.kind);
  std::vector<Resident> model;
  const auto add = [&](Resident weight, std::int64_t times = 1) {
    weight.count *= times;
    if (StorageOf(step, weight).term < Term::kReferenceModel) model.push_back(weight);
  };
  for (const Resident& weight : adapter ? step.trained : step.weights) add(weight);
  if (adapter) {
    for (const Resident& weight : step.idle) add(weight);
  }
  for (const OffCard* place : {&step.host, &step.nvme}) {
    if (adapter) break;
    for (const Resident& weight : place->parameters) add(weight);
  }
  for (const Resident& weight : step.weights) add(weight, CopiesSaved(StorageOf(step, weight), workload));
  const Parallel& parallel = workload.parallel;
  double bytes = FileBytes(step, parallel, ShardsParameters(parallel.strategy), model);
  for (const std::vector<Resident>* states :
       {&step.optimizer_states, &step.paged_states, &step.host.states, &step.nvme.states}) {
    bytes += FileBytes(step, parallel, DividesStates(parallel.strategy), *states);
  }
  return bytes;  // the busiest rank stands for all: a little too much where stages differ
}

}  // namespace tunefit
