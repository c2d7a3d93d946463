#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/codec/request_fields.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

using rules::Choice, rules::Flag, rules::Id, rules::Object, rules::Rows, rules::Sources, rules::Text, rules::Texts;

/// Puts what a version says over what held before: objects member by member, all else as a whole.
void Overlay(JsonValue& below, const JsonValue& above) {
  if (below.kind != JsonKind::kObject || above.kind != JsonKind::kObject) {
    below = above;
    return;
  }
  for (const JsonMember& member : above.members) {
    const auto by_key = [](const JsonMember& a, const std::string& key) { return a.key < key; };
    const auto place = std::lower_bound(below.members.begin(), below.members.end(), member.key, by_key);
    if (place != below.members.end() && place->key == member.key) {
      Overlay(place->value, member.value);
    } else {
      below.members.insert(place, member);
    }
  }
}

/// Everything that the two parts of a version set has a source.
void CheckSourced(const ObjectReader& version) {
  for (const std::string_view part : {"defaults", "switches"}) {
    const JsonValue* value = version.Find(part);
    if (value == nullptr) continue;
    for (const JsonMember& member : value->members) NeedSource(version, Join({part, ".", member.key}));
  }
}

void ReadLossHabits(const ObjectReader& switches, LossHabits& loss) {
  static constexpr Known kChunked = {"blocks_run_again", "logits_in_chunks", "head_in_chunks"};
  if (const auto chunked = switches.Choice("chunked_loss", kChunked)) {
    loss.chunked = static_cast<ChunkedLoss>(*chunked);
  }
  loss.chunks = switches.Count("loss_chunks", 1, 64).value_or(loss.chunks);
  loss.chunk_length = switches.Count("loss_chunk_length", 0, 65536).value_or(loss.chunk_length);
  loss.in_place = switches.Flag("loss_in_place").value_or(loss.in_place);
  loss.compiled = switches.Flag("loss_compiled").value_or(loss.compiled);
  loss.classes_first = switches.Flag("loss_classes_first").value_or(loss.classes_first);
  loss.loop_holds = switches.Flag("loop_holds_logits").value_or(loss.loop_holds);
  loss.longest_first = switches.Flag("longest_batch_first").value_or(loss.longest_first);
}

void ReadHabits(const ObjectReader& version, Habits& habits) {
  static constexpr Known kKnown = {"lora_casts_input",
                                   "logits_upcast",
                                   "loss_shifts_logits",
                                   "autocast_upcasts_outputs",
                                   "sdpa_repeats_kv",
                                   "flash_repeats_kv",
                                   "fsdp_upcasts_trainable",
                                   "fsdp1_keeps_gradients",
                                   "fsdp2_gathers_alone",
                                   "selective_checkpoint",
                                   "checkpoint_recompute",
                                   "offload_blocks_on_card",
                                   "gptq_unpacks_in_torch",
                                   "gptq_lora_casts_input",
                                   "master_gradients",
                                   "load_holds_checkpoint",
                                   "grpo_has_reference",
                                   "selective_log_softmax",
                                   "preference_logs_logits",
                                   "chunked_loss",
                                   "loss_chunks",
                                   "loss_chunk_length",
                                   "loss_in_place",
                                   "loss_classes_first",
                                   "loss_compiled",
                                   "gathers_tokens_again",
                                   "fp8_operands",
                                   "vocabulary_multiple",
                                   "loop_holds_logits",
                                   "longest_batch_first",
                                   "joined_qkv",
                                   "rms_gain_in_fp32",
                                   "masks_padding",
                                   "embeddings_require_gradient",
                                   "quantizes_head",
                                   "lends_keys",
                                   "mpt_runs_kernels",
                                   "kbit_keeps_input",
                                   "kbit_computes_as_input",
                                   "kbit_dequantizes_to_fp16",
                                   "saved_modules_as_loaded",
                                   "pads_to_longest",
                                   "expandable_segments",
                                   "attention_by_generation",
                                   "plain_classes_skip_upcast",
                                   "stacked_experts",
                                   "adapts_expert_stacks",
                                   "dora_reuses_base"};
  static constexpr Known kSelective = {"core_attention", "all_but_every_second_product", "all_but_attention"};
  static constexpr Known kRecompute = {"stops_early", "whole", "reentrant"};
  static constexpr Known kUpcasts = {"none", "model", "loss"};  // in the order of LogitsUpcast
  const ObjectReader switches(version, "switches");
  switches.RefuseUnknown(kKnown);
  habits.lora_casts_input = switches.Flag("lora_casts_input").value_or(habits.lora_casts_input);
  if (const auto upcast = switches.Choice("logits_upcast", kUpcasts)) {
    habits.logits_upcast = static_cast<LogitsUpcast>(*upcast);
  }
  habits.loss_shifts_logits = switches.Flag("loss_shifts_logits").value_or(habits.loss_shifts_logits);
  habits.outputs_upcast = switches.Flag("autocast_upcasts_outputs").value_or(habits.outputs_upcast);
  habits.gptq_unpacks_in_torch = switches.Flag("gptq_unpacks_in_torch").value_or(habits.gptq_unpacks_in_torch);
  habits.gptq_lora_casts_input = switches.Flag("gptq_lora_casts_input").value_or(habits.gptq_lora_casts_input);
  habits.dora_reuses_base = switches.Flag("dora_reuses_base").value_or(habits.dora_reuses_base);
  static constexpr Known kMasterGradients = {"cast_in_step", "fp32_buffer"};  // in the order of MasterGradients
  if (const auto gradients = switches.Choice("master_gradients", kMasterGradients)) {
    habits.master_gradients = static_cast<MasterGradients>(*gradients);
  }
  habits.stacked_experts = switches.Flag("stacked_experts").value_or(habits.stacked_experts);
  habits.adapts_expert_stacks = switches.Flag("adapts_expert_stacks").value_or(habits.adapts_expert_stacks);
  habits.sdpa_repeats_heads = switches.Flag("sdpa_repeats_kv").value_or(habits.sdpa_repeats_heads);
  habits.gathers_tokens_again = switches.Flag("gathers_tokens_again").value_or(habits.gathers_tokens_again);
  habits.vocabulary_multiple = switches.Count("vocabulary_multiple", 1, 4096).value_or(habits.vocabulary_multiple);
  static constexpr Known kFp8Operands = {"cast", "kept"};  // in the order of Fp8Operands
  if (const auto operands = switches.Choice("fp8_operands", kFp8Operands)) {
    habits.fp8_operands = static_cast<Fp8Operands>(*operands);
  }
  static constexpr Known kFlashRepeats = {"none", "unconverted", "all"};  // in the order of FlashRepeats
  if (const auto repeats = switches.Choice("flash_repeats_kv", kFlashRepeats)) {
    habits.flash_repeats = static_cast<FlashRepeats>(*repeats);
  }
  if (const auto kept = switches.Choice("selective_checkpoint", kSelective)) {
    habits.selective_checkpoint = static_cast<SelectiveCheckpoint>(*kept);
  }
  if (const auto again = switches.Choice("checkpoint_recompute", kRecompute)) {
    habits.recompute = static_cast<Recompute>(*again);
  }
  habits.offload_blocks_on_card =
      switches.Count("offload_blocks_on_card", 0, 16).value_or(habits.offload_blocks_on_card);
  habits.load_holds_checkpoint = switches.Flag("load_holds_checkpoint").value_or(habits.load_holds_checkpoint);
  habits.grpo_has_reference = switches.Flag("grpo_has_reference").value_or(habits.grpo_has_reference);
  habits.selective_log_softmax = switches.Flag("selective_log_softmax").value_or(habits.selective_log_softmax);
  habits.preference_logs_logits = switches.Flag("preference_logs_logits").value_or(habits.preference_logs_logits);
  habits.kbit_computes_as_input = switches.Flag("kbit_computes_as_input").value_or(habits.kbit_computes_as_input);
  habits.kbit_keeps_input = switches.Flag("kbit_keeps_input").value_or(habits.kbit_keeps_input);
  habits.kbit_dequantizes_to_fp16 = switches.Flag("kbit_dequantizes_to_fp16").value_or(habits.kbit_dequantizes_to_fp16);
  ReadLossHabits(switches, habits.loss);
  ModelHabits& model = habits.model;
  model.masks_padding = switches.Flag("masks_padding").value_or(model.masks_padding);
  model.embeddings_require_gradient =
      switches.Flag("embeddings_require_gradient").value_or(model.embeddings_require_gradient);
  static constexpr Known kJoined = {"no", "parts", "groups"};  // in the order of JoinedQkv
  if (const auto joined = switches.Choice("joined_qkv", kJoined)) model.joined_qkv = static_cast<JoinedQkv>(*joined);
  model.rms_gain_in_fp32 = switches.Flag("rms_gain_in_fp32").value_or(model.rms_gain_in_fp32);
  model.mpt_runs_kernels = switches.Flag("mpt_runs_kernels").value_or(model.mpt_runs_kernels);
  model.lends_keys = switches.Flag("lends_keys").value_or(model.lends_keys);
  model.quantizes_head = switches.Flag("quantizes_head").value_or(model.quantizes_head);
  habits.fsdp_upcasts_trainable = switches.Flag("fsdp_upcasts_trainable").value_or(habits.fsdp_upcasts_trainable);
  habits.fsdp1_keeps_gradients = switches.Flag("fsdp1_keeps_gradients").value_or(habits.fsdp1_keeps_gradients);
  habits.fsdp2_gathers_alone = switches.Flag("fsdp2_gathers_alone").value_or(habits.fsdp2_gathers_alone);
  habits.saved_modules_as_loaded = switches.Flag("saved_modules_as_loaded").value_or(habits.saved_modules_as_loaded);
  habits.plain_classes_skip_upcast =
      switches.Flag("plain_classes_skip_upcast").value_or(habits.plain_classes_skip_upcast);
  habits.attention_by_generation = switches.Flag("attention_by_generation").value_or(habits.attention_by_generation);
  habits.pads_to_longest = switches.Flag("pads_to_longest").value_or(habits.pads_to_longest);
  habits.expandable_segments = switches.Flag("expandable_segments").value_or(habits.expandable_segments);
}

void ReadTargets(const ObjectReader& defaults, const KnownNames& names, StackVersion& version) {
  const ObjectReader method(defaults, "method");
  const JsonValue* by_type = method.Object("target_modules");
  if (by_type == nullptr) return;
  const ObjectReader targets(method, "target_modules");
  targets.Require("*");
  for (const JsonMember& member : by_type->members) {
    Targets& read = version.target_modules[member.key];
    if (member.value.kind == JsonKind::kText) {
      static constexpr Known kWords = {"all-linear"};
      read.all_linear = targets.Choice(member.key, kWords).has_value();
    } else if (CheckField(targets, Texts(Text(member.key, 40)).Items(1), names)) {
      for (const JsonValue& module : member.value.items) read.modules.emplace_back(module.text);
    }
  }
}

/// The fields of a request that a stack may set, as far as a request's own reader does not look at them.
constexpr FieldRule kPrecision[] = {
    Choice("weights", "fp32 bf16 fp16 fp8").Needed(),
    Choice("compute", "fp32 bf16 fp16 fp8").Needed(),
    Flag("autocast").Needed(),
    Flag("master_weights").Needed(),
};
constexpr FieldRule kBatch[] = {
    {.key = "per_device"}, {.key = "gradient_accumulation"}, {.key = "sequence_length"}, {.key = "packing"}};
constexpr FieldRule kMethod[] = {
    {.key = "rank"}, {.key = "dropout"}, {.key = "adapter_dtype"}, {.key = "dora"}, {.key = "target_modules"}};
constexpr FieldRule kQuantization[] = {{.key = "double_quant"}, {.key = "prepare_kbit"}};
constexpr FieldRule kParallel[] = {{.key = "sequence_parallel"}};
constexpr FieldRule kDefaults[] = {
    Object("precision", kPrecision),
    {.key = "optimizer"},
    {.key = "optimizer_in_backward"},
    {.key = "attention"},
    Text("gradient_checkpointing", 40),
    {.key = "loss"},
    {.key = "compile"},
    Object("parallel", kParallel).Items(1),
    Object("batch", kBatch).Items(1),
    Object("method", kMethod).Items(1),
    Object("quantization", kQuantization).Items(1),
    {.key = "fused_kernels"},
};
constexpr FieldRule kVersion[] = {
    Text("since", 0, TextForm::kOnlyMonth).Needed(),
    Object("defaults", kDefaults).Items(1),
    {.key = "switches"},
    Sources(),
};
constexpr FieldRule kStack[] = {Id(), Text("name", 120).Needed(), Rows("versions", kVersion).Items(1).Needed()};

/// A version whose fields are all right, but for those inside `defaults` and `switches`.
void ReadVersion(const ObjectReader& row, const KnownNames& names, CatalogStack& stack) {
  StackVersion version;
  version.since = row.Find("since")->text;
  if (!stack.versions.empty()) {
    const StackVersion& before = stack.versions.back();
    version.defaults = before.defaults;
    version.habits = before.habits;
    version.source_ids = before.source_ids;
    if (before.since >= version.since) {
      row.Fault("not_sorted", "", Join({"must be later than the version before it, ", before.since}),
                {{"value", version.since}});
    }
  } else {
    version.defaults.kind = JsonKind::kObject;
  }
  const JsonValue* switches = row.Object("switches");
  if (switches == nullptr) row.Require("defaults");
  if (switches != nullptr && switches->members.empty()) row.Fault("empty_list", "switches", "must hold something", {});
  if (const JsonValue* defaults = row.Find("defaults")) Overlay(version.defaults, *defaults);
  ReadHabits(row, version.habits);
  CheckSourced(row);
  CheckPaths(row);
  const std::vector<std::string> source_ids = SourceIdsOf(row);
  version.source_ids.insert(version.source_ids.end(), source_ids.begin(), source_ids.end());
  std::sort(version.source_ids.begin(), version.source_ids.end());
  version.source_ids.erase(std::unique(version.source_ids.begin(), version.source_ids.end()), version.source_ids.end());
  stack.versions.push_back(std::move(version));

  StackVersion& kept = stack.versions.back();
  const std::string path = row.PathTo("defaults");
  const ObjectReader defaults(kept.defaults, path, NullRule::kRefused, row.issues());
  kept.fields = ReadStackDefaults(defaults);
  ReadTargets(defaults, names, kept);
}

}  // namespace

void ReadStacks(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kStacks = Rows("stacks", kStack).Items(1);
  if (!CheckField(bundle, kStacks, names)) return;
  ForEachRow(bundle, "stacks", [&](const ObjectReader& row) {
    CatalogStack stack;
    stack.id = row.Find("id")->text;
    stack.name = row.Find("name")->text;
    // Readings hold views into their version: no version may move once it is read.
    stack.versions.reserve(row.Find("versions")->items.size());
    ForEachRow(row, "versions", [&](const ObjectReader& version) { ReadVersion(version, names, stack); });
    catalog.stacks.push_back(std::move(stack));
  });
}

}  // namespace tunefit
