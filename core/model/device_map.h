#pragma once

#include <cstdint>
#include <vector>

#include "core/model/workload.h"

namespace tunefit {

/// What one card of a model in one process holds.
struct DevicePlace {
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  bool has_embedding = false;  ///< and a tower for images
  bool has_head = false;
};

/// PAR-32  Where accelerate's device_map="auto" ("balanced") places a model's modules, in their order, by the bytes of
/// their parameters (utils/modeling.py, get_balanced_memory and infer_auto_device_map): a card takes the n-th part of
/// them and 1.25 times a layer, the first one less by the largest module that is still to come, the last one all that
/// is left. A tied head is where its table is. Cards that would be left over hold nothing and are no place.
std::vector<DevicePlace> PlaceOnDevices(const Workload& workload);

/// The workload of one such card: its layers, of one micro-batch. The card that the inputs are on gets a copy of the
/// logits (hooks.py, AlignDevicesHook: io_same_device).
Workload DeviceOf(const Workload& workload, const DevicePlace& place);

}  // namespace tunefit
