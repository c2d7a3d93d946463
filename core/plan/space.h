#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/plan/choice.h"

// Which choices a plan goes through, and in which order.

namespace tunefit {

/// What a training stack is told in plans.
struct StackSpace {
  std::string_view id;    ///< of the catalog
  bool is_tried = false;  ///< where the request names no stack
  std::vector<TunedBy> methods;
  std::vector<Strategy> strategies;          ///< of several GPUs; without any it runs on one
  std::vector<Strategy> quantized;           ///< the same, where the weights are quantized
  std::vector<Checkpointing> checkpointing;  ///< cheapest in time first
  bool divides_layers = false;               ///< tensor, pipeline, context and expert ranks
  bool offloads = false;                     ///< under ZeRO and FSDP
  bool is_of_nvidia = false;                 ///< it runs on no other vendor's cards
};

/// All stacks of the contract. Where the request names none, plans try three: transformers with PEFT, accelerate and
/// DeepSpeed; Unsloth on one GPU; and Megatron-LM, whose ranks divide tensors and layers.
std::vector<StackSpace> PlanStacks();

/// What the request says; the rest is open.
struct Said {
  std::optional<Strategy> strategy;
  std::optional<std::int64_t> tensor, pipeline, context, expert;
  std::optional<bool> offloads_optimizer, offloads_parameters;
  std::optional<std::int64_t> per_device, gradient_accumulation;
  bool checkpointing = false;  ///< what it is, the request knows
};

struct Space {
  std::vector<StackSpace> stacks;
  std::vector<TunedBy> methods;
  std::vector<std::int64_t> gpus;  ///< in all, ascending
  std::int64_t global_batch = 1;   ///< sequences of an update; a little over it where GPUs do not divide it
  Said said;
  std::int64_t most_per_device = 1;
  std::int64_t most_layers = 1;  ///< stages are no more
  bool has_experts = false;
  bool is_long = false;  ///< sequences that context ranks are made for
};

/// All choices of equal trace but for the micro-batch: one method, stack, layout and way of checkpointing.
struct Shape {
  TunedBy method = TunedBy::kFull;
  std::int64_t stack = 0;
  Layout layout;
  Checkpointing checkpointing = Checkpointing::kNone;
};

/// All of them, likely ones first: nothing offloaded before what is, a machine of eight before other numbers, whole
/// layers before divided ones, nothing checkpointed before what is. Tensor ranks fill a machine of eight before stages
/// are added (Narayanan et al. 2021, section 5: tensor ranks within a machine, stages across).
std::vector<Shape> ShapesOf(const Space& space);

/// Powers of two up to the global batch, smallest first; none where the GPUs are more than its sequences.
std::vector<MicroBatch> MicroBatchesOf(const Space& space, const Layout& layout);

}  // namespace tunefit
