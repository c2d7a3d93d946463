#pragma once

#include "core/trace/modules.h"

namespace tunefit {

/// From the last hidden states to the loss: head, soft-capping, upcasts and cross entropy as the workload asks. Ends
/// the forward pass: everything the model's outputs held is dropped, as the Trainer drops it. `last_logits` end when
/// the model has returned new ones.
Value TraceLoss(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& states,
                const Value& labels, Value last_logits);

/// The logits of the step before, where the training loop holds them until the next are there; else empty.
Value LastStepsLogits(Tracer& tracer, const Workload& workload);

/// The head's output as the model's forward returns it to a caller who brings no labels: scaled (Granite), soft-capped
/// (Gemma 2), in fp32 where the model itself upcasts.
Value TraceLogits(Tracer& tracer, const Workload& workload, const LinearModule& head, const Value& hidden);

/// Ends the forward pass's autocast; the logits as its caller gets them, which accelerate's convert_outputs_to_fp32
/// casts.
Value ReturnedLogits(Tracer& tracer, const Workload& workload, Value logits);

/// torch.nn.CrossEntropyLoss in the dtype of the scores; autocast makes it fp32.
Value OwnCrossEntropy(Tracer& tracer, const Value& scores, Value labels);

/// How many tokens the loss works on at a time.
ChunkRule LossChunks(const Workload& workload);

}  // namespace tunefit
