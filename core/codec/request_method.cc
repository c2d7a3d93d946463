// The method of a request, and the modules that its names choose, as PEFT chooses them.
#include <algorithm>
#include <string>
#include <utility>

#include "core/codec/hf_family.h"
#include "core/codec/request_recipe.h"
#include "core/codec/request_steps.h"
#include "core/codec/request_words.h"
#include "core/codec/words.h"

namespace tunefit {
namespace {

bool EndsIn(std::string_view path, std::string_view end) {
  return path.size() > end.size() && path[path.size() - end.size() - 1] == '.' &&
         path.substr(path.size() - end.size()) == end;
}

std::string_view LastPart(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool IsAmong(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The embeddings and the output head by the names that libraries give them.
constexpr std::string_view kEmbeddingNames[] = {"embed_tokens",   "embed",    "wte",
                                                "tok_embeddings", "embed_in", "word_embeddings"};
constexpr std::string_view kHeadNames[] = {"lm_head", "output", "embed_out", "output_layer"};
constexpr std::string_view kPositionNames[] = {"wpe"};

bool IsPattern(std::string_view target) { return target.find_first_of("*+?()[]{}|^$\\") != target.npos; }

/// One part of the path is the number of a layer.
bool ChoosesLayers(std::string_view target) {
  while (!target.empty()) {
    const std::string_view part = target.substr(0, target.find('.'));
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) return true;
    target.remove_prefix(std::min(part.size() + 1, target.size()));
  }
  return false;
}

/// Finds what target_modules of a request name.
class Resolver {
 public:
  explicit Resolver(RequestReading& reading)
      : reading_(reading),
        method_(reading.workload.method),
        modules_(AdaptableModules(reading.workload.architecture)) {}

  void ResolveTargets();
  void ResolveFeedForward();
  void ResolveRanks();

 private:
  bool RefuseTargets(std::span<const Word> targets);
  const char* WhyRefused(std::string_view target) const;
  const char* WhyTableRefused(bool is_head) const;
  /// The table or the head, where the target is one of their names. False for any other.
  bool TakeTable(std::string_view target);
  void UnknownModule(const std::string& field, std::string_view target, Severity severity);

  RequestReading& reading_;
  Method& method_;
  const std::vector<AdaptableModule> modules_;
};

void Resolver::UnknownModule(const std::string& field, std::string_view target, Severity severity) {
  std::vector<std::string_view> names;
  names.reserve(modules_.size());
  for (const AdaptableModule& module : modules_) names.push_back(module.name);
  const std::string shown = Shortened(target);
  const std::string known = Alternatives(names);
  AddIssue(reading_.issues, "unknown_target_module", field,
           Join({"This model has no linear module named \"", shown, "\"; it has ", known, "."}),
           {{"value", shown}, {"known", known}}, severity);
}

/// Why an adapter on the token table or the output head is not computed; null where it is.
const char* Resolver::WhyTableRefused(bool is_head) const {
  const RequestFields& request = reading_.completed;
  if (method_.kind != MethodKind::kLora) return "\" is not modelled yet: of IA3 only the matrices of the layers are.";
  // unsloth models/llama.py, FastLlamaModel.get_peft_model.
  if (*request.stack == "unsloth") return "\" is a trained copy with Unsloth: name it in modules_to_save.";
  const auto& stacks = words::modelled::kPeftStacks;
  const bool peft = std::find(stacks.begin(), stacks.end(), *request.stack) != stacks.end();
  if (!peft && !is_head) return "\" is not modelled with this stack, whose adapters are those of matrices.";
  const Architecture& architecture = reading_.workload.architecture;
  if (architecture.encoder != EncoderKind::kNone || architecture.encodes_source()) {
    return "\" is not modelled yet: of encoders only the matrices of the layers are.";
  }
  if (method_.dora && !is_head) return "\" is not modelled yet with DoRA.";
  if (is_head && IsClassification(TaskOf(request))) return "\" is not modelled: the task has a head of its own.";
  // Liger's fused loss reads the head's own matrix and passes an adapter over.
  if (is_head && *request.loss == "fused_linear_ce") return "\" is not modelled yet with loss \"fused_linear_ce\".";
  const std::span<const std::string_view> names =
      is_head ? std::span<const std::string_view>(kHeadNames) : std::span<const std::string_view>(kEmbeddingNames);
  for (const Word saved : *request.method.modules_to_save) {
    if (!IsAmong(LastPart(saved), names)) continue;
    return "\" is not modelled yet beside a trained copy of the same module.";
  }
  return nullptr;
}

const char* Resolver::WhyRefused(std::string_view target) const {
  const std::string_view name = LastPart(target);
  if (IsAmong(name, kPositionNames)) return "\" is not modelled yet: it is a table of positions.";
  if (IsPattern(target)) return "\" is not modelled yet: it looks like a pattern; name the modules.";
  if (ChoosesLayers(target)) return "\" is not modelled yet: it chooses some of the layers.";
  if (IsAmong(name, kEmbeddingNames)) return WhyTableRefused(false);
  return IsAmong(name, kHeadNames) ? WhyTableRefused(true) : nullptr;
}

/// Targets that PEFT accepts and that would come out wrong here. True when there was one.
bool Resolver::RefuseTargets(std::span<const Word> targets) {
  bool refused = false;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const char* why = WhyRefused(targets[i]);
    if (why == nullptr) continue;
    refused = true;
    const std::string shown = Shortened(targets[i]);
    AddIssue(reading_.issues, "not_modelled", "method.target_modules." + std::to_string(i),
             Join({"An adapter on \"", shown, why}), {{"value", shown}});
  }
  return refused;
}

bool Resolver::TakeTable(std::string_view target) {
  const std::string_view name = LastPart(target);
  const bool table = IsAmong(name, kEmbeddingNames);
  const bool head = IsAmong(name, kHeadNames);
  method_.adapts_embedding = method_.adapts_embedding || table;
  method_.adapts_head = method_.adapts_head || head;
  return table || head;
}

/// Targets that the model lacks are passed over by PEFT as long as one is found.
void Resolver::ResolveTargets() {
  const Targets& targets = *reading_.completed.method.target_modules;
  method_.all_linear = targets.all_linear;
  if (targets.all_linear) return;
  if (RefuseTargets(targets.modules)) return;
  std::vector<bool> found(targets.modules.size(), false);
  for (const AdaptableModule& module : modules_) {
    bool chosen = false;
    for (std::size_t i = 0; i < targets.modules.size(); ++i) {
      if (!Selects(targets.modules[i], module)) continue;
      found[i] = true;
      chosen = true;
    }
    if (chosen) method_.target_modules.emplace_back(module.name);
  }
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] || TakeTable(targets.modules[i]);
  const bool any = std::find(found.begin(), found.end(), true) != found.end();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) continue;
    UnknownModule("method.target_modules." + std::to_string(i), targets.modules[i],
                  any ? Severity::kWarning : Severity::kError);
  }
}

/// The names must be among the targets' (peft tuners/ia3/config.py, IA3Config.__post_init__).
void Resolver::ResolveFeedForward() {
  const std::vector<Word>& names = *reading_.completed.method.feedforward_modules;
  const Targets& targets = *reading_.completed.method.target_modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string field = "method.feedforward_modules." + std::to_string(i);
    if (!targets.all_linear && !IsAmong(names[i], targets.modules)) {
      const std::string shown = Shortened(names[i]);
      AddIssue(reading_.issues, "not_a_target", field,
               Join({"\"", shown, "\" is not among the target modules, and PEFT then refuses it here."}),
               {{"value", shown}});
      continue;
    }
    bool found = false;
    for (const AdaptableModule& module : modules_) {
      if (!IsFeedForward(names[i], module)) continue;
      found = true;
      method_.feedforward_modules.emplace_back(module.name);
    }
    if (!found) UnknownModule(field, names[i], Severity::kWarning);
  }
}

/// peft utils/other.py, get_pattern_key: a module has the rank of the key that its path is or ends in after a dot.
void Resolver::ResolveRanks() {
  const JsonValue* pattern = reading_.completed.method.rank_pattern;
  if (pattern == nullptr) return;
  for (const JsonMember& member : pattern->members) {
    const std::string field = Join({"method.rank_pattern.", Shortened(member.key)});
    if (IsPattern(member.key) || ChoosesLayers(member.key)) {
      const std::string shown = Shortened(member.key);
      AddIssue(reading_.issues, "not_modelled", field,
               Join({"A rank of \"", shown, "\" is not modelled yet: name modules, for all layers alike."}),
               {{"value", shown}});
      continue;
    }
    const std::size_t before = method_.rank_pattern.size();
    const auto add = [&](std::string_view name) { method_.rank_pattern.emplace_back(name, member.value.integer); };
    for (const AdaptableModule& module : modules_) {
      if (Selects(member.key, module)) add(module.name);
    }
    if (IsAmong(LastPart(member.key), kEmbeddingNames)) add("embed_tokens");
    if (IsAmong(LastPart(member.key), kHeadNames)) add("lm_head");
    if (method_.rank_pattern.size() == before) UnknownModule(field, member.key, Severity::kWarning);
  }
}

void ReadSavedModules(RequestReading& reading) {
  Method& method = reading.workload.method;
  const std::vector<Word>& saved = *reading.completed.method.modules_to_save;
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::string_view name = LastPart(saved[i]);
    if (IsAmong(name, kEmbeddingNames)) {
      method.saves_embedding = true;
    } else if (IsAmong(name, kHeadNames)) {
      method.saves_head = true;
    } else {
      const std::string shown = Shortened(saved[i]);
      AddIssue(reading.issues, "not_modelled", "method.modules_to_save." + std::to_string(i),
               Join({"Training a copy of \"", shown, "\" is not modelled yet."}), {{"value", shown}});
    }
  }
}

/// IA3 of a model type that PEFT knows no modules for: it wants them to be said. True when one is missing.
bool LacksModules(RequestReading& reading) {
  const MethodFields& fields = reading.completed.method;
  bool lacks = false;
  const auto need = [&](const char* field, bool present) {
    if (present) return;
    lacks = true;
    AddIssue(reading.issues, "missing_field", field,
             Join({field, " is missing: PEFT's IA3 knows no modules of a \"", reading.workload.architecture.model_type,
                   "\"."}),
             {});
  };
  need("method.target_modules", fields.target_modules.has_value());
  need("method.feedforward_modules", fields.feedforward_modules.has_value());
  return lacks;
}

/// What LoRA and IA3 put at modules, and the copies that train beside them.
void FillModules(RequestReading& reading) {
  const MethodFields& fields = reading.completed.method;
  Method& method = reading.workload.method;
  if (fields.modules_to_save_dtype) method.saved_dtype = ReadDtype(*fields.modules_to_save_dtype);
  ReadSavedModules(reading);
  if (method.kind == MethodKind::kIa3 && LacksModules(reading)) return;
  Resolver resolver(reading);
  resolver.ResolveTargets();
  if (method.kind == MethodKind::kIa3) {
    resolver.ResolveFeedForward();
  } else {
    resolver.ResolveRanks();
  }
}

}  // namespace

bool Selects(std::string_view target, const AdaptableModule& module) {
  return target == module.path || EndsIn(module.path, target);
}

bool IsFeedForward(std::string_view name, const AdaptableModule& module) {
  return std::string_view(module.path).ends_with(name);
}

std::vector<AdaptableModule> AdaptableModules(const Architecture& architecture) {
  std::vector<AdaptableModule> modules;
  const bool is_part = !architecture.text_type.empty();  // of a class for text and images
  const Family* family = FindFamily(is_part ? architecture.text_type : architecture.model_type);
  if (family == nullptr) return modules;
  const auto add = [&](const LinearShape& linear, std::string_view parent) {
    const std::string_view name = linear.name;
    const auto same = [name](const AdaptableModule& module) { return module.name == name; };
    if (name.empty() || std::any_of(modules.begin(), modules.end(), same)) return;
    const bool whole = name.find('.') != name.npos;
    modules.push_back({name, whole ? std::string(name) : Join({parent, ".", name})});
  };
  const auto add_all = [&add](const auto& part, std::string_view parent) {
    ForEachMatrix(part, [&](const LinearShape& matrix) { add(matrix, parent); });
  };
  ForEachBlock(architecture, [&](const Block& block, std::int64_t /*repeats*/) {
    std::visit([&](const auto& part) { add_all(part, family->attention_path); }, block.mixer);
    if (block.cross) add_all(*block.cross, family->attention_path);
    std::visit([&](const auto& part) { add_all(part, family->mlp_path); }, block.feed_forward);
    if (block.streams) add_all(*block.streams, "layers.*");
  });
  if (architecture.streams) add_all(*architecture.streams, "model");
  if (architecture.vision) {  // its names are whole paths
    ForEachMatrix(*architecture.vision, [&](const LinearShape& matrix) { add(matrix, ""); });
  }
  return modules;
}

void FillMethod(RequestReading& reading) {
  const MethodFields& fields = reading.completed.method;
  Method& method = reading.workload.method;
  method.kind = ReadMethodKind(*fields.kind);
  method.trainable_layers = fields.trainable_layers.value_or(method.trainable_layers);
  method.trains_vision_tower = fields.vision_tower == "trained";
  if (AddsToFrozenModel(method.kind)) method.adapter_dtype = ReadDtype(*fields.adapter_dtype);
  if (method.kind == MethodKind::kLora) {
    method.rank = *fields.rank;
    method.dropout = *fields.dropout;
    method.dora = *fields.dora;
  }
  if (method.kind == MethodKind::kPromptTuning) method.virtual_tokens = *fields.virtual_tokens;
  if (AdaptsModules(method.kind)) FillModules(reading);
}

}  // namespace tunefit
