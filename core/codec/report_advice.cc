#include <cmath>
#include <string>

#include "core/codec/report_parts.h"

namespace tunefit {
namespace {

/// Bytes as the report rounds them.
double Rounded(double bytes) { return std::floor(bytes + 0.5); }

void WriteDifference(JsonWriter& writer, std::string_view key, const std::optional<double>& before,
                     const std::optional<double>& after) {
  if (before && after) {
    writer.Number(key, *after - *before);
  } else {
    writer.Null(key);
  }
}

/// Writes entries beside the figures before any change.
class AdviceWriter {
 public:
  AdviceWriter(JsonWriter& writer, const Answer& answer, bool full)
      : writer_(writer), answer_(answer), before_(answer.advice.before), full_(full) {}

  void Write(const Advice& advice) {
    const bool combined = advice.changes.size() > 1;
    writer_.BeginObject();
    writer_.Text("change", combined ? "combined" : ChangeName(advice.changes.front()));
    if (combined) WriteChanges(advice.changes);
    writer_.Key("patch");
    WritePatch(writer_, advice.patch);
    WriteFigures(advice.after);
    writer_.Text("quality", ChangeQualityName(advice.quality));
    writer_.Text("effort", ChangeEffortName(advice.effort));
    writer_.TextOrNull("how", advice.how);
    if (full_) WriteSourceIds(advice.source_ids);
    writer_.EndObject();
  }

 private:
  void WriteChanges(const std::vector<Change>& changes) {
    writer_.Key("changes");
    writer_.BeginList();
    for (const Change change : changes) writer_.Text(ChangeName(change));
    writer_.EndList();
  }

  void WriteFigures(const ChangeFigures& after) {
    writer_.Key("fit");
    writer_.BeginObject();
    writer_.Text("verdict", VerdictName(after.verdict));
    WriteByteRange(writer_, "device_bytes", after.device_bytes);
    writer_.EndObject();
    WriteBytes(writer_, "host_bytes", after.host_bytes);
    WriteBytes(writer_, "saved_bytes", Rounded(before_.device_bytes.expected) - Rounded(after.device_bytes.expected));
    WriteDifference(writer_, "step_seconds_change", before_.step_seconds, after.step_seconds);
    WriteDifference(writer_, "hours_change", before_.hours, after.hours);
    WriteCostChange(after);
  }

  void WriteCostChange(const ChangeFigures& after) {
    const bool alike = before_.cost && after.cost && before_.cost->rented == after.cost->rented;
    if (!alike) return writer_.Null("cost_change");
    writer_.Key("cost_change");
    writer_.BeginObject();
    writer_.Number("amount", after.cost->amount - before_.cost->amount);
    writer_.Text("currency", CurrencyName(answer_.cost->currency));
    writer_.Text("of", after.cost->rented ? "rented" : "bought");
    writer_.EndObject();
  }

  void WriteSourceIds(const std::vector<std::string>& ids) {
    writer_.Key("source_ids");
    writer_.BeginList();
    for (const std::string& id : ids) writer_.Text(id);
    writer_.EndList();
  }

  JsonWriter& writer_;
  const Answer& answer_;
  const ChangeFigures& before_;
  const bool full_;
};

}  // namespace

void WriteAdvice(JsonWriter& writer, const Answer& answer, bool full) {
  AdviceWriter entries(writer, answer, full);
  writer.Key("advice");
  writer.BeginList();
  for (const Advice& advice : answer.advice.entries) entries.Write(advice);
  writer.EndList();
}

}  // namespace tunefit
