#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/codec/catalog.h"
#include "core/codec/hf_config.h"
#include "core/codec/request.h"

// The steps of ReadRequest after the fields were read, in this order.

namespace tunefit {

/// Finds the card, the server and the link that the request names, and what they say of the wiring. `market` may be
/// null.
void FindHardware(RequestReading& reading, const Catalog& catalog, const Market* market);

/// Finds the stack and the version in force. Null with an issue where the stack is unknown or not modelled.
const StackVersion* FindStackVersion(RequestReading& reading, const Catalog& catalog);

/// Finds the model by name or reads the pasted config into `workload.architecture`. False with issues where it fails.
/// `config` gets what a pasted config says besides its architecture.
bool FindArchitecture(RequestReading& reading, const Catalog& catalog, HfConfig& config);

/// Fills in what the request left open: from the stack, from the pasted config, else from the core. Every value taken
/// becomes an assumption.
void CompleteRequest(RequestReading& reading, const HfConfig& config);

/// The task that a request names, sft where it names none.
Task TaskOf(const RequestFields& request);

/// Issues about fields of the completed request that make no sense for its task, or are not modelled for it.
void CheckTask(RequestReading& reading);

/// The task of the completed request as the core's types; the architecture gets a classifier's head where it asks for
/// one.
void FillTask(RequestReading& reading);

/// `not_modelled` for everything in the completed request that the core would ignore although it changes memory.
void RefuseUnmodelled(RequestReading& reading, const HfConfig& config);

/// A matrix that an adapter may sit on: the core's name of it, and its path within a layer ("self_attn.q_proj").
struct AdaptableModule {
  std::string_view name;
  std::string path;
};

/// The linear modules of the model's layers, each name once. None without a model.
std::vector<AdaptableModule> AdaptableModules(const Architecture& architecture);

/// PEFT's rule: a module is chosen when its path is the target or ends in it after a dot. What stands before a layer in
/// the path is left out, so a target that names it chooses nothing.
bool Selects(std::string_view target, const AdaptableModule& module);

/// IA3's rule for its feedforward modules: the end of a path, whatever stands before it
/// (peft tuners/ia3/model.py, _check_target_module_feedforward).
bool IsFeedForward(std::string_view name, const AdaptableModule& module);

/// Warnings and notes about a request that is computed: what the card or the library will not do, what contradicts the
/// pasted config, what changes nothing. And the one combination of attention and dtype that the library refuses.
void RemarkOn(RequestReading& reading, const HfConfig& config);

/// The method of the completed request as the core's types. Resolves the names of modules to the model's own.
void FillMethod(RequestReading& reading);

/// The strategy of a word among words::kStrategy.
Strategy ReadStrategy(Word word);

/// The completed request as the core's types.
void FillWorkload(RequestReading& reading);

}  // namespace tunefit
