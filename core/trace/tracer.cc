#include "core/trace/tracer.h"

#include <algorithm>

#include "core/trace/sharding.h"

namespace tunefit {
namespace {

/// Room for the step of a usual model, so that tracing it allocates once.
constexpr std::size_t kUsualStorages = 1024;
constexpr std::size_t kUsualEvents = 2048;
constexpr std::size_t kUsualNodes = 512;

}  // namespace

Tracer::Tracer(std::optional<Dtype> autocast, bool accumulates) : autocast_(autocast) {
  step_.gradients_alive = accumulates;
  step_.storages.reserve(kUsualStorages);
  step_.events.reserve(kUsualEvents);
  references_.reserve(kUsualStorages);
  nodes_.reserve(kUsualNodes);
}

// --- storages and references -------------------------------------------------------------------------------------

StorageId Tracer::Allocate(Size elements, Dtype dtype, const char* role) {
  const auto id = static_cast<StorageId>(step_.storages.size());
  step_.storages.push_back({elements, dtype, scope.term, scope.module, role, scope.in_layer});
  // A recomputation that has kept all it needs raises an exception in PyTorch: nothing further is computed.
  const bool stopped = mode_ == Mode::kRecompute && kept_ >= kept_limit_;
  references_.push_back(stopped ? kUncounted : 1);
  if (stopped) runs_ = false;
  if (!stopped) step_.events.push_back({id, 1});
  return id;
}

StorageId Tracer::AllocateKept(bool kept, Size elements, Dtype dtype, const char* role) {
  if (!kept) return Allocate(elements, dtype, role);
  std::vector<StorageId>& outputs = recomputations_[static_cast<std::size_t>(checkpoint_)].outputs;
  if (mode_ == Mode::kRecompute) {
    runs_ = false;
    return outputs[taken_++];
  }
  const StorageId output = Allocate(elements, dtype, role);
  Refer(output);
  outputs.push_back(output);
  return output;
}

StorageId Tracer::AllocateProduct(Size elements, Dtype dtype, const char* role) {
  if (checkpoint_ < 0) return Allocate(elements, dtype, role);
  const bool odd = ++products_ % 2 == 1;
  return AllocateKept(odd && RuleInForce().keeps_odd_products, elements, dtype, role);
}

StorageId Tracer::AllocateAttention(Size elements, Dtype dtype, const char* role) {
  return AllocateKept(checkpoint_ >= 0 && RuleInForce().keeps_attention, elements, dtype, role);
}

void Tracer::Release(StorageId storage) {
  std::int32_t& references = references_[static_cast<std::size_t>(storage)];
  if (references < 0) return;
  if (--references > 0) return;
  if (IsDeferred(storage)) return ForgetSources(storage);
  if (const auto found = std::find(shared_.begin(), shared_.end(), storage); found != shared_.end()) {
    shared_.erase(found);
    ended_shared_.push_back(storage);
    return EndShared();
  }
  step_.events.push_back({storage, -1});
}

void Tracer::ShareAmongLayers(const Value& x) {
  if (x) shared_.push_back(At(x).storage);
}

/// Shared storages end once, in a section that stands for itself alone.
void Tracer::EndShared() {
  if (step_.sections.back().repeats > 1) return;
  for (const StorageId storage : std::exchange(ended_shared_, {})) step_.events.push_back({storage, -1});
}

void Tracer::EndAutocast() {
  // Every layer's copies end here together, also those of the layers that a repeated section stands for.
  const std::vector<WeightCopy> copies = std::exchange(weight_copies_, {});
  for (const WeightCopy& copy : copies) {
    const StorageId storage = At(copy.value).storage;
    if (references_[static_cast<std::size_t>(storage)] == 1) {
      references_[static_cast<std::size_t>(storage)] = kUncounted;
      step_.events.push_back({storage, -static_cast<std::int32_t>(copy.repeats)});
    }
  }
}

Value Tracer::Wrap(StorageId storage, Size elements, Dtype dtype, bool requires_gradient) {
  std::int32_t index = 0;
  if (free_tensors_.empty()) {
    index = static_cast<std::int32_t>(tensors_.size());
    tensors_.emplace_back();
  } else {
    index = free_tensors_.back();
    free_tensors_.pop_back();
  }
  Tensor& tensor = tensors_[static_cast<std::size_t>(index)];
  // Field by field: gcc copies a temporary in wide pieces right after writing narrow ones, which stalls.
  tensor.storage = storage;
  tensor.elements = elements;
  tensor.dtype = dtype;
  tensor.requires_gradient = requires_gradient;
  tensor.cast_is_cached = false;
  tensor.source = {};
  tensor.references = 1;
  tensor.kept_part = kNoStorage;
  tensor.fp8 = {};
  return {this, index};
}

void Tracer::TensorDropped(std::int32_t index) {
  const Tensor& tensor = tensors_[static_cast<std::size_t>(index)];
  for (const StorageId storage : {tensor.storage, tensor.fp8.read, tensor.fp8.kept}) {
    if (storage != kNoStorage) Release(storage);
  }
  free_tensors_.push_back(index);
}

bool Tracer::RequiresGradient(const Value& x) const { return gradients_ && x && At(x).requires_gradient; }
Dtype Tracer::DtypeOf(const Value& x) const { return At(x).dtype; }
Size Tracer::SizeOf(const Value& x) const { return At(x).elements; }

Value Tracer::Weight(const WeightShape& shape, Dtype dtype, Term term, const char* role, bool trainable,
                     std::int64_t count) {
  const Size elements = shape.elements();
  const auto parameters = static_cast<std::int64_t>(elements.coefficient) * count;
  if (trainable) step_.trained_parameters += parameters;
  if (trainable && term == Term::kAdapters) step_.adapter_parameters += parameters;
  ShardedUnits::Declared weight{static_cast<StorageId>(step_.storages.size()), kNoStorage, dtype};
  step_.storages.push_back({elements, dtype, weight_term.value_or(term), scope.module, role, scope.in_layer});
  step_.storages.back().of_expert = of_expert;
  references_.push_back(kUncounted);  // resident: no event ever ends it
  step_.weights.push_back({weight.shard, count, shape});
  if (trainable) (idle == Idle::kNot ? step_.trained : step_.idle).push_back({weight.shard, count, shape});
  const bool sharded = units_ != nullptr && term != Term::kQuantization;
  if (idle != Idle::kNot) {
    const bool in_root = idle == Idle::kInRoot || (sharded && !units_->wraps_layers());
    if (sharded && in_root) units_->Declare(shape, weight.shard, trainable, count);
    if (sharded && !in_root) units_->DeclareApart(shape, weight.shard, trainable, count);
    return Wrap(weight.shard, elements, dtype, false);
  }
  if (sharded) weight = units_->Declare(shape, weight.shard, trainable, count);
  Value value = Wrap(sharded ? weight.whole : weight.shard, elements, weight.dtype, false);
  At(value).cast_is_cached = untrained_leaves;
  if (!trainable) return value;
  value = AddLeaf(std::move(value), true);
  if (sharded) {
    nodes_.back().is_sharded = true;
    units_->SetLeaf(static_cast<std::int32_t>(nodes_.size()) - 1);
  }
  if (update_bytes_) nodes_.back().extra = {update_bytes_(step_, step_.trained.back()), Axis::kOnce};
  return value;
}

void Tracer::CopyThroughout(Size elements, Dtype dtype, const char* role, std::int64_t count) {
  step_.weight_copies.push_back({static_cast<StorageId>(step_.storages.size()), count});
  step_.storages.push_back({elements, dtype, Term::kAutocastCopies, scope.module, role, scope.in_layer});
  references_.push_back(kUncounted);
}

Value Tracer::BehaveAs(Value x, Dtype dtype) {
  At(x).dtype = dtype;
  if (At(x).source.node >= 0) nodes_[static_cast<std::size_t>(At(x).source.node)].out_dtype = dtype;
  return x;
}

double Tracer::TrainedElements() const { return CountElements(step_, step_.trained); }

void Tracer::DecideGradients(GradientFate fate, UpdateBytes update_bytes) {
  fate_ = fate;
  update_bytes_ = std::move(update_bytes);
}

Value Tracer::Input(Size elements, Dtype dtype, const char* role) {
  return Wrap(Allocate(elements, dtype, role), elements, dtype, false);
}

Value Tracer::Empty(Size elements, Dtype dtype, const char* role) { return Input(elements, dtype, role); }

Value Tracer::RequireGradient(Value x, bool caches_cast) {
  x = AddLeaf(std::move(x), false);
  At(x).cast_is_cached = caches_cast;
  return x;
}

// --- recording ------------------------------------------------------------------------------------------------------

Node& Tracer::Begin(OpKind kind) {
  Node* node = &discarded_;
  if (mode_ == Mode::kDiscard) {
    node->inputs = 0;
    node->saved_count = 0;
    node->edges.fill({});
  } else {
    node = &nodes_.emplace_back();
  }
  runs_ = true;
  node->kind = kind;
  node->batches = {1, Axis::kOnce};
  node->matrix = {};
  node->scope = scope;
  node->compiled = fuses_;
  return *node;
}

Value Tracer::AddLeaf(Value x, bool is_weight) {
  Node& leaf = nodes_.emplace_back();
  Tensor& tensor = At(x);
  leaf.kind = OpKind::kLeaf;
  leaf.scope = scope;
  leaf.is_weight = is_weight;
  leaf.out_elements = tensor.elements;
  leaf.out_dtype = tensor.dtype;
  tensor.requires_gradient = true;
  tensor.cast_is_cached = is_weight;
  tensor.source = {static_cast<std::int32_t>(nodes_.size()) - 1, 0};
  return x;
}

void Tracer::AddInput(Node& node, const Value& input) {
  const int i = node.inputs++;
  node.in_elements[static_cast<std::size_t>(i)] = {};
  if (!input) return;
  const Tensor& tensor = At(input);
  if (!fuses_ || !IsFusible(node.kind)) Make(tensor.storage);
  node.in_elements[static_cast<std::size_t>(i)] = tensor.elements;
  node.in_dtypes[static_cast<std::size_t>(i)] = tensor.dtype;
  if (!tensor.requires_gradient || !gradients_) return;
  // Inside a checkpointed module nothing is recorded: any edge will do to say that a gradient is wanted.
  if (mode_ == Mode::kDiscard) {
    node.edges[static_cast<std::size_t>(i)] = {0, 0};
    return;
  }
  node.edges[static_cast<std::size_t>(i)] = tensor.source;
  Node& source = nodes_[static_cast<std::size_t>(tensor.source.node)];
  if (source.is_weight) ++source.uses;
}

bool Tracer::NeedsBackward(const Node& node) const {
  for (int i = 0; i < node.inputs; ++i) {
    if (node.edges[static_cast<std::size_t>(i)].node >= 0) return true;
  }
  return false;
}

void Tracer::Keep(Node& node, StorageId storage) {
  if (mode_ != Mode::kRecord) ++kept_;
  if (mode_ == Mode::kDiscard) return;
  Refer(storage);
  node.saved[node.saved_count++] = storage;
}

Value Tracer::AddOutput(Node& node, StorageId storage, Size elements, Dtype dtype) {
  WorkForward(node, elements, dtype);
  return Tie(node, storage, elements, dtype);
}

Value Tracer::Tie(Node& node, StorageId storage, Size elements, Dtype dtype) {
  const bool wanted = NeedsBackward(node);
  Value value = Wrap(storage, elements, dtype, wanted);
  if (mode_ == Mode::kDiscard) return value;
  if (!wanted) {
    nodes_.pop_back();
    return value;
  }
  node.out_elements = elements;
  node.out_dtype = dtype;
  At(value).source = {static_cast<std::int32_t>(nodes_.size()) - 1, 0};
  return value;
}

// --- sharded modules -------------------------------------------------------------------------------------------------

Value Tracer::EnterUnit(std::int32_t unit, const Value& x) {
  units_->BeforeForward(unit);
  if (!x) return Value();
  Value inside = Look(OpKind::kUnitEntry, x, SizeOf(x));
  if (!At(inside).requires_gradient) return inside;
  nodes_.back().unit = unit;
  nodes_.back().units = units_;
  if (units_->HoldsInputs()) Keep(nodes_.back(), At(x).storage);
  return inside;
}

Value Tracer::LeaveUnit(std::int32_t unit, const Value& x) {
  units_->AfterForward(unit);
  Value outside = Look(OpKind::kUnitExit, x, SizeOf(x));
  if (!At(outside).requires_gradient) return outside;
  nodes_.back().unit = unit;
  nodes_.back().units = units_;
  units_->ExpectBackward(unit);
  if (std::find(in_backward_.begin(), in_backward_.end(), units_) == in_backward_.end()) in_backward_.push_back(units_);
  return outside;
}

// --- time ------------------------------------------------------------------------------------------------------------

void Tracer::CloseSection() {
  if (!step_.sections.empty()) step_.sections.back().end_event = static_cast<std::int32_t>(step_.events.size());
}

void Tracer::BeginSection(Moment moment, std::int64_t layer, std::int64_t layers, std::int64_t repeats) {
  CloseSection();
  // What the data loader made before the first section belongs to it.
  const auto now = step_.sections.empty() ? 0 : static_cast<std::int32_t>(step_.events.size());
  const Section section{now, now, moment, layer, layers, repeats, piece};
  step_.sections.push_back(section);
  BeginWork();
  EndShared();
  // Backward walks the sections again in which something was recorded.
  if (gradients_) marks_.push_back({static_cast<std::int32_t>(nodes_.size()), section});
}

/// What the last step's graph holds is there when this one begins, as this one's is when it ends.
void Tracer::AddLastGraph() {
  std::vector<Event> there;
  std::vector<Event> ended;
  for (const HeldStorage& held : std::exchange(held_by_graph_, {})) {
    if (--references_[static_cast<std::size_t>(held.storage)] != 0) continue;
    references_[static_cast<std::size_t>(held.storage)] = kUncounted;
    const auto last = static_cast<StorageId>(step_.storages.size());
    const Storage storage = step_.storages[static_cast<std::size_t>(held.storage)];
    step_.storages.push_back(storage);
    references_.push_back(kUncounted);
    there.push_back({last, static_cast<std::int32_t>(held.repeats)});
    ended.push_back({last, -static_cast<std::int32_t>(held.repeats)});
  }
  const auto count = static_cast<std::int32_t>(there.size());
  step_.events.insert(step_.events.begin() + last_graph_end_, ended.begin(), ended.end());
  step_.events.insert(step_.events.begin(), there.begin(), there.end());
  const auto moved = [&](std::int32_t event) { return event + (event > last_graph_end_ ? 2 * count : count); };
  for (Section& section : step_.sections) {
    section.first_event = section.first_event == 0 ? 0 : moved(section.first_event);
    section.end_event = moved(section.end_event);
  }
}

Step Tracer::Finish() {
  if (!ended_shared_.empty()) BeginSection(step_.sections.back().moment, -1, 1, 1);
  CloseSection();
  EndWork();
  if (!held_by_graph_.empty()) AddLastGraph();
  return std::move(step_);
}

}  // namespace tunefit
