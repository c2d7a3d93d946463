#pragma once

#include "core/trace/model.h"

namespace tunefit {

/// What turns frames of sound into a speech model's source.
void MakeEars(ModuleFactory& factory, const Workload& workload, TracedModel& model);

/// What the source comes in: token ids, or frames of sound.
Value MakeSourceInput(Tracer& tracer, const Workload& workload);

/// The stack that reads the source.
LayerStack MakeEncoder(Tracer& tracer, ModuleFactory& factory, const Workload& workload, Unrolling unrolling);

/// From the source's token ids to the normalized last hidden states of the target, which is as long. `context` is the
/// decoder's; until the loss is made it holds the encoder's output, as the model's outputs do.
Value RunEncoderDecoder(Tracer& tracer, const TracedModel& model, const Value& ids, LayerContext& context,
                        Moment moment);

}  // namespace tunefit
