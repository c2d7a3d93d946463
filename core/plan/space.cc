#include "core/plan/space.h"

#include <algorithm>
#include <iterator>

namespace tunefit {
namespace {

/// Beyond these nothing runs faster: a GPU is busy with fewer.
constexpr std::int64_t kMostPerDevice = 32;
/// Of one machine: tensor ranks need its links.
constexpr std::int64_t kMostTensor = 8;
constexpr std::int64_t kMostPipeline = 16;
constexpr std::int64_t kMostContext = 8;
constexpr std::int64_t kMostExpert = 64;

std::vector<std::int64_t> PowersUpTo(std::int64_t most) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<std::int64_t> OneOr(const std::optional<std::int64_t>& said, std::int64_t most) {
  return said ? std::vector<std::int64_t>{*said} : PowersUpTo(most);
}

/// Every way to divide tensors, layers, sequences and experts, undivided first.
std::vector<Layout> Divisions(const Space& space, const StackSpace& stack, std::int64_t gpus) {
  const Said& said = space.said;
  const bool divides = stack.divides_layers;
  const std::int64_t stages = std::min(kMostPipeline, space.most_layers);
  std::vector<Layout> divisions;
  for (const std::int64_t context : OneOr(said.context, divides && space.is_long ? kMostContext : 1)) {
    for (const std::int64_t expert : OneOr(said.expert, divides && space.has_experts ? kMostExpert : 1)) {
      for (const std::int64_t pipeline : OneOr(said.pipeline, divides ? stages : 1)) {
        for (const std::int64_t tensor : OneOr(said.tensor, divides ? kMostTensor : 1)) {
          const bool fills_machine = tensor == kMostTensor || said.tensor.has_value();
          if (pipeline > 1 && !said.pipeline && !fills_machine) continue;
          const std::int64_t ranks = tensor * pipeline * context;
          if (ranks > gpus || gpus % ranks != 0 || expert * pipeline > gpus || gpus % (expert * pipeline) != 0)
            continue;
          divisions.push_back(
              {.gpus = gpus, .tensor = tensor, .pipeline = pipeline, .context = context, .expert = expert});
        }
      }
    }
  }
  return divisions;
}

std::vector<Strategy> StrategiesOf(const Space& space, const StackSpace& stack, TunedBy method,
                                   const Layout& division) {
  if (space.said.strategy) return {*space.said.strategy};
  if (division.gpus == 1 || division.gpus == division.tensor * division.pipeline) return {Strategy::kNone};
  return method == TunedBy::kQlora ? stack.quantized : stack.strategies;
}

/// With what stays on the card, and where that is open, with what does not. DeepSpeed moves no packed weights.
void AddOffloads(const Space& space, const StackSpace& stack, TunedBy method, const Layout& layout,
                 std::vector<Layout>& layouts) {
  const auto add = [&](bool optimizer, bool parameters) {
    Layout one = layout;
    one.offloads_optimizer = optimizer;
    one.offloads_parameters = parameters;
    layouts.push_back(one);
  };
  const Said& said = space.said;
  const bool is_said = said.offloads_optimizer || said.offloads_parameters;
  if (is_said) return add(said.offloads_optimizer.value_or(false), said.offloads_parameters.value_or(false));
  add(false, false);
  if (!stack.offloads) return;
  const bool fsdp = layout.strategy == Strategy::kFsdp || layout.strategy == Strategy::kFsdp2;
  if (fsdp && method == TunedBy::kQlora) add(true, true);
}

/// DeepSpeed keeps on the host what even a single GPU trains.
void AddDeepSpeedOffloads(const StackSpace& stack, TunedBy method, const Layout& division,
                          std::vector<Layout>& layouts) {
  if (!stack.offloads || method == TunedBy::kQlora) return;
  Layout layout = division;
  layout.offloads_optimizer = true;
  layout.strategy = Strategy::kZero2;
  layouts.push_back(layout);
  layout.strategy = Strategy::kZero3;
  layout.offloads_parameters = true;
  layouts.push_back(layout);
}

std::vector<Layout> LayoutsOf(const Space& space, const StackSpace& stack, TunedBy method, std::int64_t gpus) {
  const Said& said = space.said;
  std::vector<Layout> layouts;
  for (const Layout& division : Divisions(space, stack, gpus)) {
    for (const Strategy strategy : StrategiesOf(space, stack, method, division)) {
      Layout layout = division;
      layout.strategy = strategy;
      AddOffloads(space, stack, method, layout, layouts);
    }
    if (!said.strategy && !said.offloads_optimizer) AddDeepSpeedOffloads(stack, method, division, layouts);
  }
  return layouts;
}

bool Holds(const std::vector<TunedBy>& methods, TunedBy method) {
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

/// A machine of eight first: what it does is what all others are held against.
std::vector<std::int64_t> InOrder(std::vector<std::int64_t> gpus) {
  const auto eight = std::find(gpus.begin(), gpus.end(), 8);
  if (eight != gpus.end()) std::rotate(gpus.begin(), eight, eight + 1);
  return gpus;
}

void AddShapes(const Space& space, std::int64_t gpus, bool offloaded, std::vector<Shape>& shapes) {
  for (const TunedBy method : space.methods) {
    for (std::size_t s = 0; s < space.stacks.size(); ++s) {
      const StackSpace& stack = space.stacks[s];
      if (!Holds(stack.methods, method)) continue;
      for (const Layout& layout : LayoutsOf(space, stack, method, gpus)) {
        if (layout.offloads() != offloaded) continue;
        for (const Checkpointing checkpointing : stack.checkpointing) {
          shapes.push_back({method, static_cast<std::int64_t>(s), layout, checkpointing});
          if (space.said.checkpointing) break;
        }
      }
    }
  }
}

}  // namespace

std::vector<StackSpace> PlanStacks() {
  using enum TunedBy;
  using enum Strategy;
  const std::vector<TunedBy> all = {kFull, kLora, kQlora};
  const std::vector<Checkpointing> usual = {Checkpointing::kNone, Checkpointing::kFull};
  const std::vector<Strategy> fsdp = {kDdp, kFsdp};
  const std::vector<Strategy> fsdp2 = {kDdp, kFsdp2};
  return {
      {"transformers", true, all, {kDdp, kZero2, kFsdp2}, fsdp, usual, false, true, false},
      {"unsloth", true, {kLora, kQlora}, {}, {}, {Checkpointing::kNone, Checkpointing::kOffload}, false, false, true},
      {"megatron", true, {kFull, kLora}, {kZero1}, {}, usual, true, false, true},
      {"torchtune", false, all, fsdp2, fsdp2, usual, false, false, false},
      {"torchtitan",
       false,
       {kFull},
       fsdp2,
       {},
       {Checkpointing::kNone, Checkpointing::kSelective, Checkpointing::kFull},
       true,
       false,
       false},
      {"litgpt", false, all, fsdp, fsdp, usual, false, false, true},
      {"llm-foundry", false, all, fsdp, fsdp, usual, false, false, false},
      {"deepspeed", false, all, {kZero2, kZero3, kZero1}, {kZero2}, usual, false, true, false},
  };
}

std::vector<Shape> ShapesOf(const Space& space) {
  std::vector<Shape> shapes;
  for (const bool offloaded : {false, true}) {
    for (const std::int64_t gpus : InOrder(space.gpus)) AddShapes(space, gpus, offloaded, shapes);
  }
  return shapes;
}

std::vector<MicroBatch> MicroBatchesOf(const Space& space, const Layout& layout) {
  const std::int64_t rows = layout.rows();
  const Said& said = space.said;
  const std::int64_t most = std::min({kMostPerDevice, space.most_per_device, space.global_batch / rows});
  std::vector<MicroBatch> batches;
  for (const std::int64_t sequences : OneOr(said.per_device, most)) {
    const std::int64_t at_once = sequences * rows;
    const std::int64_t open = std::max<std::int64_t>(1, (space.global_batch + at_once - 1) / at_once);
    batches.push_back({sequences, said.gradient_accumulation.value_or(open)});
  }
  return batches;
}

}  // namespace tunefit
