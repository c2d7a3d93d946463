#pragma once

#include "core/model/workload.h"
#include "core/trace/size.h"
#include "core/trace/step.h"

namespace tunefit {

/// The axes of a micro-batch of this workload, as its task counts examples.
Axes AxesOf(const Step& step, const Workload& workload, const Batch& batch);

/// MEM-112  The most that is on the card while the model is read. Weights are read into their place, one after another;
/// a library that holds the checkpoint's tensors there as well has them twice. A base that bitsandbytes packs while it
/// is read has the matrix at hand whole beside the packed ones; prepare_model_for_kbit_training then holds each tensor
/// that it upcasts twice.
double LoadPeak(const Step& step, const Workload& workload, const Axes& axes);

/// MEM-113  The most that is on the card while PEFT merges the adapter into its base, in a process that trains nothing:
/// the models, and what is made of the largest adapted matrix. 0 where there is nothing to merge (virtual tokens stay
/// apart), or where PEFT cannot (GPTQ, AWQ, HQQ and FP8 bases are left out, IA3 over bitsandbytes' too, and models
/// whose parameters the ranks share).
double MergePeak(const Step& step, const Workload& workload, const Axes& axes);

/// MEM-114  Bytes of one checkpoint on disk: what was trained (the whole model, or the adapter), and the optimizer's
/// states. A tensor in its own dtype; what else a checkpoint holds is kilobytes.
double CheckpointDiskBytes(const Step& step, const Workload& workload);

}  // namespace tunefit
