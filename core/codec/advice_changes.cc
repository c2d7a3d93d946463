#include "core/codec/advice_changes.h"

#include <algorithm>
#include <array>

#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/trace/quantized.h"

namespace tunefit {
namespace {

constexpr Word kCpu = "cpu";
/// Of TRL's and PEFT's examples: what is lost against full training hardly depends on it.
constexpr std::int64_t kUsualRank = 16;
/// Rows that are shorter on average are mostly padding.
constexpr double kMostlyPadding = 0.5;
/// Lengths are cut to whole multiples of what kernels work in.
constexpr std::int64_t kLengthStep = 128;

constexpr std::array<Word, 6> kPlainAdamw = {"adamw_torch",      "adamw_torch_fused",  "adamw_hf",
                                             "adamw_apex_fused", "adamw_anyprecision", "stable_adamw"};

template <typename List>
bool Holds(const List& list, Word word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool IsFlash(Word attention) { return attention == "flash_attention_2" || attention == "flash_attention_3"; }

/// The largest divisor of `total` that is at most `most`; 1 at the least.
std::int64_t LargestDivisor(std::int64_t total, std::int64_t most) {
  std::int64_t divisor = std::clamp<std::int64_t>(most, 1, total);
  while (total % divisor != 0) --divisor;
  return divisor;
}

class Proposer {
 public:
  explicit Proposer(const AdvisedRun& run)
      : run_(run), request_(run.reading.completed), workload_(run.reading.workload) {}

  void ProposeCheckpoints();
  void ProposeKernels();
  void ProposeRows();
  void ProposeOptimizers();
  void ProposeWeights();
  void ProposeMicroBatches();
  void ProposeSharding();
  void ProposeOffload();
  void ProposeMethods();
  void ProposeLength();

  std::vector<ProposedChange> Take() { return std::move(proposed_); }

 private:
  void Propose(Change change, RequestPatch patch) { Propose(change, TraitsOf(change).quality, std::move(patch)); }
  void Propose(Change change, ChangeQuality quality, RequestPatch patch) {
    proposed_.push_back({change, quality, std::move(patch)});
  }
  void ProposeStrategy(Change change, Word strategy);
  RequestPatch UnderZero(Word strategy) const;
  void ProposeFewerTargets();
  RequestPatch AsLora() const;
  /// Weights that nobody trains have no use for fp32 where products are in 16 bit.
  void TakeHalfWeights(RequestPatch& patch) const;

  const AdvisedRun& run_;
  const RequestFields& request_;
  const Workload& workload_;
  std::vector<ProposedChange> proposed_;
};

void Proposer::ProposeCheckpoints() {
  const Word kind = request_.checkpointing.kind.value_or("");
  if (!run_.fits()) {
    const bool runs_again = kind == "full" || kind == "offload";
    if (!runs_again) Propose(Change::kGradientCheckpointing, {{"gradient_checkpointing", "full"}});
    if (kind != "offload") Propose(Change::kOffloadCheckpoints, {{"gradient_checkpointing", "offload"}});
  } else if (kind != "none") {
    Propose(Change::kNoGradientCheckpointing, {{"gradient_checkpointing", "none"}});
  }
}

void Proposer::ProposeKernels() {
  const Word loss = *request_.loss;
  if (loss != "fused_linear_ce") {
    Propose(Change::kFusedLinearLoss, {{"loss", "fused_linear_ce"}});
    if (loss != "chunked") Propose(Change::kChunkedLoss, {{"loss", "chunked"}});
  }
  std::vector<std::string> kernels(request_.fused_kernels->begin(), request_.fused_kernels->end());
  const std::size_t before = kernels.size();
  for (const Word kernel : {"rms_norm", "rope", "swiglu"}) {
    if (!Holds(kernels, kernel)) kernels.emplace_back(kernel);
  }
  if (kernels.size() > before) Propose(Change::kFusedKernels, {{"fused_kernels", std::move(kernels)}});
  if (*request_.attention == "eager") Propose(Change::kFusedAttention, {{"attention", "sdpa"}});
  if (!IsFlash(*request_.attention)) Propose(Change::kFlashAttention, {{"attention", "flash_attention_2"}});
}

/// Where rows are much shorter than what they are padded to.
void Proposer::ProposeRows() {
  const Dataset& data = run_.reading.dataset;
  double mean_tokens = data.mean_tokens.value_or(0);
  if (mean_tokens == 0 && data.examples && data.tokens) mean_tokens = *data.tokens / *data.examples;
  const double length = static_cast<double>(*request_.batch.sequence_length);
  if (*request_.batch.packing != "none" || mean_tokens == 0 || mean_tokens > kMostlyPadding * length) return;
  Propose(Change::kPacking, {{"batch.packing", "packed"}});
  RequestPatch padding_free = {{"batch.packing", "padding_free"}};
  // Only kernels that take rows of any length side by side see to it that these do not look at each other.
  if (!IsFlash(*request_.attention)) padding_free.Set("attention", "flash_attention_2");
  Propose(Change::kPaddingFree, std::move(padding_free));
}

void Proposer::ProposeOptimizers() {
  const Word optimizer = *request_.optimizer;
  const bool plain = Holds(kPlainAdamw, optimizer);
  const bool loops = plain && ReadOptimizer(optimizer).optimizer != Optimizer::kAdamwFused;
  if (loops) Propose(Change::kFusedOptimizer, {{"optimizer", "adamw_torch_fused"}});
  if (plain) Propose(Change::kPagedOptimizer, {{"optimizer", "paged_adamw_32bit"}});
  if (plain || optimizer == "paged_adamw_32bit") {
    Propose(Change::kOptimizer8Bit, {{"optimizer", "adamw_bnb_8bit"}});
    Propose(Change::kPagedOptimizer8Bit, {{"optimizer", "paged_adamw_8bit"}});
  }
  if (!workload_.optimizer_in_backward) Propose(Change::kOptimizerInBackward, {{"optimizer_in_backward", true}});
}

void Proposer::ProposeWeights() {
  if (*request_.precision.weights != "fp32" || *request_.precision.compute != "bf16") return;
  const bool trained = !AddsToFrozenModel(workload_.method.kind);
  Propose(Change::kBf16Weights, trained ? ChangeQuality::kSlight : ChangeQuality::kNone,
          {{"precision.weights", "bf16"}});
}

/// The same rows in a step, fewer or more of them at a time.
void Proposer::ProposeMicroBatches() {
  const std::int64_t now = workload_.batch.per_device;
  const std::int64_t rows = now * workload_.batch.gradient_accumulation;
  const auto propose = [&](Change change, std::int64_t per_device) {
    Propose(change, {{"batch.per_device", per_device}, {"batch.gradient_accumulation", rows / per_device}});
  };
  const std::int64_t most = LargestDivisor(rows, run_.limits.largest_batch);
  if (!run_.fits() && now > 1) {
    // Where none fits alone, one may do beside other changes.
    propose(Change::kSmallerMicroBatch, most < now ? most : 1);
  } else if (run_.fits() && most > now) {
    propose(Change::kLargerMicroBatch, most);
  }
}

/// DeepSpeed trains 16-bit weights through an fp32 copy of its own, and runs modules in their own dtype.
RequestPatch Proposer::UnderZero(Word strategy) const {
  RequestPatch patch = {{"parallel.strategy", std::string(strategy)}};
  const Word compute = *request_.precision.compute;
  const bool has_recipe = *request_.stack == "megatron" || (compute != "bf16" && compute != "fp16");
  if (has_recipe) return patch;
  patch.Set("precision.weights", std::string(compute));
  patch.Set("precision.autocast", false);
  patch.Set("precision.master_weights", !AddsToFrozenModel(workload_.method.kind));
  return patch;
}

void Proposer::ProposeStrategy(Change change, Word strategy) {
  if (*request_.parallel.strategy == strategy) return;
  const bool zero = strategy.substr(0, 4) == "zero";
  Propose(change, zero ? UnderZero(strategy) : RequestPatch{{"parallel.strategy", std::string(strategy)}});
}

/// Several GPUs share what each of them holds whole.
void Proposer::ProposeSharding() {
  const Parallel& parallel = workload_.parallel;
  if (parallel.gpus / (parallel.tensor * parallel.pipeline) < 2 || ShardsParameters(parallel.strategy)) return;
  ProposeStrategy(Change::kZero1, "zero1");
  if (!ShardsStatesOnly(parallel.strategy)) ProposeStrategy(Change::kZero2, "zero2");
  ProposeStrategy(Change::kZero3, "zero3");
  ProposeStrategy(Change::kFsdp, "fsdp");
  ProposeStrategy(Change::kFsdp2, "fsdp2");
}

void Proposer::ProposeOffload() {
  const Parallel& parallel = workload_.parallel;
  if (parallel.offloads_parameters()) return;
  const bool fsdp = parallel.strategy == Strategy::kFsdp || parallel.strategy == Strategy::kFsdp2;
  if (fsdp) return Propose(Change::kOffloadParameters, {{"parallel.offload.parameters", std::string(kCpu)}});
  const bool zero = ShardsStatesOnly(parallel.strategy) || parallel.strategy == Strategy::kZero3;
  if (!parallel.offloads_optimizer()) {
    RequestPatch patch = zero ? RequestPatch() : UnderZero("zero2");
    patch.Set("parallel.offload.optimizer", std::string(kCpu));
    Propose(Change::kOffloadOptimizer, std::move(patch));
  }
  RequestPatch patch = parallel.strategy == Strategy::kZero3 ? RequestPatch() : UnderZero("zero3");
  patch.Set("parallel.offload.optimizer", std::string(kCpu));
  patch.Set("parallel.offload.parameters", std::string(kCpu));
  Propose(Change::kOffloadParameters, std::move(patch));
}

void Proposer::TakeHalfWeights(RequestPatch& patch) const {
  const Word compute = *request_.precision.compute;
  if (*request_.precision.weights == "fp32" && (compute == "bf16" || compute == "fp16")) {
    patch.Set("precision.weights", std::string(compute));
  }
  if (*request_.precision.master_weights) patch.Set("precision.master_weights", false);
}

/// LoRA on every linear module; what only other methods have is taken out.
RequestPatch Proposer::AsLora() const {
  RequestPatch patch = {{"method.kind", "lora"}, {"method.rank", kUsualRank}, {"method.target_modules", "all-linear"}};
  if (run_.written.method.trainable_layers) patch.Set("method.trainable_layers", {});
  if (run_.written.method.vision_tower) patch.Set("method.vision_tower", {});
  TakeHalfWeights(patch);
  return patch;
}

/// Of the targets those that are attention's, as far as there are others.
void Proposer::ProposeFewerTargets() {
  std::vector<Word> of_attention;
  ForEachBlock(workload_.architecture, [&](const Block& block, std::int64_t /*repeats*/) {
    const auto add = [&](const LinearShape& matrix) { of_attention.push_back(matrix.name); };
    if (const auto* attention = std::get_if<Attention>(&block.mixer)) ForEachMatrix(*attention, add);
    if (const auto* latent = std::get_if<LatentAttention>(&block.mixer)) ForEachMatrix(*latent, add);
  });
  const Targets& targets = *request_.method.target_modules;
  std::vector<std::string> kept;
  bool has_others = false;
  for (const AdaptableModule& module : AdaptableModules(workload_.architecture)) {
    const auto selects = [&module](Word target) { return Selects(target, module); };
    if (!targets.all_linear && std::none_of(targets.modules.begin(), targets.modules.end(), selects)) continue;
    if (Holds(of_attention, module.name)) {
      kept.emplace_back(module.name);
    } else {
      has_others = true;
    }
  }
  if (has_others && !kept.empty()) Propose(Change::kFewerLoraTargets, {{"method.target_modules", std::move(kept)}});
}

void Proposer::ProposeMethods() {
  const bool lora = workload_.method.kind == MethodKind::kLora;
  if (lora) ProposeFewerTargets();
  if (!lora && !AddsToFrozenModel(workload_.method.kind)) Propose(Change::kLora, AsLora());
  const QuantizationKind kind = workload_.quantization.kind;
  const bool packs_more = kind == QuantizationKind::kNone || kind == QuantizationKind::kInt8;
  if (!packs_more || (!lora && AddsToFrozenModel(workload_.method.kind))) return;
  RequestPatch patch = lora ? RequestPatch() : AsLora();
  TakeHalfWeights(patch);
  patch.Set("quantization.kind", "nf4");
  patch.Set("quantization.double_quant", true);
  if (run_.written.quantization.bits) patch.Set("quantization.bits", {});
  if (run_.written.quantization.group_size) patch.Set("quantization.group_size", {});
  Propose(Change::kQlora, lora ? ChangeQuality::kSlight : ChangeQuality::kChangesMethod, std::move(patch));
}

/// The longest that fits; where none does, half, which may do beside other changes.
void Proposer::ProposeLength() {
  const std::int64_t now = workload_.batch.sequence_length;
  const std::int64_t longest = run_.limits.longest_sequence_tokens / kLengthStep * kLengthStep;
  const std::int64_t half = now / 2 / kLengthStep * kLengthStep;
  const std::int64_t length = longest > 0 && longest < now ? longest : half;
  if (!run_.fits() && length > 0) Propose(Change::kShorterSequence, {{"batch.sequence_length", length}});
}

}  // namespace

std::vector<ProposedChange> ProposeSettings(const AdvisedRun& run) {
  Proposer proposer(run);
  proposer.ProposeCheckpoints();
  proposer.ProposeKernels();
  proposer.ProposeRows();
  proposer.ProposeOptimizers();
  proposer.ProposeWeights();
  proposer.ProposeMicroBatches();
  proposer.ProposeSharding();
  proposer.ProposeOffload();
  proposer.ProposeMethods();
  proposer.ProposeLength();
  return proposer.Take();
}

}  // namespace tunefit
