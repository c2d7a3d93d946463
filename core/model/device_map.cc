#include "core/model/device_map.h"

#include <algorithm>

#include "core/model/parameters.h"

namespace tunefit {
namespace {

/// Of a weight of the layers, as its file or its quantizer has it.
double BytesPerWeight(const Workload& workload) {
  switch (workload.quantization.kind) {
    case QuantizationKind::kNone:
      return BytesPerElement(workload.precision.weights);
    case QuantizationKind::kInt8:
    case QuantizationKind::kFp8:
      return 1;
    case QuantizationKind::kGptq:
    case QuantizationKind::kAwq:
    case QuantizationKind::kHqq:
      return static_cast<double>(workload.quantization.bits) / 8;
    case QuantizationKind::kNf4:
    case QuantizationKind::kFp4:
      break;
  }
  return 0.5;
}

/// Bytes of the modules in their order.
struct ModuleBytes {
  double embedding = 0;
  std::vector<double> layers;
  double head = 0;  ///< with the last norm
};

ModuleBytes BytesOf(const Workload& workload) {
  const Architecture& architecture = workload.architecture;
  const ParameterCounts counts = CountParameters(architecture);
  const double loaded = BytesPerElement(workload.precision.weights);
  ModuleBytes bytes;
  bytes.embedding = loaded * static_cast<double>(counts.embedding + counts.vision);
  bytes.head = loaded * static_cast<double>(counts.head + CountNorm(architecture.final_norm, architecture.hidden_size));
  for (const LayerRun& run : architecture.runs) {
    for (std::int64_t i = 0; i < run.repeats; ++i) {
      for (const Block& block : run.period) {
        const auto weights = static_cast<double>(CountBlock(block, architecture.hidden_size).total());
        bytes.layers.push_back(BytesPerWeight(workload) * weights);
      }
    }
  }
  return bytes;
}

}  // namespace

std::vector<DevicePlace> PlaceOnDevices(const Workload& workload) {
  const ModuleBytes bytes = BytesOf(workload);
  const std::int64_t devices = workload.parallel.gpus;
  const double layer = *std::max_element(bytes.layers.begin(), bytes.layers.end());
  double total = bytes.embedding + bytes.head;
  for (const double one : bytes.layers) total += one;
  const double room = total / static_cast<double>(devices) + 1.25 * layer;
  const double largest_to_come = std::max(layer, bytes.head);
  std::vector<DevicePlace> places = {{.has_embedding = true, .has_head = workload.architecture.tied_head}};
  double used = bytes.embedding;
  for (std::size_t i = 0; i < bytes.layers.size(); ++i) {
    const double most = room - (places.size() == 1 ? largest_to_come : 0);
    if (used + bytes.layers[i] > most && static_cast<std::int64_t>(places.size()) < devices) {
      places.push_back({.first_layer = static_cast<std::int64_t>(i)});
      used = 0;
    }
    ++places.back().layers;
    used += bytes.layers[i];
  }
  if (workload.architecture.tied_head) return places;
  if (used + bytes.head > room && static_cast<std::int64_t>(places.size()) < devices) {
    places.push_back({.first_layer = static_cast<std::int64_t>(bytes.layers.size())});
  }
  places.back().has_head = true;
  return places;
}

Workload DeviceOf(const Workload& workload, const DevicePlace& place) {
  Workload share = workload;
  share.architecture.runs = TakeLayers(workload.architecture.runs, place.first_layer, place.layers);
  share.stage.first_layer = place.first_layer;
  share.stage.is_first = place.has_embedding;
  share.stage.is_last = place.has_head;
  share.stage.gets_logits = place.has_embedding && !place.has_head;
  share.stage.gets_states = place.has_embedding && place.has_head && place.layers < workload.architecture.layers();
  return share;
}

}  // namespace tunefit
