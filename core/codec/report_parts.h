#pragma once

#include <string_view>
#include <vector>

#include "core/codec/json_writer.h"
#include "core/codec/report.h"

// The parts of a report, each appended under its key.

namespace tunefit {

/// Bytes are whole numbers in a report, whatever fractions the empirical part makes of them.
void WriteBytes(JsonWriter& writer, std::string_view key, double bytes);
void WriteByteRange(JsonWriter& writer, std::string_view key, const Range& range);
std::string_view VerdictName(Verdict verdict);
/// A range of numbers as they were computed, rounded by whoever shows them; WriteEnds: as members of the object at
/// hand.
void WriteRange(JsonWriter& writer, std::string_view key, const Range& range);
void WriteEnds(JsonWriter& writer, const Range& range);
void WriteIssues(JsonWriter& writer, const Issues& issues);
void WriteAssumptions(JsonWriter& writer, const Assumptions& assumptions);
/// The completed request: sent again, it gives the same figures and no assumptions.
void WriteCompletedRequest(JsonWriter& writer, const RequestReading& reading);
void WriteModel(JsonWriter& writer, const RequestReading& reading, const MemoryEstimate& memory);
void WriteRecipe(JsonWriter& writer, const Workload& workload, const RecipeBytes& recipe);
/// Null without a GPU, or where the time is not modelled.
void WriteTime(JsonWriter& writer, const RequestReading& reading, const Answer& answer);
void WriteMemory(JsonWriter& writer, const RequestReading& reading, const Catalog& catalog, const Answer& answer);
/// `cost`, as wasm/tunefit.d.ts describes it; null without a report, which may be null. In a summary (`full` false)
/// only the line that break-even is held against stands under `rented`, and notes of rows, sources and the chart's
/// points are left out. `disk` may be null.
void WriteCost(JsonWriter& writer, const CostReport* report, const DiskUse* disk, const Catalog& catalog, bool full);
/// Appends the ids of all sources that WriteCost names, with repetitions. Views into the prices.
void AddCostSources(const CostReport& report, std::vector<std::string_view>& ids);

/// An empty list where nobody asked for it. Source ids are left out in a summary (`full` false).
void WriteAdvice(JsonWriter& writer, const Answer& answer, bool full);

}  // namespace tunefit
