#include "core/codec/request_patch.h"

#include <algorithm>

namespace tunefit {
namespace {

void Assign(Field<bool>& field, const PatchValue& value) {
  const bool* flag = std::get_if<bool>(&value);
  field = flag == nullptr ? Field<bool>() : Field<bool>(*flag);
}
void Assign(Field<std::int64_t>& field, const PatchValue& value) {
  const auto* count = std::get_if<std::int64_t>(&value);
  field = count == nullptr ? Field<std::int64_t>() : Field<std::int64_t>(*count);
}
void Assign(Field<Word>& field, const PatchValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  field = word == nullptr ? Field<Word>() : Field<Word>(*word);
}
void Assign(Field<std::vector<Word>>& field, const PatchValue& value) {
  field.reset();
  const auto* words = std::get_if<std::vector<std::string>>(&value);
  if (words != nullptr) field.emplace(words->begin(), words->end());
}
void Assign(Field<Targets>& field, const PatchValue& value) {
  field.reset();
  if (std::holds_alternative<std::string>(value)) field = Targets{true, {}};
  Field<std::vector<Word>> modules;
  Assign(modules, value);
  if (modules) field = Targets{false, *modules};
}

/// A kind stands in place of every how many layers are checkpointed.
void AssignCheckpointing(RequestFields& request, const PatchValue& value) {
  request.checkpointing.every.reset();
  Assign(request.checkpointing.kind, value);
}

void AssignOffload(RequestFields& request, Field<Word>& field, const PatchValue& value) {
  request.parallel.offload = true;
  Assign(field, value);
}

void AssignQuantization(RequestFields& request, const PatchValue& value) {
  request.quantization.given = true;
  Assign(request.quantization.kind, value);
}

struct PatchedField {
  std::string_view path;
  void (*assign)(RequestFields& request, const PatchValue& value);
};

constexpr PatchedField kPatchedFields[] = {
    {"attention", [](RequestFields& request, const PatchValue& value) { Assign(request.attention, value); }},
    {"batch.gradient_accumulation",
     [](RequestFields& request, const PatchValue& value) { Assign(request.batch.gradient_accumulation, value); }},
    {"batch.packing", [](RequestFields& request, const PatchValue& value) { Assign(request.batch.packing, value); }},
    {"batch.per_device",
     [](RequestFields& request, const PatchValue& value) { Assign(request.batch.per_device, value); }},
    {"batch.sequence_length",
     [](RequestFields& request, const PatchValue& value) { Assign(request.batch.sequence_length, value); }},
    {"fused_kernels", [](RequestFields& request, const PatchValue& value) { Assign(request.fused_kernels, value); }},
    {"gradient_checkpointing", AssignCheckpointing},
    {"hardware.gpu", [](RequestFields& request, const PatchValue& value) { Assign(request.gpu, value); }},
    {"hardware.interconnect",
     [](RequestFields& request, const PatchValue& value) { Assign(request.interconnect, value); }},
    {"hardware.server", [](RequestFields& request, const PatchValue& value) { Assign(request.server, value); }},
    {"loss", [](RequestFields& request, const PatchValue& value) { Assign(request.loss, value); }},
    {"method.kind", [](RequestFields& request, const PatchValue& value) { Assign(request.method.kind, value); }},
    {"method.rank", [](RequestFields& request, const PatchValue& value) { Assign(request.method.rank, value); }},
    {"method.target_modules",
     [](RequestFields& request, const PatchValue& value) { Assign(request.method.target_modules, value); }},
    {"method.trainable_layers",
     [](RequestFields& request, const PatchValue& value) { Assign(request.method.trainable_layers, value); }},
    {"method.vision_tower",
     [](RequestFields& request, const PatchValue& value) { Assign(request.method.vision_tower, value); }},
    {"optimizer", [](RequestFields& request, const PatchValue& value) { Assign(request.optimizer, value); }},
    {"optimizer_in_backward",
     [](RequestFields& request, const PatchValue& value) { Assign(request.optimizer_in_backward, value); }},
    {"parallel.gpus", [](RequestFields& request, const PatchValue& value) { Assign(request.parallel.gpus, value); }},
    {"parallel.offload.optimizer",
     [](RequestFields& request, const PatchValue& value) {
       AssignOffload(request, request.parallel.offload_optimizer, value);
     }},
    {"parallel.offload.parameters",
     [](RequestFields& request, const PatchValue& value) {
       AssignOffload(request, request.parallel.offload_parameters, value);
     }},
    {"parallel.strategy",
     [](RequestFields& request, const PatchValue& value) { Assign(request.parallel.strategy, value); }},
    {"precision.autocast",
     [](RequestFields& request, const PatchValue& value) { Assign(request.precision.autocast, value); }},
    {"precision.master_weights",
     [](RequestFields& request, const PatchValue& value) { Assign(request.precision.master_weights, value); }},
    {"precision.weights",
     [](RequestFields& request, const PatchValue& value) { Assign(request.precision.weights, value); }},
    {"quantization.bits",
     [](RequestFields& request, const PatchValue& value) { Assign(request.quantization.bits, value); }},
    {"quantization.double_quant",
     [](RequestFields& request, const PatchValue& value) { Assign(request.quantization.double_quant, value); }},
    {"quantization.group_size",
     [](RequestFields& request, const PatchValue& value) { Assign(request.quantization.group_size, value); }},
    {"quantization.kind", AssignQuantization},
};

void WriteValue(JsonWriter& writer, const PatchValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return writer.Flag(*flag);
  if (const auto* count = std::get_if<std::int64_t>(&value)) return writer.Count(*count);
  if (const auto* word = std::get_if<std::string>(&value)) return writer.Text(*word);
  const auto* words = std::get_if<std::vector<std::string>>(&value);
  if (words == nullptr) return writer.Null();
  writer.BeginList();
  for (const std::string& word : *words) writer.Text(word);
  writer.EndList();
}

/// Writes edits that are sorted by path as the members of an object; all their paths begin with the same `depth`
/// characters.
void WriteMembers(JsonWriter& writer, const PatchEdit* begin, const PatchEdit* end, std::size_t depth) {
  writer.BeginObject();
  for (const PatchEdit* edit = begin; edit != end;) {
    const std::size_t dot = edit->path.find('.', depth);
    writer.Key(edit->path.substr(depth, dot == Word::npos ? dot : dot - depth));
    if (dot == Word::npos) {
      WriteValue(writer, edit->value);
      ++edit;
      continue;
    }
    const Word shared = edit->path.substr(0, dot + 1);
    const PatchEdit* inside = edit;
    while (inside != end && inside->path.substr(0, dot + 1) == shared) ++inside;
    WriteMembers(writer, edit, inside, dot + 1);
    edit = inside;
  }
  writer.EndObject();
}

}  // namespace

void RequestPatch::Set(std::string_view path, PatchValue value) {
  for (PatchEdit& edit : edits_) {
    if (edit.path != path) continue;
    edit.value = std::move(value);
    return;
  }
  edits_.push_back({path, std::move(value)});
}

void RequestPatch::Add(const RequestPatch& other) {
  for (const PatchEdit& edit : other.edits_) Set(edit.path, edit.value);
}

void ApplyPatch(const RequestPatch& patch, RequestFields& fields) {
  for (const PatchEdit& edit : patch.edits()) {
    for (const PatchedField& field : kPatchedFields) {
      if (field.path == edit.path) field.assign(fields, edit.value);
    }
  }
}

void WritePatch(JsonWriter& writer, const RequestPatch& patch) {
  std::vector<PatchEdit> sorted = patch.edits();
  std::sort(sorted.begin(), sorted.end(), [](const PatchEdit& a, const PatchEdit& b) { return a.path < b.path; });
  WriteMembers(writer, sorted.data(), sorted.data() + sorted.size(), 0);
}

std::string PatchText(const RequestPatch& patch, std::string_view path) {
  for (const PatchEdit& edit : patch.edits()) {
    if (edit.path != path) continue;
    if (const auto* count = std::get_if<std::int64_t>(&edit.value)) return std::to_string(*count);
    if (const auto* word = std::get_if<std::string>(&edit.value)) return *word;
    if (const auto* words = std::get_if<std::vector<std::string>>(&edit.value)) {
      std::string text;
      for (const std::string& each : *words) text += (text.empty() ? "\"" : ", \"") + each + '"';
      return text;
    }
  }
  return "";
}

}  // namespace tunefit
