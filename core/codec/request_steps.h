#pragma once

#include <string_view>
#include <vector>

#include "core/codec/catalog.h"
#include "core/codec/hf_config.h"
#include "core/codec/request.h"

// The steps of ReadRequest after the fields were read, in this order.

namespace tunefit {

/// Finds the stack and the version in force. Null with an issue where the stack is unknown or not modelled.
const StackVersion* FindStackVersion(RequestReading& reading, const Catalog& catalog);

/// Finds the model by name or reads the pasted config into `workload.architecture`. False with issues where it fails.
/// `config` gets what a pasted config says besides its architecture.
bool FindArchitecture(RequestReading& reading, const Catalog& catalog, HfConfig& config);

/// Fills in what the request left open: from the stack, from the pasted config, else from the core. Every value taken
/// becomes an assumption.
void CompleteRequest(RequestReading& reading, const HfConfig& config);

/// `not_modelled` for everything in the completed request that the core would ignore although it changes memory.
void RefuseUnmodelled(RequestReading& reading, const HfConfig& config);

/// The names of the model's linear modules in its layers, each once.
std::vector<std::string_view> ModuleNames(const Architecture& architecture);

/// PEFT's rule: a module is chosen when its path is the target or ends in it after a dot. Of the path only the end is
/// known here, so a longer target is compared as far as that goes.
bool Selects(std::string_view target, std::string_view module);

/// The completed request as the core's types. Resolves LoRA's target names to the model's modules.
void FillWorkload(RequestReading& reading);

}  // namespace tunefit
