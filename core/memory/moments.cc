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

/// Bytes of residents as a file holds them, without the allocator's rounding.
double FileBytes(const Step& step, const std::vector<Resident>& residents) {
  double bytes = 0;
  for (const Resident& resident : residents) {
    const Storage& storage = StorageOf(step, resident);
    bytes += static_cast<double>(resident.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
  }
  return bytes;
}

/// What PEFT makes of an adapted matrix while it merges, bytes for each of its elements (peft/tuners/lora/layer.py,
/// get_delta_weight and merge; bnb.py, merge).
double MergeBytesPerElement(const Workload& workload) {
  const double adapter = BytesPerElement(workload.method.adapter_dtype);
  switch (workload.quantization.kind) {
    case QuantizationKind::kNone:
      return 2 * adapter;  // B A, and that scaled; the base is added to in place
    case QuantizationKind::kNf4:
    case QuantizationKind::kFp4: {
      const Dtype sum = Promote(workload.precision.compute, workload.method.adapter_dtype);
      const double packed = BytesPerElement(Dtype::kNf4);
      // dequantized, the update, their sum, the sum back from the host, and packed again
      return BytesPerElement(workload.precision.compute) + adapter + 2 * BytesPerElement(sum) + packed;
    }
    case QuantizationKind::kInt8:
      // dequantized in fp32, the update, their sum, that in fp16 back from the host, and packed again
      return 4 + adapter + 4 + 2 + 1;
    default:
      return 0;
  }
}

/// Elements of the largest adapted matrix: its adapter's two matrices stand side by side.
double LargestAdaptedMatrix(const Step& step, std::int64_t rank) {
  double largest = 0;
  const auto r = static_cast<double>(rank);
  for (std::size_t i = 0; i + 1 < step.weights.size(); ++i) {
    const Storage& down = StorageOf(step, step.weights[i]);
    const Storage& up = StorageOf(step, step.weights[i + 1]);
    if (std::strcmp(down.role, "lora_A.weight") != 0 || std::strcmp(up.role, "lora_B.weight") != 0) continue;
    largest = std::max(largest, down.elements.coefficient / r * (up.elements.coefficient / r));
  }
  return largest;
}

}  // namespace

Axes AxesOf(const Step& step, const Workload& workload, const Batch& batch) {
  const auto sequences = static_cast<double>(SequencesOf(workload.task, batch));
  // Context ranks share every sequence evenly.
  const std::int64_t ranks = workload.parallel.context;
  const auto part = [ranks](std::int64_t tokens) {
    const std::int64_t each = (tokens + ranks - 1) / ranks;
    return static_cast<double>(each);
  };
  const std::int64_t length = batch.sequence_length;
  return Axes::Of(sequences, part(length), step.chunk, part(KeptTokens(workload, length)));
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
  const double per_element = MergeBytesPerElement(workload);
  if (workload.method.kind != MethodKind::kLora || per_element == 0) return 0;
  if (ShardsParameters(workload.parallel.strategy)) return 0;  // merged elsewhere, from the whole
  double models = 0;
  for (const Resident& weight : step.weights) {
    const Storage& storage = StorageOf(step, weight);
    if (storage.term >= Term::kReferenceModel) continue;
    models += static_cast<double>(weight.count) * StorageBytes(storage, axes);
  }
  return models + per_element * LargestAdaptedMatrix(step, workload.method.rank);
}

double CheckpointDiskBytes(const Step& step, const Workload& workload) {
  const bool adapter = workload.method.kind == MethodKind::kLora;
  double model = 0;
  const auto add = [&](const Resident& weight) {
    const Storage& storage = StorageOf(step, weight);
    if (storage.term >= Term::kReferenceModel) return;
    model += static_cast<double>(weight.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
  };
  for (const Resident& weight : adapter ? step.trained : step.weights) add(weight);
  if (adapter) std::for_each(step.idle.begin(), step.idle.end(), add);
  for (const OffCard* place : {&step.host, &step.nvme}) {
    if (!adapter) std::for_each(place->parameters.begin(), place->parameters.end(), add);
  }
  // All ranks' shares of what is divided are written.
  const Strategy strategy = workload.parallel.strategy;
  const auto shards = static_cast<double>(workload.parallel.Shards());
  // The busiest rank stands for those that have other tensors: a little too much where stages differ.
  const auto divided = static_cast<double>(workload.parallel.tensor * workload.parallel.pipeline);
  const double states = FileBytes(step, step.optimizer_states) + FileBytes(step, step.paged_states) +
                        FileBytes(step, step.host.states) + FileBytes(step, step.nvme.states);
  return divided *
         (model * (ShardsParameters(strategy) ? shards : 1) + states * (DividesStates(strategy) ? shards : 1));
}

}  // namespace tunefit
