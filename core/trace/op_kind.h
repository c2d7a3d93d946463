#pragma once

#include <cstdint>

namespace tunefit {

/// The operations that autograd knows; each has a rule for what it keeps and what its backward allocates.
enum class OpKind : std::uint8_t {
  kLeaf,     ///< a trained weight, or a tensor that was told to require a gradient
  kView,     ///< the gradient passes through unchanged
  kReshape,  ///< a view whose gradient has to be copied into place
  kSlice,    ///< the gradient is scattered into a tensor of the whole size
  kCast,
  kElementwise,  ///< one gradient per input, computed from it and the kept ones
  kAdd,          ///< the gradient goes to both inputs
  kSubtract,     ///< the same, negated for the second
  kPow,
  kByHand,  ///< one gradient, worked out through temporaries of its size
  kMean,
  kRsqrt,
  kDeviation,  ///< of each row; the gradient goes through the rows' distances from their means
  kLinear,
  kLinearBias,
  kFp8Linear,      ///< operands are cast to FP8 for each product, kept as they were
  kFp8KeptLinear,  ///< operands are cast to FP8 once and kept so
  kBatchMatmul,
  kDequantizedLinear,
  kFusedLoraLinear,
  kCat,
  kExpandHeads,    ///< key/value heads repeated; the gradient is summed over the copies
  kSplit,          ///< one fused projection cut in three; the gradients are joined
  kSelect,         ///< chosen elements or rows; the gradient is scattered into a tensor of the input's size
  kAddRows,        ///< the gradient goes on, and its rows to what was added
  kSplitMatmul,    ///< products of split rows, joined
  kKernel,         ///< another library's: gradients of all inputs beside a workspace
  kGroupedMatmul,  ///< rows sorted by expert, each group times its own matrix
  kLayerNorm,
  kFusedNorm,  ///< the gradient overwrites the incoming one
  kEmbedding,
  kAttention,  ///< a fused kernel: gradients of q, k and v at once
  kNegativeLogLikelihood,
  kExchange,        ///< ranks join or divide the tokens: the gradient goes the other way
  kBoundary,        ///< a compiled graph ends and the next begins: what crosses is written out
  kChunkedLoss,     ///< the kept log-probabilities give way to the gradient, chunk by chunk
  kCheckpoint,      ///< a module that is run again in backward
  kUnitEntry,       ///< a sharded module starts here: in backward it is done
  kUnitExit,        ///< a sharded module ends here: in backward it is about to start
  kInPlaceOnView,   ///< a tensor changed through a view of it (CopySlices)
  kAddThroughView,  ///< the same, by what is added
  kCopyThroughView,
  kLogSumExpRows,   ///< log-probabilities of labels from fp32 logits, a sequence at a time
  kLogSoftmaxRows,  ///< the same from other logits, by a log-softmax a sequence
  kPrepared,        ///< gradients that the forward pass already computed (fused linear cross entropy)
};

}  // namespace tunefit
