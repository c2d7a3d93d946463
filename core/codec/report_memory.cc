#include <algorithm>
#include <cmath>

#include "core/codec/report_parts.h"
#include "core/trace/moment.h"

namespace tunefit {
namespace {

void WriteSourceIds(JsonWriter& writer, const std::vector<std::string>& ids) {
  writer.Key("source_ids");
  writer.BeginList();
  for (const std::string& id : ids) writer.Text(id);
  writer.EndList();
}

/// A moment that the run does not have is null.
void WriteBytesOrNull(JsonWriter& writer, std::string_view key, double bytes) {
  if (bytes > 0) {
    WriteBytes(writer, key, bytes);
  } else {
    writer.Null(key);
  }
}

void WritePhases(JsonWriter& writer, const Phases& phases) {
  writer.Key("phases");
  writer.BeginObject();
  WriteBytes(writer, "static", phases.static_bytes);
  WriteBytes(writer, "between_steps", phases.between_steps);
  WriteBytes(writer, "after_forward", phases.after_forward);
  WriteBytes(writer, "peak_forward", phases.peak_forward);
  WriteBytes(writer, "after_backward", phases.after_backward);
  WriteBytes(writer, "peak_backward", phases.peak_backward);
  WriteBytes(writer, "peak_optimizer", phases.peak_optimizer);
  WriteBytes(writer, "peak_step", phases.peak_step);
  WriteBytes(writer, "load", phases.load);
  WriteBytesOrNull(writer, "rollout", phases.rollout);
  WriteBytesOrNull(writer, "evaluate", phases.evaluate);
  WriteBytes(writer, "save", phases.save);
  WriteBytesOrNull(writer, "merge", phases.merge);
  writer.EndObject();
}

/// Counted from the model's own shapes, or from what the library keeps of a step.
std::string_view KindOf(Term term) {
  switch (term) {
    case Term::kWeights:
    case Term::kQuantization:
    case Term::kAdapters:
    case Term::kBuffers:
    case Term::kGradients:
    case Term::kOptimizerStates:
    case Term::kOptimizerTransient:
    case Term::kInputs:
      return "exact";
    default:
      return "modelled";
  }
}

void WriteItem(JsonWriter& writer, const LedgerItem& item) {
  writer.BeginObject();
  writer.Text("name", item.name);
  writer.Text("dtype", DtypeName(item.dtype));
  writer.Text("shape", item.shape);
  writer.Count("count", item.count);
  WriteBytes(writer, "bytes", item.bytes);
  writer.EndObject();
}

/// Where the line is explained, and what that rests on.
void WriteFormula(JsonWriter& writer, const Catalog& catalog, std::string_view of) {
  const CatalogFormula* formula = catalog.FindFormula(of);
  if (formula == nullptr) return;
  writer.Text("formula_id", formula->id);
  WriteSourceIds(writer, formula->source_ids);
}

void WriteTerms(JsonWriter& writer, const Catalog& catalog, const MemoryEstimate& memory) {
  writer.Key("terms");
  writer.BeginList();
  for (const TermBytes& term : memory.terms) {
    writer.BeginObject();
    writer.Text("id", TermName(term.term));
    WriteBytes(writer, "bytes", term.bytes);
    writer.Text("kind", KindOf(term.term));
    WriteFormula(writer, catalog, TermName(term.term));
    writer.Key("items");
    writer.BeginList();
    for (const LedgerItem& item : term.items) WriteItem(writer, item);
    writer.EndList();
    writer.EndObject();
  }
  writer.EndList();
  writer.Key("overheads");
  writer.BeginList();
  for (const Overhead& overhead : memory.overheads) {
    writer.BeginObject();
    writer.Text("id", overhead.id);
    WriteByteRange(writer, "bytes", overhead.bytes);
    WriteFormula(writer, catalog, overhead.id);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteTimeline(JsonWriter& writer, const std::vector<TimelinePoint>& timeline) {
  writer.Key("timeline");
  writer.BeginList();
  for (const TimelinePoint& point : timeline) {
    writer.BeginObject();
    writer.Text("moment", MomentName(point.moment));
    if (point.layer < 0) {
      writer.Null("layer");
    } else {
      writer.Count("layer", point.layer);
    }
    WriteBytes(writer, "bytes", point.bytes);
    WriteBytes(writer, "peak_bytes", point.peak_bytes);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteRanks(JsonWriter& writer, const std::vector<RankMemory>& ranks) {
  writer.Key("ranks");
  writer.BeginList();
  for (const RankMemory& rank : ranks) {
    writer.BeginObject();
    writer.Count("stage", rank.stage);
    writer.Count("layers", rank.layers);
    writer.Count("passes_in_flight", rank.passes_in_flight);
    WriteBytes(writer, "between_steps", rank.phases.between_steps);
    WriteBytes(writer, "peak_step", rank.phases.peak_step);
    WriteByteRange(writer, "allocated", rank.allocated);
    WriteByteRange(writer, "reserved", rank.reserved);
    WriteByteRange(writer, "device", rank.device);
    writer.EndObject();
  }
  writer.EndList();
}

}  // namespace

void WriteBytes(JsonWriter& writer, std::string_view key, double bytes) {
  writer.Key(key);
  writer.Number(std::floor(bytes + 0.5));
}

void WriteByteRange(JsonWriter& writer, std::string_view key, const Range& range) {
  writer.Key(key);
  writer.BeginObject();
  WriteBytes(writer, "low", range.low);
  WriteBytes(writer, "expected", range.expected);
  WriteBytes(writer, "high", range.high);
  writer.EndObject();
}

void WriteMemory(JsonWriter& writer, const RequestReading& reading, const Catalog& catalog, const Answer& answer) {
  const MemoryEstimate& memory = answer.memory;
  writer.Key("memory");
  writer.BeginObject();
  writer.Key("per_gpu");
  writer.BeginObject();
  WritePhases(writer, memory.phases);
  writer.Text("peak_moment", MomentName(memory.peak_moment));
  WriteByteRange(writer, "allocated", memory.allocated);
  WriteByteRange(writer, "reserved", memory.reserved);
  WriteByteRange(writer, "device", memory.device);
  if (reading.full_detail) {
    WriteTerms(writer, catalog, memory);
    if (reading.includes_timeline) WriteTimeline(writer, memory.timeline);
  }
  writer.EndObject();
  if (reading.includes_ranks) WriteRanks(writer, answer.ranks);
  WriteBytes(writer, "host_bytes", memory.host.total());
  writer.Key("host_parts");
  writer.BeginObject();
  WriteBytes(writer, "checkpoints", memory.host.checkpoints);
  WriteBytes(writer, "parameters", memory.host.parameters);
  WriteBytes(writer, "gradients", memory.host.gradients);
  WriteBytes(writer, "optimizer_states", memory.host.optimizer_states);
  WriteBytes(writer, "buffers", memory.host.buffers);
  writer.EndObject();
  WriteBytes(writer, "nvme_bytes", memory.host.nvme);
  WriteBytes(writer, "disk_bytes", memory.disk_bytes);
  writer.EndObject();
}

}  // namespace tunefit
