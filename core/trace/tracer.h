#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/model/workload.h"
#include "core/trace/graph.h"
#include "core/trace/rules.h"
#include "core/trace/step.h"

namespace tunefit {

class ShardedUnits;
class Tracer;

/// A reference to a tensor, as a Python name is one: the tensor lives while a Value or autograd refers to it. C++
/// scopes in the traced modules stand for Python's.
class Value {
 public:
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept : tracer_(other.tracer_), index_(other.index_) { other.tracer_ = nullptr; }
  Value& operator=(Value other) noexcept {
    std::swap(tracer_, other.tracer_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~Value() { Drop(); }

  /// Forgets the tensor now, as `del` does.
  void Drop();
  explicit operator bool() const { return tracer_ != nullptr; }

 private:
  friend class Tracer;
  Value(Tracer* tracer, std::int32_t index) : tracer_(tracer), index_(index) {}

  Tracer* tracer_ = nullptr;
  std::int32_t index_ = -1;
};

/// Records what PyTorch would allocate and free while the traced modules run: a small PyTorch without data. Operations
/// follow autograd's and autocast's rules; `Backward` walks the recorded graph as the engine does, in reverse order of
/// creation. Value arguments that are moved in end as soon as the operation has run, as Python's temporaries do.
class Tracer {
 public:
  /// `accumulates`: gradients of an earlier micro-batch exist, new ones are added to them in place.
  Tracer(std::optional<Dtype> autocast, bool accumulates);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // --- where we are: names and terms of the storages that follow ------------------------------------------------
  using Scope = TraceScope;
  Scope scope;

  /// From here on declared weights have such gradients. `update_bytes` says what applying one takes for a moment.
  using UpdateBytes = std::function<double(const Step&, const Resident&)>;
  void DecideGradients(GradientFate fate, UpdateBytes update_bytes);
  /// Elements of all weights declared so far that get a gradient.
  double TrainedElements() const;
  /// The share of every gradient that a rank keeps under kIsDivided.
  void KeepShareOfGradients(double share) { step_.gradient_share = share; }

  // --- tensors that exist before the step -------------------------------------------------------------------------
  /// A weight that lives throughout, `count` of them alike in the model; under sharding one rank's share of it.
  Value Weight(const WeightShape& shape, Dtype dtype, Term term, const char* role, bool trainable, std::int64_t count);
  /// A tensor that the data loader or the model makes before the layers; no gradient.
  Value Input(Size elements, Dtype dtype, const char* role);

  // --- operations ----------------------------------------------------------------------------------------------------
  Value Empty(Size elements, Dtype dtype, const char* role);  ///< no gradient
  Value View(const Value& x);
  Value Reshape(const Value& x);              ///< a view; its gradient is copied
  Value Copy(Value x, const char* role);      ///< contiguous() of something that is not
  Value Slice(const Value& x, double share);  ///< a view of a part
  Value Cast(Value x, Dtype to);              ///< x itself where nothing changes
  Value Scale(Value x);                       ///< times a constant
  Value Shift(Value x);                       ///< plus a constant
  Value Negate(Value x) { return Scale(std::move(x)); }
  Value Add(Value a, Value b);
  Value Subtract(Value a, Value b);
  Value Mul(Value a, Value b);
  Value Pow(Value x);
  Value Mean(Value x, Size rows);
  Value Rsqrt(Value x);
  Value Deviation(const Value& x, Size rows);  ///< standard deviation of each row
  /// Any function element by element, by what its derivative reads.
  Value Elementwise(Value x, bool keeps_input, bool keeps_output, const char* role);
  Value Silu(Value x);
  Value Gelu(Value x);
  Value Tanh(Value x);  ///< keeps its output, as sigmoid, relu and expm1 do
  Value Relu(Value x) { return Tanh(std::move(x)); }
  Value Square(Value x);
  Value Where(Value condition, Value a, Value b);
  /// A hand-written function that keeps its input only and has `temporaries` more of its size alive at its highest,
  /// forward and backward.
  Value ByHand(Value x, int temporaries, const char* role);
  Value Softmax(Value x);
  Value Dropout(Value x, double probability);
  Value Cat(Value a, Value b);
  Value Cat(Value a, Value b, Size out);  ///< where the two grow with different axes
  Value Stack(std::vector<Value> parts);  ///< all of one size
  Value ExpandHeads(Value x, double copies);
  Value StretchHeads(const Value& x, double copies);  ///< the same as a view that repeats; the gradient is of full size
  std::array<Value, 3> Split(const Value& x, const std::array<Size, 3>& sizes);
  std::array<Value, 2> Halve(const Value& x);  ///< chunk(2): two views of one projection
  Value Sigmoid(Value x);
  // routing of tokens to experts, in routing.cc
  /// The largest of each row, `out` in all, and where they stood.
  std::array<Value, 2> TopK(Value x, Size out);
  /// Elements or rows of x that `index` names, `out` elements in all.
  Value Select(const Value& x, const Value& index, Size out);
  Value FillMasked(Value x, const Value& mask);              ///< in place
  Value AddInPlace(Value x, const Value& y);                 ///< x += y
  Value AddRows(Value x, Value rows, const Value& index);    ///< index_add_: rows added where the index says, in place
  Value AddThroughView(Value x, const Value& y, Size part);  ///< a view of x, `part` elements of it, += y
  Value CopyThroughView(Value x, const Value& y);            ///< a view of x set to y, which is as large
  Value Divide(Value x, Value divisor);
  Value DivideInPlace(Value x, const Value& divisor);  ///< keeps x as it was
  Value SumOver(Value x, Size out);                    ///< its gradient is a view, stretched
  /// torch.nn.functional.grouped_mm: the input is cast to the weight's dtype, autocast does not act. `offsets` has one
  /// element a group.
  Value GroupedMatmul(Value x, const Value& weight, const Value& offsets, Size out);
  /// Rows split by expert, a product each, joined again: the parts and their joint exist together, and a slice's
  /// gradient is as large as the stacked matrices.
  Value SplitMatmul(Value x, const Value& weight, Size out, double experts);
  Value Clamp(Value x) { return Elementwise(std::move(x), true, false, "clamp"); }
  Value Stretch(const Value& x, Size out);  ///< expand: a view; the gradient is summed
  Value Pad(const Value& x, Size out);      ///< with zeros; the gradient is cut back
  /// Inputs of a kernel beyond its third: kept, and given their gradients when the kernel's are.
  Value Bundle(const std::array<Value, 3>& inputs) {
    return Kernel(inputs, {inputs[0], inputs[1], inputs[2]}, {}, Dtype::kFp32, {}, "bundle");
  }
  /// A kernel of another library that knows its own backward: what it keeps, and what its backward works in (fp32).
  /// `matrix`: of a product of the first two inputs, the elements of the second; none for what only moves bytes.
  Value Kernel(const std::array<Value, 3>& inputs, std::initializer_list<Value> kept, Size out, Dtype dtype,
               Size workspace, const char* role, Size matrix = {});
  Value Linear(Value x, const Value& weight, const Value& bias, double in_features, double out_features);
  /// torchao's float8 training: casts of both operands live for each product, forward and backward; what backward needs
  /// is kept in the dtype that it came in.
  Value Fp8Linear(Value x, const Value& weight, double in_features, double out_features);
  /// TransformerEngine's Linear: its input is cast to FP8, once for all that read x, and kept so; the weight's copy in
  /// FP8 is there already. With `transposes` what a gradient reads is there twice, as it is and transposed: only the
  /// latter is kept of the input, and both of the gradient while it is worked on.
  /// Source: transformer_engine/pytorch/module/linear.py, _linear_forward_impl and _linear_backward.
  Value Fp8KeptLinear(const Value& input, const Value& weight, double in_features, double out_features,
                      bool transposes);
  /// A copy of a weight that lives from the first step on, `count` of them alike.
  void CopyThroughout(Size elements, Dtype dtype, const char* role, std::int64_t count);
  /// x as a tensor of that dtype, whatever it is stored in: a Float8Tensor behaves like what it was cast from.
  Value BehaveAs(Value x, Dtype dtype);
  /// x @ weight.T: the weight is a view to autocast, which casts it for this use alone.
  Value Product(Value x, const Value& weight, double in_features, double out_features);
  /// A frozen matrix that is dequantized for each use, forward and backward; `bias` may be empty.
  Value DequantizedLinear(Value x, const Value& bias, double in_features, double out_features,
                          const Dequantization& how = {});
  /// LLM.int8: quantizes the input, multiplies in int8, keeps the input; backward dequantizes the matrix to fp16.
  Value Int8Linear(Value x, const Value& bias, double in_features, double out_features);
  /// Unsloth's fused LoRA: the matrix, unpacked as `how` says where it is quantized, and the adapter's update in one
  /// output; keeps the input in the compute dtype, once for all projections that read it.
  Value FusedLoraLinear(Value x, const Value& down, const Value& up, const std::optional<Dequantization>& how,
                        double in_features, double out_features);
  /// `batches` products at once.
  Value BatchMatmul(Value a, Value b, Size out, Size batches);
  /// Weight and bias may be empty. `writes_fp8`: the kernel writes its output in FP8 for the product that reads it.
  Value LayerNorm(Value x, const Value& weight, const Value& bias, Size rows, bool writes_fp8 = false);
  /// Liger's and Unsloth's RMS norm: keeps its input and a row's scale; the gradient overwrites the incoming one.
  Value FusedRmsNorm(Value x, const Value& weight, Size rows, bool writes_fp8 = false);
  /// Liger's SwiGLU: keeps gate and up, and writes their gradients over them.
  Value FusedSwiglu(Value gate, Value up);
  Value Embedding(const Value& ids, const Value& weight, Size out);
  /// A fused attention kernel; keeps its inputs, the output and a log-sum-exp per row. `span`: which keys it reads.
  Value FusedAttention(Value q, Value k, Value v, Value mask, Size rows, AttentionSpan span);
  /// The mean of -log p over the labels; log-probabilities come from Softmax (log_softmax keeps and costs the same).
  Value NegativeLogLikelihood(Value log_probabilities, Value labels);
  /// A module of up to three inputs (empty where there is none) and one output.
  using Module = std::function<Value(const std::array<Value, 3>&)>;
  /// Runs `module` without keeping anything but its inputs and what the rule says; runs it again in backward.
  Value Checkpoint(const Module& module, const std::array<Value, 3>& inputs, const CheckpointRule& rule) {
    return Checkpoint(module, inputs, rule, {}, {});
  }
  /// `made`: values that the module sets besides, which others read and send gradients back to; at most two. `held`:
  /// what its caller passes along, which lives as long as the checkpoint does; at most five.
  Value Checkpoint(const Module& module, const std::array<Value, 3>& inputs, const CheckpointRule& rule,
                   std::initializer_list<Value*> made, std::initializer_list<const Value*> held);
  /// A checkpointed module is being run again.
  bool recomputing() const { return mode_ == Mode::kRecompute; }
  /// TRL's selective_log_softmax: the log-probability of one label a token. fp32 logits are kept and normalized by
  /// logsumexp, sequence by sequence; others are turned into log-probabilities, which are kept in their place.
  /// Source: trl/trainer/utils.py, selective_log_softmax.
  Value LogProbabilities(Value logits, double vocabulary);
  /// x scaled in place through a view of a part of it, as `logits[:, :-1].div_(temperature)` does.
  Value ScaleThroughView(const Value& x);
  /// A result whose gradients for `x` and `y` (empty where there is none) exist already.
  Value Prepared(const Value& x, const Value& y, const Value& x_gradient, const Value& y_gradient, Size out,
                 Dtype dtype, const char* role);
  /// A kernel that turns logits into their own gradient while it computes the loss (Liger, Unsloth, foak).
  Value InPlaceCrossEntropy(Value logits);
  /// Cross entropy over chunks of logits that all exist: keeps fp32 log-probabilities, and in backward turns them chunk
  /// by chunk into the gradient of the logits. `upcast` is the logits' fp32 copy that the loss reads instead of them;
  /// where it is empty every chunk is upcast in turn.
  Value ChunkedCrossEntropy(Value logits, const Value& upcast, Size chunk);
  /// From here on elementwise operations are fused, as torch.compile does, or no longer.
  void FuseElementwise(bool fuses) { fuses_ = fuses; }
  /// x where one compiled graph ends and the next begins; x itself where nothing is fused.
  Value Boundary(const Value& x);
  /// `out` elements after tensor ranks joined their parts of the tokens, or summed and divided them. `part`: what a
  /// matrix product that reads the result keeps in its place, to join it again in backward; may be empty, else the
  /// caller holds it for as long as it holds the result.
  Value Exchange(const Value& x, Size out, const char* role, const Value& part);
  /// The first part of x, `part` elements: what a loop over blocks works on. The gradient is as large as x.
  Value Narrow(const Value& x, Size part);
  Value RequireGradient(Value x, bool caches_cast = false);  ///< a leaf with a gradient; autocast may cache its cast
  void Hold(Value x) { held_.push_back(std::move(x)); }      ///< lives until the step ends
  /// Here the training loop lets go of the last step's output, and so of its graph: what the graph's functions hold
  /// themselves has lived since. Without this the graph ends with its backward pass.
  void EndLastGraph() { last_graph_end_ = static_cast<std::int32_t>(step_.events.size()); }
  void HoldUntilLayersReturn(Value x) { held_for_layers_.push_back(std::move(x)); }  ///< until their backward begins
  bool RequiresGradient(const Value& x) const;
  Dtype DtypeOf(const Value& x) const;
  Size SizeOf(const Value& x) const;

  // --- sharded modules ----------------------------------------------------------------------------------------------
  /// The hooks of a library that shards the parameters of the model that is declared or run from here on; null where
  /// none does. They live as long as the tracer.
  void ShardWith(ShardedUnits* units) { units_ = units; }
  ShardedUnits* units() const { return units_; }
  /// The input of a sharded module, whose parameters are gathered now; `x` may be empty (the root has none).
  Value EnterUnit(std::int32_t unit, const Value& x);
  /// The output of a sharded module, whose parameters may be freed now.
  Value LeaveUnit(std::int32_t unit, const Value& x);

  /// All layers share x: where a section that stands for several layers lets go of it last, only one of them does.
  void ShareAmongLayers(const Value& x);

  // --- autocast -----------------------------------------------------------------------------------------------------
  /// Leaves the outermost autocast region: cached copies of weights end.
  void EndAutocast();
  std::optional<Dtype> autocast() const { return autocast_; }
  void SetAutocast(std::optional<Dtype> dtype) { autocast_ = dtype; }

  // --- torch.no_grad, PEFT's disabled adapters, further models -----------------------------------------------------
  /// False within torch.no_grad: nothing is recorded or kept.
  bool gradients() const { return gradients_; }
  void SetGradients(bool on) { gradients_ = on; }
  /// PEFT's disable_adapter: adapted modules run their base alone.
  bool adapters_disabled = false;
  /// The term of the weights that are declared from now on, where they belong to a model beside the trained one.
  std::optional<Term> weight_term;
  /// Weights declared from now on require gradients although nothing trains them: autocast caches their copies.
  bool untrained_leaves = false;
  /// Weights declared from now on run in no step.
  Idle idle = Idle::kNot;
  /// Of weights declared from here on: see Storage.
  bool of_expert = false;
  /// Of the pipeline stage, that runs from here on.
  std::int64_t piece = 0;

  // --- work that no operation above stands for ---------------------------------------------------------------------
  /// So many elements are read or written.
  void Move(Size elements, double bytes_per_element);
  void Launch(double kernels);
  void Multiply(Size batches, Size a, Size b, Size out, Dtype dtype);
  void Send(Group group, Size elements, double bytes_per_element);

  // --- time ---------------------------------------------------------------------------------------------------------
  void BeginSection(Moment moment, std::int64_t layer, std::int64_t layers, std::int64_t repeats);
  void Backward(Value loss);
  Step Finish();

 private:
  friend class Value;
  friend class ShardedUnits;

  /// Counts of storages that no reference ends: residents, whole parameters of sharded units, what is never computed.
  static constexpr std::int32_t kUncounted = -(1 << 30);

  enum class Mode : std::uint8_t {
    kRecord,     ///< keep what backward needs
    kDiscard,    ///< inside a checkpointed module: only count what would be kept
    kRecompute,  ///< run again: keep, until as much is kept as was counted, then nothing more is computed
  };
  struct Recomputation {
    Module module;
    CheckpointRule rule;
    std::int32_t kept = 0;
    std::vector<StorageId> outputs;  ///< kept by the rule, in order of creation
    std::vector<Value*> made;        ///< outputs besides the first, in their slots
  };

  struct WeightCopy {
    std::int32_t weight;   ///< the tensor it was cast from
    std::int64_t repeats;  ///< of the section it was made in
    Value value;
  };

  /// Keeps a storage of a layer's backward, and its equals in the layers that the section stands for, to the end of the
  /// backward pass.
  void HoldToEnd(StorageId storage) { Hold(held_to_end_, storage); }
  void ReleaseHeldToEnd();
  void HoldWithGraph(StorageId storage) { Hold(last_graph_end_ < 0 ? held_to_end_ : held_by_graph_, storage); }
  void AddLastGraph();
  Value Wrap(StorageId storage, Size elements, Dtype dtype, bool requires_gradient);
  StorageId Allocate(Size elements, Dtype dtype, const char* role);
  /// The result of an operation that a compiler fuses: it takes no memory until something needs it written out
  /// (`Make`); until then what it is computed from lives on. An ordinary storage where nothing is fused.
  StorageId AllocateFused(Size elements, Dtype dtype, const char* role, std::span<const StorageId> sources);
  StorageId AllocateFused(Size elements, Dtype dtype, const char* role, std::initializer_list<StorageId> sources) {
    return AllocateFused(elements, dtype, role, std::span(sources.begin(), sources.size()));
  }
  static bool IsFusible(OpKind kind);
  bool IsDeferred(StorageId storage) const;
  void ForgetSources(StorageId storage);
  void Make(StorageId storage);
  /// Of a matrix product without a bias, or of attention: a checkpoint's rule may keep it, and a recomputation then
  /// takes it from there.
  StorageId AllocateProduct(Size elements, Dtype dtype, const char* role);
  StorageId AllocateAttention(Size elements, Dtype dtype, const char* role);
  const CheckpointRule& RuleInForce() const { return recomputations_[static_cast<std::size_t>(checkpoint_)].rule; }
  StorageId AllocateKept(bool kept, Size elements, Dtype dtype, const char* role);
  void Refer(StorageId storage) { ++references_[static_cast<std::size_t>(storage)]; }
  void Release(StorageId storage);
  void Keep(Node& node, StorageId storage);
  Tensor& At(const Value& value) { return tensors_[static_cast<std::size_t>(value.index_)]; }
  const Tensor& At(const Value& value) const { return tensors_[static_cast<std::size_t>(value.index_)]; }
  void TensorDropped(std::int32_t index);

  /// Starts the last node, to which AddInput adds one input after another. AddOutput ties a tensor to it, or takes it
  /// back where no input requires a gradient. One at a time: no other operation runs in between.
  Node& Begin(OpKind kind);
  void AddInput(Node& node, const Value& input);
  bool NeedsBackward(const Node& node) const;
  Value AddOutput(Node& node, StorageId storage, Size elements, Dtype dtype);
  /// The same of what computes nothing.
  Value Tie(Node& node, StorageId storage, Size elements, Dtype dtype);
  /// Another tensor over x's storage.
  Value Look(OpKind kind, const Value& x, Size elements);
  Value AddLeaf(Value x, bool is_weight);
  Value LowPrecision(Value x);
  Value LowPrecisionWeight(const Value& weight);
  Value MatrixProduct(OpKind kind, Value x, Value weight, Value bias, double in_features, double out_features);
  Fp8Copy CopyInFp8(const Value& x, bool keeps, bool transposes);
  Dtype StoredIn(const Value& x) const { return step_.storages[static_cast<std::size_t>(At(x).storage)].dtype; }
  /// The whole matrix that a node multiplies by, in `dtype`.
  StorageId DequantizedMatrix(const Node& node, Dtype dtype);
  Value Fp32(Value x);

  void BeginWork();
  void EndWork();
  Effort EffortNow() const;
  void Score(const Node& node, Size out, Dtype dtype);
  void WorkForward(const Node& node, Size out, Dtype dtype);
  void WorkBackward(const Node& node);
  void WorkOfProductBackward(const Node& node);
  void WorkOfMaking(StorageId storage);

  void Deposit(Edge edge, StorageId gradient);
  void ConsumeGradient(Node& leaf);
  void RunNode(std::int32_t index);
  void RunCheckpoint(std::int32_t index);
  std::array<Value, 3> ReturnInputs(const Node& node, const CheckpointRule& rule);
  void HoldGraphOf(Edge edge, std::int32_t first);
  Value RunAgain(const Recomputation& recomputation, const std::array<Value, 3>& inputs);
  /// Gradients of an operation's inputs; kNoStorage where none is wanted.
  using Results = std::array<StorageId, 3>;
  static constexpr Results kNoResults = {kNoStorage, kNoStorage, kNoStorage};
  /// A new gradient of the input's size, in the output's dtype.
  StorageId GradientLike(const Node& node, int input);
  Results GradientsOf(Node& node);
  Results PassGradientOn(const Node& node);
  Results GradientsInOrder(const Node& node, std::initializer_list<int> order);
  Results AttentionGradients(const Node& node);
  Results ProductGradients(const Node& node, std::initializer_list<int> order);
  Results Fp8Gradients(const Node& node);
  Results Fp8KeptGradients(const Node& node);
  Results ElementwiseGradients(const Node& node);
  Results SubtractGradients(const Node& node);
  Results PowerGradient(const Node& node);
  Results DeviationGradient(const Node& node);
  Results ThroughViewGradients(const Node& node);
  Results GradientByHand(const Node& node);
  Results DequantizedGradients(const Node& node);
  Results FusedNormGradients(const Node& node);
  Results AddRowsGradients(const Node& node);
  Results SplitMatmulGradients(const Node& node);
  Results KernelGradients(const Node& node);
  Results PreparedGradients(const Node& node);
  Results InPlaceOnViewGradient(const Node& node);
  Results LogSumExpRowsGradient(const Node& node);
  Results LogSoftmaxRowsGradient(Node& node);
  Results ChunkedLossGradients(Node& node);
  Results FusedGradients(const Node& node);
  void DepositResults(Node& node, Results& results);
  void FreeNode(Node& node);
  void CloseSection();
  void EndShared();

  std::optional<Dtype> autocast_;
  bool gradients_ = true;
  ShardedUnits* units_ = nullptr;
  std::vector<ShardedUnits*> in_backward_;  ///< whose models' outputs ask for a gradient
  Mode mode_ = Mode::kRecord;
  std::int32_t kept_ = 0;        ///< in kDiscard and kRecompute
  std::int32_t kept_limit_ = 0;  ///< in kRecompute
  /// A storage that nothing has written out yet, and where its sources stand in `sources_`.
  struct Deferred {
    std::int32_t first_source = 0;
    std::int32_t source_count = 0;
    bool pending = false;
  };
  bool fuses_ = false;
  std::vector<Deferred> deferred_;  ///< of the first storages; empty where nothing is fused
  std::vector<StorageId> sources_;
  bool in_recomputed_ = false;    ///< backward is within a module that ran again
  std::int32_t checkpoint_ = -1;  ///< in kDiscard and kRecompute: which recomputation
  std::int32_t products_ = 0;     ///< matrix products of the checkpoint so far
  std::size_t taken_ = 0;         ///< in kRecompute: kept outputs taken so far
  bool runs_ = true;  ///< the operation at hand: not in a recomputation that has all it needs, or its result
  Step step_;
  std::vector<std::int32_t> references_;  ///< of each storage; negative: kUncounted
  std::vector<StorageId> shared_;         ///< among all layers, alive
  std::vector<StorageId> ended_shared_;   ///< of them, those that a section of several layers ended
  std::vector<Tensor> tensors_;
  std::vector<std::int32_t> free_tensors_;
  std::vector<Node> nodes_;
  Node discarded_;  ///< stands for the node at hand in kDiscard
  std::vector<Mark> marks_;
  std::vector<Recomputation> recomputations_;
  GradientFate fate_ = GradientFate::kStays;
  UpdateBytes update_bytes_;
  std::vector<WeightCopy> weight_copies_;  ///< autocast's cache
  std::vector<Value> held_;
  struct HeldStorage {
    StorageId storage;
    std::int64_t repeats;  ///< of the section it was held in
  };
  void Hold(std::vector<HeldStorage>& held, StorageId storage);
  std::vector<HeldStorage> held_to_end_;
  std::vector<HeldStorage> held_by_graph_;  ///< that outlives the step
  std::int32_t last_graph_end_ = -1;        ///< events before it; -1 where every graph ends with its backward
  std::vector<Value> held_for_layers_;
};

inline Value::Value(const Value& other) : tracer_(other.tracer_), index_(other.index_) {
  if (tracer_ != nullptr) ++tracer_->tensors_[static_cast<std::size_t>(index_)].references;
}

inline void Value::Drop() {
  if (tracer_ == nullptr) return;
  Tracer* tracer = std::exchange(tracer_, nullptr);
  if (--tracer->tensors_[static_cast<std::size_t>(index_)].references == 0) tracer->TensorDropped(index_);
}

}  // namespace tunefit
