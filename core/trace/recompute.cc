// Backward through a checkpointed module: it runs again, and its operations are walked then.
#include <utility>
#include <vector>

#include "core/trace/tracer.h"

namespace tunefit {

/// The inputs of a checkpointed module as its recomputation gets them: cut off from what made them. Those that waited
/// in host memory come back into new storages.
std::array<Value, 3> Tracer::ReturnInputs(const Node& node, const CheckpointRule& rule) {
  std::array<Value, 3> inputs;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    StorageId storage = node.saved[i];
    if (rule.to_host) {
      scope = node.scope;
      scope.term = Term::kCheckpoints;
      storage = Allocate(node.in_elements[i], node.in_dtypes[i], "layer input from the host");
    } else {
      Refer(storage);
    }
    inputs[i] = Wrap(storage, node.in_elements[i], node.in_dtypes[i], false);
    if (node.Wants(i)) inputs[i] = RequireGradient(std::move(inputs[i]));
  }
  return inputs;
}

/// Runs a checkpointed module again, as PyTorch does when backward first asks for what it did not keep.
Value Tracer::RunAgain(const Recomputation& recomputation, const std::array<Value, 3>& inputs) {
  mode_ = Mode::kRecompute;
  products_ = 0;
  taken_ = 0;
  kept_ = 0;
  kept_limit_ = recomputation.kept;
  Value out = recomputation.module(inputs);
  Make(At(out).storage);
  EndAutocast();
  mode_ = Mode::kRecord;
  runs_ = true;
  for (; taken_ < recomputation.outputs.size(); ++taken_) Release(recomputation.outputs[taken_]);
  checkpoint_ = -1;
  return out;
}

/// What autograd keeps for the tensor that `edge` stands for, of operations from node `first` on.
void Tracer::HoldGraphOf(Edge edge, std::int32_t first) {
  std::vector<std::int32_t> ahead = {edge.node};
  std::vector<bool> seen(nodes_.size() - static_cast<std::size_t>(first), false);
  while (!ahead.empty()) {
    const std::int32_t index = ahead.back();
    ahead.pop_back();
    if (index < first || seen[static_cast<std::size_t>(index - first)]) continue;
    seen[static_cast<std::size_t>(index - first)] = true;
    const Node& node = nodes_[static_cast<std::size_t>(index)];
    for (std::size_t i = 0; i < node.saved_count; ++i) HoldToEnd(node.saved[i]);
    for (std::size_t i = 0; i < node.inputs; ++i) ahead.push_back(node.edges[i].node);
  }
}

void Tracer::RunCheckpoint(std::int32_t index) {
  const Node node = nodes_[static_cast<std::size_t>(index)];
  nodes_[static_cast<std::size_t>(index)].gradients.fill(kNoStorage);
  const Recomputation recomputation = recomputations_[static_cast<std::size_t>(node.recomputation)];
  const auto first = static_cast<std::int32_t>(nodes_.size());
  std::array<Value, 3> inputs = ReturnInputs(node, recomputation.rule);
  checkpoint_ = node.recomputation;
  StorageId ahead = kNoStorage;
  if (recomputation.rule.ahead.coefficient > 0) {
    scope = node.scope;
    scope.term = Term::kWorkspace;
    ahead = Allocate(recomputation.rule.ahead, Dtype::kFp32, "gradient");
  }
  Value out = RunAgain(recomputation, inputs);
  if (ahead != kNoStorage) Release(ahead);
  const Edge seed = At(out).source;
  std::array<Edge, 3> made;
  std::size_t slot = 0;
  for (Value* value : recomputation.made) {
    ++slot;
    if (*value) made[slot] = At(*value).source;
    if (*value && recomputation.rule.made_stays) {
      HoldToEnd(At(*value).storage);
      HoldGraphOf(made[slot], first);
    }
    value->Drop();
  }
  if (recomputation.rule.recompute != Recompute::kReentrant) out.Drop();

  Deposit(seed, node.gradients[0]);
  for (std::size_t i = 1; i < made.size(); ++i) {
    if (node.gradients[i] != kNoStorage) Deposit(made[i], node.gradients[i]);
  }
  const bool outer = std::exchange(in_recomputed_, true);
  for (auto i = static_cast<std::int32_t>(nodes_.size()) - 1; i >= first; --i) RunNode(i);
  in_recomputed_ = outer;
  Results results = kNoResults;
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (!node.Wants(i)) continue;
    const auto leaf = static_cast<std::size_t>(At(inputs[i]).source.node);
    results[i] = nodes_[leaf].gradients[0];
  }
  out.Drop();
  nodes_.resize(static_cast<std::size_t>(first));
  for (std::size_t i = 0; i < node.inputs; ++i) {
    inputs[i].Drop();
    if (!recomputation.rule.to_host) Release(node.saved[i]);
  }
  for (std::size_t i = node.inputs; i < node.saved_count; ++i) Release(node.saved[i]);
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (results[i] != kNoStorage) Deposit(node.edges[i], results[i]);
  }
}

}  // namespace tunefit
