#include <array>

#include "core/codec/report_parts.h"

namespace tunefit {
namespace {

/// More seconds are fewer tokens.
Range RateOf(double count, const Range& seconds) {
  return {count / seconds.high, count / seconds.expected, count / seconds.low};
}

void WriteTerms(JsonWriter& writer, const StepTime& step) {
  writer.Key("terms");
  writer.BeginList();
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (step.terms[i] == 0) continue;
    writer.BeginObject();
    writer.Text("id", kTimeTermNames[i]);
    writer.Text("formula", static_cast<TimeTerm>(i) == TimeTerm::kGeneration ? "TIM-41" : "TIM-11");
    writer.Number("seconds", step.terms[i]);
    writer.EndObject();
  }
  writer.EndList();
}

void WriteOutsideSteps(JsonWriter& writer, const std::optional<OutsideSteps>& outside) {
  if (!outside) {
    writer.Null("outside_steps");
    return;
  }
  writer.Key("outside_steps");
  writer.BeginObject();
  WriteRange(writer, "start_seconds", outside->start);
  WriteRange(writer, "evaluation_seconds", outside->evaluation);
  WriteRange(writer, "saving_seconds", outside->saving);
  WriteRange(writer, "lost_seconds", outside->lost);
  writer.Number("saves", outside->saves);
  writer.Number("interruptions", outside->interruptions);
  writer.EndObject();
}

void WriteRun(JsonWriter& writer, const TimeEstimate& time) {
  if (!time.run) {
    for (const std::string_view key : {"steps", "computed_tokens", "trained_tokens", "row_tokens", "run_step_seconds",
                                       "outside_steps", "total_hours"}) {
      writer.Null(key);
    }
    return;
  }
  writer.Number("steps", time.run->steps);
  writer.Number("computed_tokens", time.run->computed_tokens);
  writer.Number("trained_tokens", time.run->trained_tokens);
  writer.Number("row_tokens", time.run->row_tokens);
  WriteRange(writer, "run_step_seconds", time.run_step_seconds);
  WriteOutsideSteps(writer, time.outside);
  WriteRange(writer, "total_hours", *time.total_seconds * (1 / kSecondsPerHour));
}

void WriteScaling(JsonWriter& writer, const std::vector<ScalingPoint>& points) {
  writer.Key("scaling");
  writer.BeginList();
  for (const ScalingPoint& point : points) {
    writer.BeginObject();
    writer.Count("gpus", point.gpus);
    writer.Number("tokens_per_second", point.tokens_per_second);
    writer.Number("efficiency", point.efficiency);
    writer.EndObject();
  }
  writer.EndList();
}

}  // namespace

void WriteTime(JsonWriter& writer, const RequestReading& reading, const Answer& answer) {
  const std::optional<TimeEstimate>& time = answer.time;
  if (!time) {
    writer.Null("time");
    return;
  }
  const auto gpus = static_cast<double>(reading.workload.parallel.gpus);
  writer.Key("time");
  writer.BeginObject();
  WriteRange(writer, "step_seconds", time->step_seconds);
  writer.Number("tokens_per_step", time->tokens_per_step);
  WriteRange(writer, "tokens_per_second", RateOf(time->tokens_per_step, time->step_seconds));
  WriteRange(writer, "tokens_per_second_per_gpu", RateOf(time->tokens_per_step / gpus, time->step_seconds));
  writer.Number("model_flops_utilization", time->model_flops_utilization);
  writer.Number("hardware_flops_utilization", time->hardware_flops_utilization);
  writer.Text("bound", kBoundNames[static_cast<std::size_t>(time->step.bound)]);
  WriteRun(writer, *time);
  if (reading.full_detail) WriteTerms(writer, time->step);
  if (reading.includes_scaling) WriteScaling(writer, answer.scaling);
  writer.EndObject();
}

}  // namespace tunefit
