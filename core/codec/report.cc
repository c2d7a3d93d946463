#include "core/codec/report.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/codec/report_parts.h"

namespace tunefit {
namespace {

/// Enough for most reports of each kind, so that the text is not moved while it grows.
constexpr std::size_t kSummaryBytes = 8000;
constexpr std::size_t kFullBytes = 64000;

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

/// A whole number as JSON and JavaScript both hold it exactly.
bool IsPlainCount(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text.empty() || text.size() > 15 || (text.front() == '0' && text.size() > 1)) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void WriteHardware(JsonWriter& writer, const Gpu* gpu) {
  if (gpu == nullptr) {
    writer.Null("hardware");
    return;
  }
  writer.Key("hardware");
  writer.BeginObject();
  writer.Text("gpu", gpu->id);
  writer.Text("name", gpu->name);
  WriteBytes(writer, "usable_bytes", gpu->usable_bytes);
  writer.Flag("usable_is_derived", gpu->usable_is_derived);
  writer.Key("source_ids");
  writer.BeginList();
  for (const std::string& id : gpu->source_ids) writer.Text(id);
  writer.EndList();
  writer.EndObject();
}

void WriteFit(JsonWriter& writer, const Gpu* gpu, const Answer& answer) {
  if (gpu == nullptr) {
    writer.Null("fit");
    return;
  }
  const double usable = std::floor(gpu->usable_bytes + 0.5);
  writer.Key("fit");
  writer.BeginObject();
  WriteBytes(writer, "usable_bytes", usable);
  writer.Text("verdict", VerdictName(JudgeFit(answer.memory.device, gpu->usable_bytes)));
  WriteBytes(writer, "headroom_bytes", usable - std::floor(answer.memory.device.expected + 0.5));
  if (answer.limits) {
    writer.Count("largest_batch", answer.limits->largest_batch);
    writer.Count("longest_sequence_tokens", answer.limits->longest_sequence_tokens);
  } else {
    writer.Null("largest_batch");
    writer.Null("longest_sequence_tokens");
  }
  writer.EndObject();
}

void WriteSources(JsonWriter& writer, const RequestReading& reading, const Answer& answer, const Catalog& catalog) {
  std::vector<std::string_view> ids(reading.stack->source_ids.begin(), reading.stack->source_ids.end());
  if (reading.model != nullptr) {
    ids.insert(ids.end(), reading.model->source_ids.begin(), reading.model->source_ids.end());
  }
  if (reading.gpu != nullptr) ids.insert(ids.end(), reading.gpu->source_ids.begin(), reading.gpu->source_ids.end());
  for (const CatalogFormula& formula : catalog.formulas) {
    ids.insert(ids.end(), formula.source_ids.begin(), formula.source_ids.end());
  }
  if (answer.time && answer.time->outside) {
    ids.insert(ids.end(), catalog.outside_source_ids.begin(), catalog.outside_source_ids.end());
  }
  if (answer.cost) AddCostSources(*answer.cost, ids);
  for (const Advice& advice : answer.advice.entries) {
    ids.insert(ids.end(), advice.source_ids.begin(), advice.source_ids.end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  writer.Key("sources");
  writer.BeginObject();
  for (const std::string_view id : ids) {
    const CatalogSource* source = catalog.FindSource(id);
    if (source == nullptr) continue;
    writer.Key(id);
    writer.BeginObject();
    writer.Text("title", source->title);
    writer.Text("locator", source->locator);
    writer.Text("read", source->read);
    writer.Text("grade", source->grade);
    writer.EndObject();
  }
  writer.EndObject();
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kTight:
      return "tight";
    case Verdict::kDoesNotFit:
      return "does_not_fit";
  }
  return "";
}

void WriteEnds(JsonWriter& writer, const Range& range) {
  writer.Number("low", range.low);
  writer.Number("expected", range.expected);
  writer.Number("high", range.high);
}

void WriteRange(JsonWriter& writer, std::string_view key, const Range& range) {
  writer.Key(key);
  writer.BeginObject();
  WriteEnds(writer, range);
  writer.EndObject();
}

void WriteIssues(JsonWriter& writer, const Issues& issues) {
  writer.Key("issues");
  writer.BeginList();
  for (const Issue& issue : issues) {
    writer.BeginObject();
    writer.Text("code", issue.code);
    writer.Text("field", issue.field);
    writer.Text("severity", SeverityName(issue.severity));
    writer.Text("message", issue.message);
    writer.Key("values");
    writer.BeginObject();
    for (const auto& [name, value] : issue.values) {
      writer.Key(name);
      if (IsPlainCount(value)) {
        writer.Raw(value);
      } else {
        writer.Text(value);
      }
    }
    writer.EndObject();
    writer.EndObject();
  }
  writer.EndList();
}

void WriteAssumptions(JsonWriter& writer, const Assumptions& assumptions) {
  writer.Key("assumptions");
  writer.BeginList();
  for (const Assumption& assumption : assumptions) {
    writer.BeginObject();
    writer.Text("field", assumption.field);
    writer.Key("value");
    writer.Raw(assumption.value);
    writer.Text("reason", assumption.reason);
    writer.EndObject();
  }
  writer.EndList();
}

std::string WriteStatus(const Issues& issues) {
  JsonWriter writer(256);
  writer.BeginObject();
  writer.Text("status", HasError(issues) ? "invalid" : "ok");
  WriteIssues(writer, issues);
  writer.EndObject();
  return writer.Take();
}

std::string WriteInvalidReport(const Issues& issues) {
  JsonWriter writer(2000);
  writer.BeginObject();
  writer.Count("version", 1);
  writer.Text("status", "invalid");
  WriteIssues(writer, issues);
  WriteAssumptions(writer, {});
  for (const std::string_view part : {"request", "model", "recipe", "hardware", "memory", "fit", "time", "cost"}) {
    writer.Null(part);
  }
  writer.Key("advice");
  writer.Raw("[]");
  writer.EndObject();
  return writer.Take();
}

std::string WriteReport(const RequestReading& reading, const Answer& answer, const Catalog& catalog) {
  JsonWriter writer(reading.full_detail ? kFullBytes : kSummaryBytes);
  writer.BeginObject();
  writer.Count("version", 1);
  writer.Text("status", "ok");
  WriteIssues(writer, reading.issues);
  WriteAssumptions(writer, reading.assumptions);
  WriteCompletedRequest(writer, reading);
  WriteModel(writer, reading, answer.memory);
  WriteRecipe(writer, reading.workload, answer.memory.recipe);
  WriteHardware(writer, reading.gpu);
  WriteMemory(writer, reading, catalog, answer);
  WriteFit(writer, reading.gpu, answer);
  WriteTime(writer, reading, answer);
  WriteCost(writer, answer.cost ? &*answer.cost : nullptr, answer.disk ? &*answer.disk : nullptr, catalog,
            reading.full_detail);
  WriteAdvice(writer, answer, reading.full_detail);
  if (reading.full_detail) WriteSources(writer, reading, answer, catalog);
  writer.EndObject();
  return writer.Take();
}

}  // namespace tunefit
