#pragma once

#include "core/trace/step.h"

// What a step computes, summed from its trace.

namespace tunefit {

/// Of one micro-batch, by why it is computed.
struct Flops {
  double forward = 0;
  double recompute = 0;
  double backward = 0;

  double total() const { return forward + recompute + backward; }
  /// Without what runs again.
  double once() const { return forward + backward; }
};

/// Work of one micro-batch on one rank.
struct MicroBatchWork {
  Flops matmul;               ///< products in 16 bits
  Flops matmul_fp32;          ///< those in fp32, or which the matrix units cannot read
  Flops matmul_fp8;           ///< those whose operands are in FP8
  Flops attention;            ///< of fused kernels
  double gathered_bytes = 0;  ///< sent among data ranks in the micro-batch
  double tensor_bytes = 0;    ///< among tensor ranks, backward included
  double expert_bytes = 0;    ///< among expert ranks, backward included
  double operand_bytes = 0;   ///< of all products' factors and results: what a product of small sides waits for
  double bytes = 0;           ///< moved by all other kernels
  double kernels = 0;         ///< launched
  double gathers = 0;         ///< tensors that data ranks gather or scatter
};

/// TIM-1  Sums over sections, as often as each stands for. Attention counts what its kernel computes: half the scores
/// where it knows the causal order, those of the window where there is one. Products of heads whose size is no multiple
/// of 8 (cuBLAS documentation, Tensor Core usage: 16 bytes) run where fp32 ones do. `parts`: of a sequence, of which
/// this rank holds one; its queries meet the keys of all. `reference_share`: of the micro-batches, those before which
/// the passes at Moment::kReference run.
MicroBatchWork WorkOf(const Step& step, const Axes& axes, double parts = 1, double reference_share = 1);

/// TIM-2  Operations of one product.
double FlopsOf(const Matmul& matmul, const Axes& axes);

/// TIM-3  Operations of one fused attention kernel, forward or backward.
double FlopsOf(const FusedScores& scores, const Axes& axes, double parts = 1);

}  // namespace tunefit
