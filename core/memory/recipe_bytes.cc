#include "core/memory/recipe_bytes.h"

#include <cstddef>
#include <vector>

#include "core/trace/optimizer.h"

namespace tunefit {
namespace {

/// Bytes of these residents as they are counted, without the allocator's rounding. Step counters are left out.
double PlainBytes(const Step& step, const std::vector<Resident>& residents) {
  double bytes = 0;
  for (const Resident& resident : residents) {
    const Storage& storage = step.storages[static_cast<std::size_t>(resident.storage)];
    if (storage.elements.coefficient <= 1) continue;
    bytes += static_cast<double>(resident.count) * storage.elements.coefficient * BytesPerElement(storage.dtype);
  }
  return bytes;
}

/// What a frozen parameter costs on average, its scales included; 0 where none is frozen.
double FrozenBytes(const Step& step) {
  std::vector<bool> trained(step.storages.size(), false);
  for (const Resident& weight : step.trained) trained[static_cast<std::size_t>(weight.storage)] = true;
  for (const Resident& weight : step.idle) trained[static_cast<std::size_t>(weight.storage)] = true;
  double bytes = 0;
  double parameters = 0;
  for (const std::vector<Resident>* weights : {&step.weights, &step.host.parameters, &step.nvme.parameters}) {
    for (const Resident& weight : *weights) {
      const Storage& storage = step.storages[static_cast<std::size_t>(weight.storage)];
      if (trained[static_cast<std::size_t>(weight.storage)]) continue;
      if (storage.term >= Term::kReferenceModel) continue;  // models beside the trained one, engines
      const double elements = static_cast<double>(weight.count) * storage.elements.coefficient;
      bytes += elements * BytesPerElement(storage.dtype);
      if (storage.term == Term::kWeights) parameters += elements;
    }
  }
  return parameters > 0 ? bytes / parameters : 0;
}

}  // namespace

RecipeBytes RecipeOf(const Step& step, const Workload& workload) {
  const double trained = CountElements(step, step.trained);
  if (trained == 0) return {0, 0, 0, 0, FrozenBytes(step)};
  RecipeBytes recipe;
  recipe.weights = PlainBytes(step, step.trained) / trained;
  double buffered = 0;
  for (const Resident& buffer : step.gradient_buffers) {
    if (step.storages[static_cast<std::size_t>(buffer.storage)].term != Term::kGradients) continue;
    buffered += PlainBytes(step, {buffer});
  }
  const double with_idle = CountTrainedElements(step);  // those without a gradient are in every buffer
  recipe.gradients = buffered > 0 ? buffered / with_idle : recipe.weights;
  if (GradientsAfterBackward(workload) == GradientFate::kIsApplied) recipe.gradients = 0;
  const double with_states = MakesStatesAtOnce(workload) ? with_idle : trained;
  recipe.optimizer_states = (PlainBytes(step, step.optimizer_states) + PlainBytes(step, step.paged_states) +
                             PlainBytes(step, step.host.states) + PlainBytes(step, step.nvme.states)) /
                            with_states;
  recipe.optimizer_transient = PlainBytes(step, step.optimizer_transient) / with_states;
  recipe.frozen = FrozenBytes(step);
  return recipe;
}

}  // namespace tunefit
