#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/architecture.h"
#include "core/model/habits.h"
#include "core/model/issue.h"
#include "core/model/parallel.h"
#include "core/model/recipe.h"
#include "core/model/task.h"

namespace tunefit {

enum class Checkpointing : std::uint8_t {
  kNone,
  kFull,       ///< layers keep their input only and run again in backward
  kSelective,  ///< a library's choice of what is kept and what runs again: Habits::selective_checkpoint
  kOffload,    ///< as kFull, and the inputs wait in host memory
};

enum class AttentionKernel : std::uint8_t { kEager, kSdpa, kFlash, kXformers };

enum class Loss : std::uint8_t {
  kStandard,       ///< the model's own: fp32 logits, cross entropy over all of them
  kChunked,        ///< the standard loss over blocks of tokens, each recomputed in backward
  kFusedCe,        ///< one kernel over materialized logits, gradient in place (Liger cross entropy)
  kFusedLinearCe,  ///< head and loss in one, no logits of the whole batch (Liger fused linear)
};

enum class Packing : std::uint8_t { kNone, kPacked, kPaddingFree };

struct Batch {
  std::int64_t per_device = 1;  ///< examples in a micro-batch: sequences, or pairs of them (`IsPaired`)
  std::int64_t gradient_accumulation = 1;
  std::int64_t sequence_length = 2048;  ///< tokens, padded length
  Packing packing = Packing::kNone;
  bool length_varies = false;

  /// Padded batches are not all of one size.
  bool Varies() const { return length_varies && packing == Packing::kNone; }
};

/// Operations that fused kernels run (Liger, Unsloth, foak) and so keep less than the library's own.
struct FusedKernels {
  bool rms_norm = false;
  bool rope = false;
  bool swiglu = false;
  bool lora = false;  ///< matrix and adapter in one, the update added in place
};

/// Where the logits become fp32 for the loss.
enum class LogitsUpcast : std::uint8_t {
  kNone,
  kModel,  ///< in the model's forward: it returns fp32 logits (transformers before 4.46)
  kLoss,   ///< inside the loss function: the model returns its own dtype
};

/// What selective checkpointing runs again, by library.
enum class SelectiveCheckpoint : std::uint8_t {
  /// Scores, softmax and their product with the values, between q, k, v and the output (Megatron-LM,
  /// transformer/attention.py: _checkpointed_attention_forward).
  kCoreAttention,
  /// Each layer, but for the outputs of attention and of every second matrix product, which are kept (torchtitan,
  /// distributed/activation_checkpoint.py: SelectiveAC).
  kAllButEverySecondProduct,
  /// Each layer, but for the output of attention, which is kept (Axolotl, selective_checkpointing).
  kAllButAttention,
};

/// How a checkpointed layer runs again.
enum class Recompute : std::uint8_t {
  kStopsEarly,  ///< until all that backward needs is there (torch.utils.checkpoint, use_reentrant=False)
  kWhole,       ///< to its end (early_stop=False)
  kReentrant,   ///< to its end, and its output lives until the layer's backward is done (use_reentrant=True)
};

/// What becomes of the gradients of 16-bit weights that train through fp32 master copies.
enum class MasterGradients : std::uint8_t {
  kCastInStep,  ///< they come in the weights' dtype, and the optimizer's step casts them to fp32 (DeepSpeed's ZeRO)
  kFp32Buffer,  ///< each is added to an fp32 buffer that lives throughout (Megatron's main_grad)
};

/// What a library does with the FP8 operands of its matrix products.
enum class Fp8Operands : std::uint8_t {
  kCast,  ///< made for each product, forward and backward; kept is what they were cast from (torchao)
  kKept,  ///< the input is kept in FP8 instead, and weights have a lasting copy in it (TransformerEngine)
};

/// Habits of a training stack that change what stays alive, by the mechanism's own name; catalog/stacks.json sets them.
struct Habits {
  LogitsUpcast logits_upcast = LogitsUpcast::kLoss;
  bool loss_shifts_logits = false;  ///< the loss copies the logits without their last row instead of shifting labels
  bool outputs_upcast = true;       ///< accelerate returns fp32 outputs from an autocast forward
  bool lora_casts_input = true;     ///< the adapter's input is cast to the adapter's dtype
  bool dora_reuses_base = true;     ///< DoRA without dropout scales the product that is there (PEFT from 0.14 on)
  MasterGradients master_gradients = MasterGradients::kCastInStep;
  bool gptq_unpacks_in_torch = true;  ///< GPTQ layers dequantize in PyTorch's operations and keep the matrix
  bool gptq_lora_casts_input = true;  ///< also under autocast a GPTQ layer's adapter casts its input
  bool stacked_experts = true;        ///< experts of a layer are stacked parameters, not modules in a loop
  bool adapts_expert_stacks = false;  ///< adapters find stacked experts (Megatron-SWIFT's tuners/lora.py)
  bool sdpa_repeats_heads = false;    ///< also without a mask key/value heads are repeated before the kernel
  FlashRepeats flash_repeats = FlashRepeats::kNone;  ///< before FlashAttention too
  bool load_holds_checkpoint = false;  ///< while a model is read, the checkpoint's tensors are on the card beside it
  bool grpo_has_reference = false;     ///< TRL's beta is above zero unless told otherwise
  /// TRL's preference losses pick the labels' logits first (selective_log_softmax) instead of a log-softmax over all.
  bool selective_log_softmax = true;
  /// They hold the reference's logits to their end and compute entropies of the policy's for the log.
  bool preference_logs_logits = true;
  /// Under sequence parallelism a matrix product keeps its rank's part of the tokens and gathers them again in
  /// backward.
  bool gathers_tokens_again = false;
  bool fsdp_upcasts_trainable = false;  ///< accelerate: trained parameters are fp32 under FSDP's mixed precision
  bool fsdp2_gathers_alone = false;     ///< see Parallel
  bool fsdp1_keeps_gradients = false;   ///< FSDP's flat gradients outlive zero_grad(), to the next backward pass
  /// The vocabulary's rows are padded to a multiple of this on each tensor rank.
  std::int64_t vocabulary_multiple = 1;
  Fp8Operands fp8_operands = Fp8Operands::kCast;
  SelectiveCheckpoint selective_checkpoint = SelectiveCheckpoint::kAllButAttention;
  Recompute recompute = Recompute::kStopsEarly;
  /// Layer inputs that are on the card at once while offloaded checkpoints travel: buffers, and layers that stay.
  std::int64_t offload_blocks_on_card = 2;
  /// bitsandbytes before 0.43.2: a 4-bit product saves its input, though no gradient needs it (autograd/_functions.py).
  bool kbit_keeps_input = false;
  bool kbit_computes_as_input = false;  ///< its compute dtype is the input's, not the run's (LitGPT)
  /// The packed weights came from fp16 (bitsandbytes before 0.43, Params4bit.cuda; Fabric): they are dequantized to it
  /// and cast to the compute dtype then.
  bool kbit_dequantizes_to_fp16 = false;
  LossHabits loss;
  ModelHabits model;
  /// Classes that never upcast their logits computed their own loss on them, apart from the shared loss function.
  bool plain_classes_skip_upcast = false;
  /// Copies that modules_to_save trains keep the dtype that their originals were loaded in (PEFT before 0.12).
  bool saved_modules_as_loaded = false;
  /// Fused attention runs kernels written for the GPU's own generation (cuDNN, FlashAttention 3), not those for Ampere.
  bool attention_by_generation = false;
  bool pads_to_longest = false;      ///< rows are padded to the longest of their micro-batch, not to a fixed length
  bool expandable_segments = false;  ///< the stack sets PyTorch's allocator to one segment that grows
};

/// Everything that decides a training step on the busiest GPU: the typed request.
struct Workload {
  Architecture architecture;
  Task task = Task::kSft;
  Reference reference = Reference::kNone;
  Rollout rollout;
  Evaluation evaluation;
  Method method;
  Quantization quantization;
  Precision precision;
  Optimizer optimizer = Optimizer::kAdamwFused;
  std::int64_t optimizer_rank = 128;   ///< of GaLore's and APOLLO's projections
  bool optimizer_in_backward = false;  ///< each parameter is updated and its gradient freed during backward
  Batch batch;
  Checkpointing checkpointing = Checkpointing::kNone;
  std::int64_t checkpoint_every = 1;  ///< kFull and kOffload: every n-th layer is checkpointed, the others keep all
  AttentionKernel attention = AttentionKernel::kSdpa;
  Loss loss = Loss::kStandard;
  bool compile = false;  ///< torch.compile: elementwise operations are fused
  FusedKernels fused;
  Habits habits;
  Parallel parallel;
  PipelineStage stage;  ///< of the rank that is traced; `RankOf` sets it
};

/// Sequences in a micro-batch.
constexpr std::int64_t SequencesOf(Task task, const Batch& batch) {
  return (IsPaired(task) ? 2 : 1) * batch.per_device;
}

/// Tokens at the end of a sequence of that length whose logits are computed: of a completion and the token before it
/// where completions are generated, else all.
std::int64_t KeptTokens(const Workload& workload, std::int64_t length);

/// Tokens of a sequence as the layers see it, where its data has `length`: virtual ones come before those.
std::int64_t LayerTokens(const Workload& workload, std::int64_t length);

/// Faults that only show when the parts meet: a rank over the matrix, an unknown target module, a length beyond the
/// learned positions, quantization under full fine-tuning. `field` is the request's path.
Issues Validate(const Workload& workload);

}  // namespace tunefit
