#pragma once

#include <cstdint>

namespace tunefit {

/// What `loss: chunked` is in a stack.
enum class ChunkedLoss : std::uint8_t {
  kBlocksRunAgain,  ///< head and loss of a block of tokens at a time, run again in backward (TRL)
  kLogitsInChunks,  ///< all logits exist, cross entropy takes a chunk at a time (LitGPT; torchtune until 2025)
  kHeadInChunks,    ///< head and loss of a chunk at a time, and each chunk's log-probabilities are kept (torchtune)
};

/// How a stack's loss and its training loop treat the logits.
struct LossHabits {
  ChunkedLoss chunked = ChunkedLoss::kBlocksRunAgain;
  std::int64_t chunks = 8;        ///< chunks that every sequence is cut into, where `chunk_length` is zero
  std::int64_t chunk_length = 0;  ///< tokens of every sequence in a chunk
  /// Also the standard loss turns its fp32 scores into their gradient (Megatron-LM's vocab-parallel cross entropy).
  bool in_place = false;
  bool compiled = true;        ///< where the layers are compiled, head and loss are, too
  bool classes_first = false;  ///< cross entropy over (sequences, classes, tokens): the kernel copies into that order
  bool loop_holds = false;     ///< the training loop's name for the logits holds them until the next ones are there
  /// Where lengths vary the longest batch comes first of all, when the loop holds nothing yet (LitGPT until 2024-02).
  bool longest_first = false;
};

/// Which classes repeat key/value heads before FlashAttention, of those that ever did (FlashHeads).
enum class FlashRepeats : std::uint8_t { kNone, kUnconverted, kAll };

/// Whether a stack's own model class projects with one matrix, and how its rows lie.
enum class JoinedQkv : std::uint8_t {
  kNo,
  kParts,   ///< queries, keys, values
  kGroups,  ///< by groups of query heads, each followed by its key and value head
};

/// How a stack's own model code and wrappers differ from those of transformers and PEFT.
struct ModelHabits {
  /// Attention on unpacked batches gets no explicit mask: a causal flag, padding or not.
  bool masks_padding = true;
  /// With checkpointed layers the embeddings' output requires a gradient although nothing before it trains (PEFT).
  bool embeddings_require_gradient = true;
  JoinedQkv joined_qkv = JoinedQkv::kNo;
  bool rms_gain_in_fp32 = false;  ///< RMS norms multiply by their weight before they cast back (LitGPT)
  bool lends_keys = true;         ///< layers that share keys and values do so in training, too (transformers 5.7)
  bool mpt_runs_kernels = false;  ///< its own class of MPT runs attention kernels (LLM Foundry)
  bool quantizes_head = false;    ///< the output head is quantized as the layers' matrices are (Fabric's bitsandbytes)
};

}  // namespace tunefit
