#pragma once

#include "core/model/architecture.h"
#include "core/model/habits.h"

namespace tunefit {

/// LitGPT has one class for all the decoders that Hugging Face has a class for each: queries, keys and values come from
/// one matrix whose parts LoRA adapts apart, gate and up are two matrices, no head is tied, and modules have the same
/// names in every model. Here those are Llama's, by which people ask for them; LitGPT's own are lora_query and so on.
/// Models that its class does not build stay as they are. Source: litgpt/model.py and litgpt/lora.py.
void BuildAsLitGpt(Architecture& architecture, const ModelHabits& habits);

}  // namespace tunefit
