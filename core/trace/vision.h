#pragma once

#include "core/trace/modules.h"

namespace tunefit {

/// Declares the weights of a tower for images, which no sample of text runs: they are resident, frozen or trained, with
/// PEFT's adapters and bitsandbytes' packing as on all else, and keep neither activations nor gradients.
void MakeVisionTower(Tracer& tracer, ModuleFactory& factory, const Workload& workload);

}  // namespace tunefit
