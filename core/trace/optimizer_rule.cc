#include "core/trace/optimizer_rule.h"

namespace tunefit {
namespace {

/// torch.optim.AdamW, _multi_tensor_adam: the square roots of all second moments at once.
constexpr OptimizerRule kForeachAdamw{.copies_of_all = 1};

/// A loop over parameters, as transformers' and GaLore's own AdamW: the denominator and the update.
constexpr OptimizerRule kLoopAdamw{.copies_of_one = 2};

OptimizerRule Bitsandbytes(double moments, bool eight_bit, bool paged) {
  return {.moments = moments, .store = eight_bit ? MomentStore::kBitsandbytes8bit : MomentStore::kFp32, .paged = paged};
}

/// transformers optimization.py, Adafactor with scale_parameter and relative_step off, no first moment: gradient and
/// parameter are upcast, the update and its negative are fp32 tensors of their own.
constexpr OptimizerRule kAdafactor{
    .moments = 1, .shape = MomentShape::kFactored, .fp32_copies_of_one = 2, .upcasts_of_one = 2};

/// galore_torch: the projected-back update and its scaled copy.
OptimizerRule Galore(Optimizer optimizer, bool is_matrix_of_layer) {
  const bool eight_bit = optimizer == Optimizer::kGaloreAdamw8bit;
  const bool adafactor = optimizer == Optimizer::kGaloreAdafactor;
  if (!is_matrix_of_layer) {
    if (adafactor) return kAdafactor;
    return eight_bit ? Bitsandbytes(2, true, false) : kLoopAdamw;
  }
  OptimizerRule rule = adafactor ? kAdafactor : OptimizerRule{.moments = 2, .copies_of_one = 2};
  if (eight_bit) rule = {.moments = 2, .store = MomentStore::kBitsandbytes8bit, .copies_of_one = 3};
  rule.shape = MomentShape::kLowRank;
  rule.decomposes = true;
  return rule;
}

/// torch.optim.Muon: a momentum, the update in the gradient's dtype; embeddings, head and vectors have AdamW.
OptimizerRule Muon(bool is_matrix_of_layer) {
  if (!is_matrix_of_layer) return kForeachAdamw;
  return {.moments = 1, .copies_of_one = 1, .orthogonalizes = true};
}

/// apollo_torch APOLLOAdamW: the gradient scaled by channel, and limited; its random projection is made in fp32.
OptimizerRule Apollo(bool is_matrix_of_layer) {
  if (!is_matrix_of_layer) return kLoopAdamw;
  return {.moments = 2, .shape = MomentShape::kLowRank, .copies_of_one = 2};
}

}  // namespace

OptimizerRule RuleFor(Optimizer optimizer, bool is_matrix_of_layer) {
  switch (optimizer) {
    case Optimizer::kAdamwForeach:
      return kForeachAdamw;
    case Optimizer::kAdamwFused:
      return {.step_on_device = true};
    case Optimizer::kAdamwLoop:
      return kLoopAdamw;
    case Optimizer::kAdamwAnyPrecision:
      // torchdistx AnyPrecisionAdamW with HF's defaults: both moments fp32, no compensation.
      return {.store = MomentStore::kFp32, .fp32_copies_of_one = 2};
    case Optimizer::kAdamwTorchao8bit:
      return {.store = MomentStore::kTorchao8bit};  // torchao optim/adam.py: one compiled kernel a parameter
    case Optimizer::kAdamwTorchao4bit:
      return {.store = MomentStore::kTorchao4bit};
    case Optimizer::kAdamw8bit:
      return Bitsandbytes(2, true, false);
    case Optimizer::kPagedAdamw32bit:
      return Bitsandbytes(2, false, true);
    case Optimizer::kPagedAdamw8bit:
      return Bitsandbytes(2, true, true);
    case Optimizer::kAdemamix:
      return Bitsandbytes(3, false, false);  // bitsandbytes optim/ademamix.py: a fast and a slow average
    case Optimizer::kAdemamix8bit:
      return Bitsandbytes(3, true, false);
    case Optimizer::kPagedAdemamix32bit:
      return Bitsandbytes(3, false, true);
    case Optimizer::kPagedAdemamix8bit:
      return Bitsandbytes(3, true, true);
    case Optimizer::kLion32bit:
      return Bitsandbytes(1, false, false);
    case Optimizer::kLion8bit:
      return Bitsandbytes(1, true, false);
    case Optimizer::kPagedLion32bit:
      return Bitsandbytes(1, false, true);
    case Optimizer::kPagedLion8bit:
      return Bitsandbytes(1, true, true);
    case Optimizer::kRmspropBnb32bit:
      return Bitsandbytes(1, false, false);
    case Optimizer::kRmspropBnb8bit:
      return Bitsandbytes(1, true, false);
    case Optimizer::kAdafactor:
      return kAdafactor;
    case Optimizer::kSgd:
      return {.moments = 0};  // HF's default: no momentum
    case Optimizer::kAdagrad:
      return {.moments = 1, .copies_of_all = 2};  // torch.optim.Adagrad: square roots and scaled gradients
    case Optimizer::kRmsprop:
      return {.moments = 1, .copies_of_all = 1};
    case Optimizer::kGaloreAdamw:
    case Optimizer::kGaloreAdamw8bit:
    case Optimizer::kGaloreAdafactor:
      return Galore(optimizer, is_matrix_of_layer);
    case Optimizer::kApolloAdamw:
      return Apollo(is_matrix_of_layer);
    case Optimizer::kMuon:
      return Muon(is_matrix_of_layer);
    case Optimizer::kAdamMini:
      return {.moments = 1, .row_moments = 1, .copies_of_one = 1};  // adam_mini.py: one second moment a row
    case Optimizer::kLomo:
      return {.moments = 0, .fp32_copies_of_one = 2};  // lomo.py fuse_update: gradient and parameter in fp32
    case Optimizer::kAdalomo:
      return {.moments = 1, .shape = MomentShape::kFactored, .fp32_copies_of_one = 3};
    case Optimizer::kGrokadamw:
      return {.moments = 3, .copies_of_one = 2};
    case Optimizer::kScheduleFreeAdamw:
      return {.moments = 2, .copies_of_all = 1};  // schedulefree: z and exp_avg_sq; the denominators
    case Optimizer::kScheduleFreeSgd:
      return {.moments = 1};
    case Optimizer::kStableAdamw:
      return {.compensates = true};  // optimi StableAdamW on its Triton kernels
  }
  return {};
}

}  // namespace tunefit
